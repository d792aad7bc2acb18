"""Claims operations and attempts them, a few at once, until told to stop; woken by notifications.

After a refusal of the activation limiter nothing that needs a token is claimed until the limiter's Retry-After is over:
the bucket would only be asked again in vain.
"""

from __future__ import annotations

import asyncio
import logging

from common import database
from fleet import claims, operations
from space_cluster_controller import attempt, endings

POLL_S = 2.0  # how late an operation may be seen whose notification was lost, or whose worker died
_NEED_NO_TOKEN = tuple(kind for kind in operations.KINDS if kind not in (operations.CREATE, operations.RESUME))

_log = logging.getLogger(__name__)


class Worker:
    """Up to `parallel` attempts at once. `drain_s`: how long those in work may go on after `stopping` is set."""

    def __init__(
        self,
        queue: claims.Claims,
        attempts: attempt.Attempts,
        parallel: int,
        *,
        wake: asyncio.Event,
        stopping: asyncio.Event,
        drain_s: float,
    ) -> None:
        self._claims, self._attempts, self._parallel = queue, attempts, parallel
        self._wake, self._stopping, self._drain_s = wake, stopping, drain_s
        self._running: set[asyncio.Task[None]] = set()
        self._tokens_at = float("-inf")

    @property
    def running(self) -> int:
        return len(self._running)

    async def run(self) -> None:
        """Work until `stopping` is set or this is cancelled; then nothing is claimed any more, what is in work gets
        its time to finish, and the rest is handed back."""
        try:
            while not self._stopping.is_set():
                self._wake.clear()
                if self.running >= self._parallel or not await self._claim():
                    await self._idle()
            if self._running:
                await asyncio.wait(self._running, timeout=self._drain_s)
        finally:
            left = list(self._running)
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)

    async def _claim(self) -> bool:
        """Claim and begin one operation; False when there is none to be had."""
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        kinds = operations.KINDS if asked_at >= self._tokens_at else _NEED_NO_TOKEN
        try:
            claimed = await self._claims.claim(kinds)
        except database.Unavailable as error:
            _log.warning("database unavailable", extra={"facts": {"fault": str(error)}})
            return False
        if claimed is None:
            return False
        task = asyncio.create_task(self._attempt(claimed, asked_at), name=f"operation-{claimed.id}")
        self._running.add(task)
        task.add_done_callback(self._ended)
        return True

    async def _attempt(self, claimed: operations.Operation, asked_at: float) -> None:
        ending = await self._attempts.run(claimed, asked_at)
        if isinstance(ending, endings.Later) and ending.refused:
            self._tokens_at = asyncio.get_running_loop().time() + ending.delay_s

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake.set()  # a place is free, and the next operation of its sandbox may be due
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("attempt ended", exc_info=error)

    async def _idle(self) -> None:
        """Wait for news, for the end, or for a moment at which to look again."""
        until_tokens_s = self._tokens_at - asyncio.get_running_loop().time()
        timeout_s = min(POLL_S, until_tokens_s) if until_tokens_s > 0 else POLL_S
        waits = {asyncio.create_task(self._wake.wait()), asyncio.create_task(self._stopping.wait())}
        try:
            await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
