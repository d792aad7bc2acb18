"""Sends log lines to a backend as well, as OTLP/HTTP in protobuf (opentelemetry.io/docs/specs/otlp, logs.proto v1).

Whoever logs never waits: lines go into a bounded queue, and one that finds it full is dropped and counted. A thread of its
own sends them in batches, each batch once; what the backend does not take within SEND_S is dropped and counted as well. Off
without an endpoint. Nothing outside the standard library, because sandboxes use it; protobuf, because it is the one
encoding that every OTLP backend takes.
"""

from __future__ import annotations

import collections
import http.client
import logging
import threading
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common import otlp_logs, settings

QUEUE, BATCH = 2048, 256  # lines
LINGER_S = 0.2  # how long a line waits for others to be sent with
SEND_S, FLUSH_S = 2.0, 2.0
SENT, OVERFLOW, FAILED = "sent", "overflow", "failed"
_PATH = "/v1/logs"  # what the protocol adds to a base URL for logs
_ANSWER_BYTES = 1 << 16

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where lines are posted to."""

    host: str
    port: int
    path: str


def read(reader: settings.Reader) -> str:
    """SPACE_OTLP_ENDPOINT, the base URL of a backend; "" when lines go to standard output only."""
    url = reader.text("SPACE_OTLP_ENDPOINT")
    if url and parsed(url) is None:
        rule = f"must be http://HOST[:PORT][/PATH] without user, query or fragment; {_PATH} is added to it"
        reader.mistake("SPACE_OTLP_ENDPOINT", url, rule)
        return ""
    return url


def parsed(url: str) -> Endpoint | None:
    """The place that a base URL names, or None for one that is not well formed."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        return None
    plain = url.isascii() and url.isprintable() and not any(mark in url for mark in " ?#@")
    if parts.scheme != "http" or not host or not plain:
        return None
    return Endpoint(host, port, parts.path.rstrip("/") + _PATH)


def start(url: str, service: str, version: str, pod: str) -> Exporter | None:
    """Send what is logged from now on to `url` as well; None without one."""
    endpoint = parsed(url)
    if endpoint is None:
        return None
    # The names are those of OpenTelemetry's semantic conventions for resources.
    exporter = Exporter(endpoint, {"service.name": service, "service.version": version, "k8s.pod.name": pod})
    logging.getLogger().addHandler(exporter)
    return exporter


class Exporter(logging.Handler):
    """A handler that queues lines for a thread which sends them."""

    def __init__(self, endpoint: Endpoint, resource: Mapping[str, str]) -> None:
        super().__init__()
        self._endpoint, self._resource = endpoint, dict(resource)
        self._counts = dict.fromkeys((SENT, OVERFLOW, FAILED), 0)
        self._lines: collections.deque[otlp_logs.Line] = collections.deque()
        self._changed = threading.Condition()
        self._closing = False
        self._well = True
        self._thread = threading.Thread(target=self._run, name="otlp", daemon=True)
        self._thread.start()

    def counts(self) -> dict[str, int]:
        """How many lines so far were sent, found the queue full, or were not taken by the backend."""
        with self._changed:
            return dict(self._counts)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = otlp_logs.line(record)
        except Exception:  # a line that cannot be told is the caller's defect, which standard output shows
            self._count(FAILED, 1)
            return
        with self._changed:
            if self._closing or len(self._lines) >= QUEUE:
                self._counts[OVERFLOW] += 1
                return
            self._lines.append(line)
            if len(self._lines) in (1, BATCH):  # the thread waits for the first one, and for a full batch
                self._changed.notify()

    def drain(self, within_s: float = FLUSH_S) -> None:
        """Take no further line and send what is queued; what is left after `within_s` is dropped. Again is harmless."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(within_s)
        with self._changed:
            self._counts[FAILED] += len(self._lines)
            self._lines.clear()

    def _run(self) -> None:
        while batch := self._take():
            fault = self._send(batch)
            self._count(FAILED if fault else SENT, len(batch))
            if bool(fault) is self._well:  # once for each change, or every lost line would make another one
                self._well = not fault
                facts = {"host": self._endpoint.host, "port": self._endpoint.port, "fault": fault[:200]}
                _log.warning("log lines are lost" if fault else "log lines arrive again", extra={"facts": facts})

    def _take(self) -> Sequence[otlp_logs.Line]:
        """The next lines to send; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._closing)
            self._changed.wait_for(lambda: len(self._lines) >= BATCH or self._closing, LINGER_S)
            return [self._lines.popleft() for _ in range(min(BATCH, len(self._lines)))]

    def _send(self, batch: Sequence[otlp_logs.Line]) -> str:
        """Why the batch was not taken, or ""."""
        where = self._endpoint
        connection = http.client.HTTPConnection(where.host, where.port, timeout=SEND_S)
        try:
            body = otlp_logs.request(batch, self._resource, time.time_ns())
            connection.request("POST", where.path, body, {"Content-Type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read(_ANSWER_BYTES)
            return "" if answer.status in (200, 204) else f"the backend answered {answer.status}"
        except Exception as error:  # the thread outlives whatever a network or a line may bring
            return f"{type(error).__name__}: {error}"
        finally:
            connection.close()

    def _count(self, outcome: str, lines: int) -> None:
        with self._changed:
            self._counts[outcome] += lines
