#!/usr/bin/env bash
# test.sh [PYTEST ARGUMENT...]   sets this machine up, then runs every check and every test, those on a real cluster too
#
# SPACE_SMOKE_BENCH names the benches, with commas between them, "space-smoke,space-smoke-2" unless set: the tests on Kind
# share them out, a process on each.
# SPACE_SMOKE_TEST_KIND=0 leaves the cluster out (no engine is needed then); the tests that were left out are counted.
set -euo pipefail
cd "$(dirname "$0")/.."
# Tests start hundreds of processes: each would compile every module again.
unset PYTHONDONTWRITEBYTECODE
kind=${SPACE_SMOKE_TEST_KIND:-1}
if [ "$kind" = 1 ]; then scripts/bootstrap.sh; else scripts/venv.sh; fi
# The services' tests run against a real Redis and a real Postgres, which they start and stop themselves.
missing=()
command -v redis-server >/dev/null || missing+=(redis-server)
command -v shellcheck >/dev/null || missing+=(shellcheck)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
if [ ${#missing[@]} -gt 0 ]; then
  if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "${missing[@]}" >/dev/null
  else
    echo "test.sh: the tests need these (Debian's names): ${missing[*]}" >&2
    exit 5
  fi
fi
export PATH=$PWD/.venv/bin:$PATH
# The render tests compare two Helms, of which a bench needs one; compiling one takes longer than any test may.
python -m space_smoke.bench.tools helm helm4

echo "== style, types, layers"
ruff check .
ruff format --check --quiet .
mypy
(cd services && mypy && lint-imports | tail -n 1)
lint-imports | tail -n 1
git ls-files '*.sh' .ci/run kind/node-image/files/usr/local | xargs grep -lE '^#!.*\b(ba)?sh' | xargs shellcheck

echo "== tests without a cluster"
if [ "$kind" != 1 ]; then
  exec pytest -n 2 -m 'not kind' "$@"
fi
export SPACE_SMOKE_BENCH=${SPACE_SMOKE_BENCH:-space-smoke,space-smoke-2}
IFS=, read -ra benches <<<"$SPACE_SMOKE_BENCH"
pytest -n 2 -m 'not kind' "$@"
# With telemetry from the start: its scenario would else bring it, and so change the services under later tests.
for bench in "${benches[@]}"; do space_smoke up --name "$bench" --with telemetry; done
echo "== tests on ${#benches[@]} Kind benches"
pytest -n "${#benches[@]}" --dist loadfile --no-loadscope-reorder -m 'kind and not alone' --durations=30 "$@"
echo "== tests that need the machine for themselves"
for bench in "${benches[@]:1}"; do space_smoke down --name "$bench"; done
pytest -m 'kind and alone' --durations=10 "$@"
