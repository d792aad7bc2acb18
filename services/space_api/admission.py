"""How a request gets in: a lease for its client first, then, if it activates a sandbox, a token of the cluster's bucket.

The lease comes first because it can be given back: a request refused for want of a token leaves its lease at once, and
a request refused for its client never reaches the bucket. So neither refusal costs anything of the other limiter.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Sequence

from common import mutations, refusals
from limiters import activation, concurrency, decision, metrics
from space_api import facts


class Admission:
    """Both limiters, as the handlers use them."""

    def __init__(
        self,
        activations: activation.Limiter,
        clients: concurrency.Limiter,
        meter: metrics.Decisions,
        active: frozenset[str] = frozenset(),
    ) -> None:
        self._activations, self._clients, self._meter = activations, clients, meter
        self._activation_first = mutations.ACTIVATION_BEFORE_CONCURRENCY in active
        self._fails_closed = mutations.FAIL_CLOSED in active

    @contextlib.asynccontextmanager
    async def client(self, known: facts.Facts, names: Sequence[str], *, activates: bool) -> AsyncIterator[None]:
        """Hold a lease for the client named by the values of X-Client-ID while the block runs; raises Refusal."""
        if activates and self._activation_first:
            await self.activation(known)
        async with contextlib.AsyncExitStack() as stack:
            started = time.monotonic()
            made = await stack.enter_async_context(self._clients.hold(self._clients.classify(names), known.budget))
            seconds = time.monotonic() - started
            known.concurrency = made
            known.limiter_s += seconds
            self._meter.concurrency(made, seconds)
            self._judge_store(made.reason)
            if not made.accepted:
                limit = self._clients.settings.limit
                # A request in work usually ends long before its lease would, so coming back soon is right.
                raise refusals.Refusal(
                    429,
                    "client_concurrency_limited",
                    f"client {made.client} already has {limit} requests in work; send fewer at once",
                    retry_after_ms=1000,
                )
            yield

    async def activation(self, known: facts.Facts) -> None:
        """Take a token for this request, once; raises Refusal when there is none."""
        if known.activation is not None:
            return
        started = time.monotonic()
        made = await self._activations.decide(known.budget)
        seconds = time.monotonic() - started
        known.activation = made
        known.limiter_s += seconds
        self._meter.activation(made, seconds)
        self._judge_store(made.reason)
        if not made.admitted:
            raise refusals.Refusal(
                429,
                "activation_limited",
                f"the cluster starts no more sandboxes right now; a place is free in {made.retry_after_ms} ms",
                retry_after_ms=made.retry_after_ms,
            )

    def _judge_store(self, reason: str) -> None:
        """Limiters fail open, and so does this, unless it is switched to refuse."""
        if self._fails_closed and reason == decision.STORE_UNAVAILABLE:
            raise refusals.unavailable("store_unavailable", "the limiters' store does not answer; try again")
