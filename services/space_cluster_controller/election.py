"""One of the controllers leads. It stops leading before its Lease can have expired, whatever the API server does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from common import kube, leases

# Parts of the Lease's duration. A leader that cannot renew stops at two thirds; the last third is for handing back what
# it was doing. One try takes two calls at most, so three tries fit before that.
_RETRY, _CALL, _FENCE = 1 / 5, 1 / 10, 2 / 3

_log = logging.getLogger(__name__)


class Election:
    """Competes for the Lease until told to stop."""

    def __init__(self, lease: leases.Lease, duration_s: float, stopping: asyncio.Event) -> None:
        self._lease, self._duration_s, self._stopping = lease, duration_s, stopping
        self.leading = False

    @property
    def holder(self) -> str:
        """Who held the Lease when it was last read."""
        return self._lease.holder

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` whenever this candidate leads; it is cancelled when leadership ends, and should end by itself
        once `stopping` is set. Then the Lease is given back."""
        try:
            while not self._stopping.is_set():
                if await self._hold():
                    await self._lead(work)
                else:
                    await _first(self._stopping, self._duration_s * _RETRY)
        finally:
            if self._lease.holder:
                await self._give_back()

    async def _lead(self, work: Callable[[], Awaitable[None]]) -> None:
        _log.info("leading", extra={"facts": {"holder": self.holder}})
        bound = asyncio.timeout_at(self._fence())
        working = asyncio.create_task(_within(bound, work), name="leading")
        self.leading = True
        try:
            while not working.done():
                await asyncio.wait({working}, timeout=self._duration_s * _RETRY)
                held = None if working.done() else await self._hold()
                if held and not working.done() and not bound.expired():
                    bound.reschedule(self._fence())
                elif held is False:
                    break
        finally:
            self.leading = False
            working.cancel()
            await asyncio.wait({working})
            _log.info("no longer leading", extra={"facts": {"stopping": self._stopping.is_set()}})
        if not working.cancelled() and (error := working.exception()) is not None:
            _log.error("leading ended", exc_info=error)
            await _first(self._stopping, self._duration_s * _RETRY)

    def _fence(self) -> float:
        """When to stop unless the Lease is renewed, on the event loop's clock, which is the Lease's."""
        return self._lease.valid_until - self._duration_s * (1 - _FENCE)

    async def _hold(self) -> bool | None:
        """Whether the Lease is held; None when nobody could be asked."""
        try:
            return await self._lease.hold(self._duration_s * _CALL)
        except kube.KubeError as error:
            _log.warning("lease not reached", extra={"facts": {"fault": str(error)}})
            return None

    async def _give_back(self) -> None:
        try:
            await self._lease.give_back(self._duration_s * _CALL)
        except kube.KubeError as error:
            _log.warning("lease not given back", extra={"facts": {"fault": str(error)}})


async def _within(bound: asyncio.Timeout, work: Callable[[], Awaitable[None]]) -> None:
    async with bound:
        await work()


async def _first(event: asyncio.Event, timeout_s: float) -> None:
    """Wait for the event, at most so long."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait({waiting}, timeout=timeout_s)
    waiting.cancel()
