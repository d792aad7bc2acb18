# The backends of a bench's telemetry in one image: Prometheus from Debian, and VictoriaLogs, compiled from Go modules.
#
#   docker build -f kind/images/telemetry.Dockerfile --target telemetry [--build-arg BASE=...] CONTEXT
#
# CONTEXT holds the program victoria-logs, as `python -m space_smoke.bench.tools victoria-logs` makes it. BASE is a Debian
# bookworm root. One made by `debootstrap --include=$(paste -sd, telemetry-base-packages.txt)` holds all that is needed.
ARG BASE=space-smoke/telemetry-base:bookworm

FROM ${BASE} AS telemetry
ARG VERSION=dev
RUN { command -v prometheus && command -v curl; } >/dev/null \
    || (apt-get update && apt-get install -y --no-install-recommends prometheus curl && rm -rf /var/lib/apt/lists/*)
RUN groupadd --gid 10004 telemetry && useradd --uid 10004 --gid 10004 --no-create-home --home-dir /var/empty telemetry
COPY victoria-logs /usr/local/bin/victoria-logs
WORKDIR /var/tmp
USER 10004:10004
EXPOSE 9090 9428
# A pod runs each of both programs in a container of its own.
CMD ["victoria-logs"]
