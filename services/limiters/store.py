"""The limiters' door to Redis: short, honest and without hidden retries.

A request may lose at most `BUDGET_S` to the store, over all its calls together and however the store fails: refused,
black-holed, slow, loading, read-only, full, or asking for a password. redis-py's defaults would spend seconds to a
minute on that and may charge one request twice, because its retries also cover a reply that came late; here every call
is sent once.

Once a call has run out of time the store counts as *stalled*: requests no longer wait for it, and one task in the
background asks again every `PROBE_INTERVAL_S`, so that recovery is seen well inside a second without a restart. Errors
that come back quickly never stall the store: the next request simply tries again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from common import mutations

BUDGET_S = 0.17  # stays under the promised 250 ms with room for the work around it
LATE_S = 0.02  # a timer this late means that this process was kept waiting, not that the store is slow
GRACE_S = 0.03  # what an answer gets then, to be read from a socket that already holds it
SOCKET_TIMEOUT_S = 0.5  # redis-py's own bound, behind the budget; it also covers calls that are made in the background
PROBE_INTERVAL_S = 0.2
CONNECTIONS = 24  # a decision takes under a millisecond, so hundreds of callers share these

# What can go wrong between a call and its answer. ValueError and TypeError cover an answer of the wrong shape.
FAULTS = (redis.RedisError, OSError, TimeoutError, ValueError, TypeError)

CONFIGURED, ABSENT, MALFORMED = "configured", "none", "malformed"

_log = logging.getLogger(__name__)


class Unavailable(Exception):
    """The store gave no answer to this call; the caller fails open. `may_have_run`: only the reply may be missing."""

    def __init__(self, message: str, *, may_have_run: bool = False) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run


class Script:
    """A Lua script and the SHA-1 by which the server may know it."""

    __slots__ = ("sha", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


@dataclass(slots=True)
class Budget:
    """The time one request may still lose to the store; each call draws from it."""

    left_s: float = BUDGET_S


class Store:
    """A Redis, or the lack of one. `status` is one of CONFIGURED, ABSENT, MALFORMED."""

    def __init__(self, url: str, active: frozenset[str] = frozenset()) -> None:
        """Take the URL as it is; no connection is made before the first call."""
        # Read here, so that one switch gives back all that redis-py would do on its own.
        self._own_retries = mutations.RETRYING_REDIS_CLIENT in active
        self._sticky = mutations.STICKY_FAIL_OPEN in active
        self._client = None if not url else _connect(url, library_defaults=self._own_retries)
        self.status = CONFIGURED if self._client else (MALFORMED if url else ABSENT)
        # Waiting for a connection is this process's own doing, so it is no part of any budget; it ends for everyone
        # as soon as the store is known to be stalled.
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self._answering = asyncio.Event()
        self._answering.set()
        self._probe: asyncio.Task[None] | None = None

    @property
    def stalled(self) -> bool:
        """Whether requests are spared the wait because the store is known not to answer."""
        return not self._answering.is_set()

    async def wait_until_answering(self) -> None:
        """Return once the store is not stalled, which may be never."""
        await self._answering.wait()

    async def run(self, script: Script, key: str, arguments: Sequence[int | float | str], budget: Budget) -> list[int]:
        """Run `script` on `key` once and return its integers; draws the time spent from `budget`.

        Raises Unavailable on every fault. The call may have taken effect all the same when its reply was lost: a token
        may be gone, or a lease stay until it expires; it is never charged twice.
        """
        async with self._slots:
            if self._client is None or self.stalled or budget.left_s <= 0:
                raise Unavailable("not asked")
            return await self._call(self._client, script, key, arguments, budget)

    async def close(self) -> None:
        """End the background task and the connections."""
        if self._probe is not None:
            self._probe.cancel()
        if self._client is not None:
            await self._client.aclose()

    async def _call(
        self,
        client: redis.asyncio.Redis,
        script: Script,
        key: str,
        arguments: Sequence[int | float | str],
        budget: Budget,
    ) -> list[int]:
        started = time.monotonic()
        call = asyncio.create_task(_evaluate(client, script, key, arguments), name="limiter-store-call")
        try:
            return _integers(await (call if self._own_retries else _within(call, budget.left_s)))
        except FAULTS as fault:
            self._failed(fault)
            raise Unavailable(f"{type(fault).__name__}: {fault}", may_have_run=_timed_out(fault)) from fault
        finally:
            call.cancel()
            budget.left_s -= time.monotonic() - started

    def _failed(self, fault: BaseException) -> None:
        if self.stalled or self._own_retries or not (_timed_out(fault) or self._sticky):
            return
        self._answering.clear()
        _log.warning("limiter store stalled", extra={"facts": {"fault": type(fault).__name__}})
        if not self._sticky:
            self._probe = asyncio.create_task(self._until_answering(), name="limiter-store-probe")

    async def _until_answering(self) -> None:
        """Ask until any answer comes, also an error: then requests may ask for themselves again."""
        assert self._client is not None
        while True:
            try:
                async with asyncio.timeout(BUDGET_S):
                    await self._client.ping()
                break
            except FAULTS as fault:
                if not _timed_out(fault):
                    break
            # A fault in the network can only be asked about again: nothing announces its end.
            await asyncio.sleep(PROBE_INTERVAL_S)
        self._answering.set()
        _log.info("limiter store answers again")


def _connect(url: str, *, library_defaults: bool) -> redis.asyncio.Redis | None:
    """A client for `url`, or None when redis-py cannot make sense of it."""
    bounded = {
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": SOCKET_TIMEOUT_S,
        "socket_connect_timeout": SOCKET_TIMEOUT_S,
        # The plain protocol and no library name: a new connection is then usable at once, without a handshake. It also
        # turns off maintenance notifications, with which redis-py would hand out connections the server has closed.
        "protocol": 2,
        "driver_info": None,
        "max_connections": 2 * CONNECTIONS,  # calls given up still hold theirs for a moment
    }
    try:
        if library_defaults:
            parts: dict[str, Any] = {**redis.asyncio.connection.parse_url(url)}
            return redis.asyncio.Redis(**parts)
        return redis.asyncio.Redis.from_pool(redis.asyncio.ConnectionPool.from_url(url, **bounded))
    except (ValueError, TypeError) as fault:
        # The value itself stays out of the log: it may hold a password.
        _log.warning(
            "SPACE_REDIS_URL is malformed; limiters fail open", extra={"facts": {"fault": type(fault).__name__}}
        )
        return None


async def _evaluate(
    client: redis.asyncio.Redis, script: Script, key: str, arguments: Sequence[int | float | str]
) -> object:
    try:
        return await client.evalsha(script.sha, 1, key, *arguments)
    except redis.exceptions.NoScriptError:
        # The server forgot its scripts (restart, failover, SCRIPT FLUSH). It ran nothing, so asking once more with
        # the text cannot charge twice; EVAL also loads it, for everyone.
        return await client.eval(script.text, 1, key, *arguments)


async def _within(call: asyncio.Task[object], seconds: float) -> object:
    """The result of `call` within `seconds`, not counting time in which this very process was not running."""
    started = time.monotonic()
    await asyncio.wait({call}, timeout=seconds)
    if not call.done() and time.monotonic() - started > seconds + LATE_S:
        await asyncio.wait({call}, timeout=GRACE_S)
    if not call.done():
        raise TimeoutError(f"no answer within {seconds * 1000:.0f} ms")
    return call.result()


def _timed_out(fault: BaseException) -> bool:
    return isinstance(fault, (TimeoutError, redis.TimeoutError))


def _integers(reply: object) -> list[int]:
    if not isinstance(reply, list) or not all(isinstance(item, int) for item in reply):
        raise TypeError("a limiter script answers with a list of integers")
    return reply
