"""What a limiter decided, and why. Every limited request makes exactly one decision per limiter that applies to it."""

from __future__ import annotations

from dataclasses import dataclass

# Why a decision is what it is. NONE means the store was asked and answered; every other reason admits.
NONE = "none"
MISCONFIGURED = "misconfigured"  # no usable store URL: nothing was asked, no connection was tried
STORE_UNAVAILABLE = "store_unavailable"  # the store was asked, or is known not to answer: fail open
DISABLED = "disabled"  # switched off by configuration: nothing was asked

REASONS = (NONE, MISCONFIGURED, STORE_UNAVAILABLE, DISABLED)


@dataclass(frozen=True, slots=True)
class Activation:
    """One decision of the cluster activation limiter.

    `retry_after_ms` is the time until a token is there, 0 when admitted; `mismatch` says that the bucket was last used
    with another burst or rate; `decided_at` is this process's wall clock in Unix seconds.
    """

    admitted: bool
    reason: str
    decided_at: float
    retry_after_ms: int = 0
    mismatch: bool = False

    @property
    def outcome(self) -> str:
        return "admitted" if self.admitted else "refused"


@dataclass(frozen=True, slots=True)
class Concurrency:
    """One decision of the per-client concurrency limiter.

    `client` is the bucket the request was counted in. `would_reject` is true when the client is at its limit, also in
    observe mode where the request is accepted all the same.
    """

    accepted: bool
    reason: str
    client: str
    would_reject: bool = False

    @property
    def outcome(self) -> str:
        return "accepted" if self.accepted else "refused"
