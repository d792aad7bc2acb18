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
import contextlib
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
from limiters import busy

BUDGET_S = 0.17  # stays under the promised 250 ms with room for the work around it
GRANULARITY_S = 0.005  # waits shorter than this are not worth another turn
SOCKET_TIMEOUT_S = 0.5  # redis-py's own bound, behind the budget; it also covers calls that are made in the background
PROBE_INTERVAL_S = 0.2
# Few calls at a time: a decision takes under a millisecond, so hundreds of callers share these without loss, while many
# calls at once would each look slow to a process that has to work through all their answers itself.
CONNECTIONS = 8
SLOW_S = 0.05  # a store whose last answer took this long is itself what callers queue for

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
        self._loads_once = mutations.SCRIPT_NOT_RELOADED in active
        self._loaded: set[str] = set()  # by SHA-1, the scripts that are not loaded again; none without that switch
        self._client = None if not url else _connect(url, library_defaults=self._own_retries)
        self.status = CONFIGURED if self._client else (MALFORMED if url else ABSENT)
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self._last_call_s = 0.0
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
        queued = _Waited()
        async with self._slots:
            # In a burst callers wait for this process, which is no fault of the store and no part of the budget. With
            # a slow store they wait for it; those who have waited too long then leave the queue without a call.
            if self._last_call_s > SLOW_S:
                budget.left_s -= queued.seconds()
            if self._client is None or self.stalled or budget.left_s <= 0:
                raise Unavailable("not asked")
            return await self._call(self._client, script, key, arguments, budget)

    async def warm(self) -> None:
        """Open the connections before the first request needs them; a store that is not there does not matter yet."""
        if self._client is not None:
            with contextlib.suppress(*FAULTS):
                async with asyncio.timeout(BUDGET_S):
                    await asyncio.gather(*(self._client.ping() for _ in range(CONNECTIONS)))

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
        waited = _Waited()
        call = asyncio.create_task(self._evaluate(client, script, key, arguments), name="limiter-store-call")
        try:
            return _integers(await (call if self._own_retries else _within(call, budget.left_s, waited)))
        except FAULTS as fault:
            self._failed(fault)
            raise Unavailable(f"{type(fault).__name__}: {fault}", may_have_run=_timed_out(fault)) from fault
        finally:
            call.cancel()
            self._last_call_s = waited.seconds()
            budget.left_s -= self._last_call_s

    async def _evaluate(
        self, client: redis.asyncio.Redis, script: Script, key: str, arguments: Sequence[int | float | str]
    ) -> object:
        try:
            reply = await client.evalsha(script.sha, 1, key, *arguments)
        except redis.exceptions.NoScriptError:
            if script.sha in self._loaded:
                raise
            # The server forgot its scripts (restart, failover, SCRIPT FLUSH). It ran nothing, so asking once more with
            # the text cannot charge twice; EVAL also loads it, for everyone.
            reply = await client.eval(script.text, 1, key, *arguments)
        if self._loads_once:
            self._loaded.add(script.sha)
        return reply

    def _failed(self, fault: BaseException) -> None:
        if self.stalled or self._own_retries or not (_timed_out(fault) or self._sticky):
            return
        self._answering.clear()
        _log.warning("limiter store stalled", extra={"facts": {"fault": type(fault).__name__}})
        if not self._sticky:
            self._probe = asyncio.create_task(self._until_answering(), name="limiter-store-probe")

    async def _until_answering(self) -> None:
        """Ask until the server itself answers, be it with an error: then requests may ask for themselves again.

        A refused connection is no answer. Where a Service has no endpoints the kernel refuses only some of many
        connections, because it limits the ICMP messages it sends, and lets the others run into their timeout.
        """
        assert self._client is not None
        while True:
            try:
                async with asyncio.timeout(BUDGET_S):
                    await self._client.ping()
                break
            except redis.ResponseError:
                break
            except FAULTS:
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


class _Waited:
    """The time since its making in which this thread had nothing to do but wait."""

    __slots__ = ("_busy", "_started")

    def __init__(self) -> None:
        self._started, self._busy = time.monotonic(), busy.seconds()

    def seconds(self) -> float:
        return max(0.0, time.monotonic() - self._started - (busy.seconds() - self._busy))


async def _within(call: asyncio.Task[object], seconds: float, waited: _Waited) -> object:
    """The result of `call` within `seconds` of waiting for it; raises TimeoutError."""
    while not call.done() and (left_s := seconds - waited.seconds()) > GRANULARITY_S:
        await asyncio.wait({call}, timeout=left_s)
    if not call.done():
        raise TimeoutError(f"no answer within {seconds * 1000:.0f} ms")
    return call.result()


def _timed_out(fault: BaseException) -> bool:
    return isinstance(fault, (TimeoutError, redis.TimeoutError))


def _integers(reply: object) -> list[int]:
    if not isinstance(reply, list) or not all(isinstance(item, int) for item in reply):
        raise TypeError("a limiter script answers with a list of integers")
    return reply
