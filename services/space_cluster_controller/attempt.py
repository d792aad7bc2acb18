"""One attempt at one claimed operation: kept claimed while it lasts, and its ending written once.

The attempt ends itself before its claim can be another's. Then nothing more is written: the next worker goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable

from common import database
from fleet import claims, operations
from space_cluster_controller import endings, metrics, steps

_FENCE = 0.8  # of a claim's time; what is left covers the way to the database and a late timer
_RENEW = 1 / 3
_AGAIN_S = 0.5
_HAND_BACK_S = 2.0

_log = logging.getLogger(__name__)


class Attempts:
    """Runs attempts."""

    def __init__(self, queue: claims.Claims, performing: steps.Steps, meter: metrics.Metrics) -> None:
        self._claims, self._steps, self._metrics = queue, performing, meter

    async def run(self, claimed: operations.Operation, asked_at: float) -> endings.Ending | None:
        """Attempt the operation; `asked_at` is the loop's time when its claim was asked for.

        Returns how it ended, None when the claim was lost. When cancelled it hands the operation back.
        """
        started = time.monotonic()
        work = steps.Work(claimed, asyncio.timeout_at(asked_at + self._claims.lease_s * _FENCE))
        try:
            async with work.bound:
                return await self._kept(work)
        except (TimeoutError, claims.ClaimLost):
            self._metrics.lost(claimed.kind)
            _log.warning("claim lost", extra={"facts": _facts(claimed)})
            return None
        except asyncio.CancelledError:
            await self._hand_back(work)
            raise
        finally:
            self._metrics.took(claimed.kind, time.monotonic() - started)

    async def _kept(self, work: steps.Work) -> endings.Ending:
        """Perform and write the ending, while the claim is renewed."""
        renewing = asyncio.create_task(self._renew(work), name="claim-renewal")
        try:
            ending = await self._performed(work)
            if isinstance(ending, endings.Failed):
                await self._steps.abandon(work)
            try:
                await self._until_written(lambda: self._write(work, ending))
            except claims.SandboxChanged as error:
                ending = endings.of(error, work)
                await self._until_written(lambda: self._write(work, ending))
        finally:
            renewing.cancel()
        self._tell(work, ending)
        return ending

    async def _performed(self, work: steps.Work) -> endings.Ending:
        while True:
            try:
                return await self._steps.perform(work)
            except claims.ClaimLost:
                raise
            except database.Unavailable as error:
                # Nothing can be written either, so there is nothing to do but to begin again while the claim lasts.
                _log.warning("database unavailable", extra={"facts": _facts(work.operation) | {"fault": str(error)}})
                await asyncio.sleep(_AGAIN_S)
            except Exception as error:
                ending = endings.of(error, work)
                if isinstance(ending, endings.Failed) and ending.code == "internal":
                    _log.exception("operation failed", extra={"facts": _facts(work.operation)})
                return ending

    async def _write(self, work: steps.Work, ending: endings.Ending) -> None:
        if isinstance(ending, steps.Done):
            await self._claims.succeed(work.operation, ending.result, ending.move)
        elif isinstance(ending, endings.Failed):
            await self._claims.fail(work.operation, ending.code, ending.message, ending.move)
        else:
            refused = ending.refused
            await self._claims.back(work.operation, ending.delay_s, refused=refused, returned=not refused)

    async def _until_written(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write while the claim lasts. Again is harmless: a write that had arrived finds the claim ended."""
        while True:
            try:
                return await write()
            except database.Unavailable as error:
                _log.warning("ending not written yet", extra={"facts": {"fault": str(error)}})
                await asyncio.sleep(_AGAIN_S)

    async def _renew(self, work: steps.Work) -> None:
        loop = asyncio.get_running_loop()
        pause_s = self._claims.lease_s * _RENEW
        while True:
            await asyncio.sleep(pause_s)
            asked_at = loop.time()
            try:
                await self._claims.renew(work.operation)
            except database.Unavailable:
                pause_s = min(_AGAIN_S, pause_s)
            except claims.ClaimLost:
                work.hold_until(loop.time())
                return
            else:
                pause_s = self._claims.lease_s * _RENEW
                work.hold_until(asked_at + self._claims.lease_s * _FENCE)

    async def _hand_back(self, work: steps.Work) -> None:
        """Leave the operation to the next worker at once, or say that nobody knows what its command did."""
        with contextlib.suppress(claims.ClaimLost, database.Unavailable, TimeoutError):
            async with asyncio.timeout(_HAND_BACK_S):
                if work.sent:
                    await self._claims.fail(work.operation, steps.UNKNOWN, "its worker ended while the command ran")
                    self._metrics.finished(work.operation.kind, steps.UNKNOWN)
                else:
                    await self._claims.back(work.operation, 0)
                    self._metrics.returned(work.operation.kind, "drain")

    def _tell(self, work: steps.Work, ending: endings.Ending) -> None:
        kind, facts = work.operation.kind, _facts(work.operation)
        if isinstance(ending, endings.Later):
            self._metrics.returned(kind, ending.code)
            _log.info("operation put back", extra={"facts": facts | {"code": ending.code, "delay_s": ending.delay_s}})
            return
        outcome = ending.code if isinstance(ending, endings.Failed) else operations.SUCCEEDED
        self._metrics.finished(kind, outcome)
        _log.info("operation finished", extra={"facts": facts | {"outcome": outcome}})


def _facts(claimed: operations.Operation) -> dict[str, object]:
    told = {"trace_id": claimed.trace_id, "operation": claimed.id, "kind": claimed.kind, "sandbox": claimed.sandbox}
    return told | {"tenant": claimed.tenant, "attempt": claimed.attempt}
