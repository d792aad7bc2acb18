"""One JSON object per log line on standard output: time, level, message, and whatever facts the caller adds.

Every service calls `configure` once. Facts are passed as `logging.info("request", extra={"facts": {...}})`; they are
never interpolated into the message, so a log store can filter on them.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import TextIO

_RESERVED = frozenset({"ts", "level", "message", "service", "error"})


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON; `ts` is UTC in RFC 3339 with milliseconds."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self.service = service

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "ts": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "service": self.service,
            "message": record.getMessage(),
        }
        facts = getattr(record, "facts", None)
        if isinstance(facts, dict):
            line.update((key, value) for key, value in facts.items() if key not in _RESERVED)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, separators=(",", ":"))


def service() -> str:
    """The name that lines bear; "" before `configure`."""
    formatters = [handler.formatter for handler in logging.getLogger().handlers]
    return next((formatter.service for formatter in formatters if isinstance(formatter, JsonFormatter)), "")


def configure(service: str, stream: TextIO | None = None) -> None:
    """Send everything from level INFO up to `stream` (standard output) as JSON; replaces earlier handlers."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stdout)
    handler.setFormatter(JsonFormatter(service))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # These two repeat at INFO what our own lines already say.
    for name in ("uvicorn.error", "uvicorn.access", "psycopg.pool"):
        logging.getLogger(name).setLevel(logging.WARNING)
