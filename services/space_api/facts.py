"""What one request learned about itself, written down once and told three times: headers, log line, metrics."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from limiters import decision, store

_KEY = "space.facts"
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_TRACE_ID = re.compile(rb"[A-Za-z0-9_-]{1,64}")

Header = tuple[bytes, bytes]


@dataclass(slots=True)
class Facts:
    """`limiter_s` is the time both decisions took together; `budget` is what they may still lose to the store."""

    trace_id: str
    activation: decision.Activation | None = None
    concurrency: decision.Concurrency | None = None
    limiter_s: float = 0.0
    budget: store.Budget = field(default_factory=store.Budget)
    sandbox: str = ""
    code: str = ""

    def headers(self) -> list[Header]:
        """The response headers that tell the decisions made so far."""
        told: list[tuple[str, str]] = [("x-trace-id", self.trace_id)]
        if made := self.activation:
            told.append(("x-space-activation-decision", f"{made.outcome}; reason={made.reason}"))
            told.append(("x-space-decided-at", f"{made.decided_at:.6f}"))
        if held := self.concurrency:
            would = "true" if held.would_reject else "false"
            value = f"{held.outcome}; reason={held.reason}; client={held.client}; would_reject={would}"
            told.append(("x-space-concurrency-decision", value))
        if self.activation or self.concurrency:
            told.append(("server-timing", f"limiter;dur={self.limiter_s * 1000:.3f}"))
        # Latin-1 is what a header can carry; only a mutation lets a client's own spelling get here.
        return [(name.encode(), value.encode("latin-1", "replace")) for name, value in told]

    def log(self) -> dict[str, object]:
        """The same as log fields."""
        told: dict[str, object] = {"trace_id": self.trace_id}
        if self.sandbox:
            told["sandbox"] = self.sandbox
        if self.code:
            told["code"] = self.code
        if made := self.activation:
            told |= {"activation": made.outcome, "activation_reason": made.reason, "decided_at": made.decided_at}
            told["activation_mismatch"] = made.mismatch
        if held := self.concurrency:
            told |= {"concurrency": held.outcome, "concurrency_reason": held.reason}
            told |= {"client": held.client, "would_reject": held.would_reject}
        if self.activation or self.concurrency:
            told["limiter_ms"] = round(self.limiter_s * 1000, 3)
        return told


def begin(scope: Any) -> Facts:
    """Make the facts of a request and keep them in its scope."""
    made = Facts(trace_id=_trace_id(scope["headers"]))
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
