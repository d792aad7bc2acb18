"""What one request learned about itself, written down once and told three times: headers, log line, metrics."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

_KEY = "space.facts"
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_TRACE_ID = re.compile(rb"[A-Za-z0-9_-]{1,64}")

Header = tuple[bytes, bytes]


@dataclass(slots=True)
class Facts:
    """What any service knows of a request; a service with more to tell extends it."""

    trace_id: str
    sandbox: str = ""
    code: str = ""

    def headers(self) -> list[Header]:
        """The response headers that tell what is known so far."""
        return [(b"x-trace-id", self.trace_id.encode())]

    def log(self) -> dict[str, object]:
        """The same as log fields."""
        told: dict[str, object] = {"trace_id": self.trace_id}
        if self.sandbox:
            told["sandbox"] = self.sandbox
        if self.code:
            told["code"] = self.code
        return told


def begin(scope: Any, make: Callable[[str], Facts] = Facts) -> Facts:
    """Make the facts of a request from its trace id and keep them in its scope."""
    made = make(_trace_id(scope["headers"]))
    scope[_KEY] = made
    return made


def of(scope: Any) -> Facts:
    """The facts that `begin` put into this request's scope."""
    found: Facts = scope[_KEY]
    return found


def _trace_id(headers: Iterable[Header]) -> str:
    """The caller's trace id from `traceparent` or X-Trace-Id, or a new one when neither is well formed."""
    given = dict(headers)
    if match := _TRACEPARENT.fullmatch(given.get(b"traceparent", b"")):
        return match[1].decode()
    if match := _TRACE_ID.fullmatch(given.get(b"x-trace-id", b"")):
        return match[0].decode()
    return uuid.uuid4().hex
