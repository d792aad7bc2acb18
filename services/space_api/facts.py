"""The facts of an API request: those of every request, and what the two limiters decided about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from common import facts
from limiters import decision, store


@dataclass(slots=True)
class Facts(facts.Facts):
    """`limiter_s` is the time both decisions took together; `budget` is what they may still lose to the store."""

    activation: decision.Activation | None = None
    concurrency: decision.Concurrency | None = None
    limiter_s: float = 0.0
    budget: store.Budget = field(default_factory=store.Budget)

    def headers(self) -> list[facts.Header]:
        """The response headers that tell the decisions made so far."""
        told: list[tuple[str, str]] = []
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
        encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in told]
        return [*facts.Facts.headers(self), *encoded]

    def log(self) -> dict[str, object]:
        """The same as log fields."""
        told = facts.Facts.log(self)
        if made := self.activation:
            told |= {"activation": made.outcome, "activation_reason": made.reason, "decided_at": made.decided_at}
            told["activation_mismatch"] = made.mismatch
        if held := self.concurrency:
            told |= {"concurrency": held.outcome, "concurrency_reason": held.reason}
            told |= {"client": held.client, "would_reject": held.would_reject}
        if self.activation or self.concurrency:
            told["limiter_ms"] = round(self.limiter_s * 1000, 3)
        return told


def of(scope: Any) -> Facts:
    """The facts of this request, as the API's own kind."""
    found = facts.of(scope)
    assert isinstance(found, Facts)
    return found
