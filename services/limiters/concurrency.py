"""Per-client concurrency: how many requests of one client may be in work at once.

Each request in work holds a lease, a member of the client's sorted set scored by its expiry on the server's clock. A
lease is renewed while the work lasts, at most for `MAX_HOLD_S`, and given back on every way out; one that is lost with
its process ends by itself after `lease_s`. A request over the limit takes no lease, in observe mode either, so that
`would_reject` there is exactly what enforce would have refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from common import mutations
from limiters import decision, store

KEY_PREFIX = "{space:client-concurrency}:"
UNSPECIFIED = "unspecified"  # the bucket of every request that names no known client
OFF, OBSERVE, ENFORCE = "off", "observe", "enforce"
MODES = (OFF, OBSERVE, ENFORCE)
MAX_HOLD_S = 300.0
RELEASE_WAIT_S = 0.03  # an answer waits this long for its lease to be given back; the rest happens behind it

# KEYS[1] one client's leases. ARGV: limit, lease in ms, lease id. Returns {taken}.
# The key outlives its longest lease, also one of a pod that runs with a longer lease time. The first write is the one
# that a store without memory refuses: were it the removal, the script would be let through and count for nothing later.
ACQUIRE = store.Script("""
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local lease_ms = tonumber(ARGV[2])
if redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf') >= tonumber(ARGV[1]) then return {0} end
redis.call('ZADD', KEYS[1], now + lease_ms, ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('PTTL', KEYS[1]) < lease_ms then redis.call('PEXPIRE', KEYS[1], lease_ms) end
return {1}
""")

# KEYS[1] as above. Returns {leases}: only for the mutation that counts in one call and takes in another.
COUNT = store.Script("return {redis.call('ZCARD', KEYS[1])}")
_NO_LIMIT = 1_000_000

# KEYS[1] as above. ARGV: lease in ms, lease id, XX (CH with the mutation). Returns {renewed}. A lease the store no longer
# knows is not made again: after a restart of the store the client's count starts afresh and converges as the old work ends.
RENEW = store.Script("""
if ARGV[3] == 'XX' and not redis.call('ZSCORE', KEYS[1], ARGV[2]) then return {0} end
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local lease_ms = tonumber(ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[3], now + lease_ms, ARGV[2])
if redis.call('PTTL', KEYS[1]) < lease_ms then redis.call('PEXPIRE', KEYS[1], lease_ms) end
return {1}
""")

# KEYS[1] as above. ARGV: lease id. Returns {released}; 0 the second time, never a count below what is held.
RELEASE = store.Script("return {redis.call('ZREM', KEYS[1], ARGV[1])}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """`limit` in requests per client; `lease_s` in seconds."""

    mode: str = OBSERVE
    limit: int = 32
    known_clients: tuple[str, ...] = ()
    lease_s: float = 30.0


class Limiter:
    """Decides whether one more request of a client may be in work, and keeps its lease while it is."""

    def __init__(self, settings: Settings, shared: store.Store, active: frozenset[str] = frozenset()) -> None:
        self.settings = settings
        self._store = shared
        self._known = frozenset(settings.known_clients)
        self._any_client = mutations.UNKNOWN_CLIENT_OWN_BUCKET in active
        self._lose_on_error = mutations.LOST_RELEASE_ON_EXCEPTION in active
        self._counts_first = mutations.COUNT_THEN_TAKE in active
        self._renewed = "CH" if mutations.LEASE_MADE_AGAIN in active else "XX"
        self._releases: set[asyncio.Task[None]] = set()
        self.held = 0  # leases this process holds now

    def classify(self, values: Sequence[str]) -> str:
        """The bucket for the values of the X-Client-ID headers of one request: a known client's name as it is
        spelled, and UNSPECIFIED for anything else, be it missing, repeated, of other case or merely unknown."""
        if len(values) != 1:
            return UNSPECIFIED
        if values[0] in self._known or (self._any_client and values[0]):
            return values[0]
        return UNSPECIFIED

    @contextlib.asynccontextmanager
    async def hold(self, client: str, budget: store.Budget) -> AsyncIterator[decision.Concurrency]:
        """Decide, and keep the lease, if one was taken, until the block is left in whatever way.

        The caller leaves the block at once when the decision refuses. Never raises for a fault of the store.
        """
        lease = str(uuid.uuid4())
        made, leased = await self._decide(client, lease, budget)
        if not leased:
            yield made
            return
        self.held += 1
        renewal = asyncio.create_task(self._renew(client, lease), name="lease-renewal")
        lost = False
        try:
            yield made
        except BaseException:
            lost = self._lose_on_error
            raise
        finally:
            renewal.cancel()
            self.held -= 1
            if not lost:
                await self._give_back(client, lease)

    async def settle(self) -> None:
        """Wait for leases that are still being given back; for the end of the process."""
        if self._releases:
            await asyncio.wait(self._releases, timeout=store.BUDGET_S)

    async def _decide(self, client: str, lease: str, budget: store.Budget) -> tuple[decision.Concurrency, bool]:
        """The decision, and whether a lease may be held in the store."""
        if self.settings.mode == OFF:
            return decision.Concurrency(True, decision.DISABLED, client), False
        if self._store.status != store.CONFIGURED:
            return decision.Concurrency(True, decision.MISCONFIGURED, client), False
        try:
            taken = await self._take(client, lease, budget)
        except (store.Unavailable, ValueError) as fault:
            if isinstance(fault, store.Unavailable) and fault.may_have_run:
                self._release_behind(client, lease)
            return decision.Concurrency(True, decision.STORE_UNAVAILABLE, client), False
        except asyncio.CancelledError:
            self._release_behind(client, lease)  # the request ended while the store was being asked
            raise
        accepted = taken or self.settings.mode == OBSERVE
        return decision.Concurrency(accepted, decision.NONE, client, would_reject=not taken), taken

    async def _take(self, client: str, lease: str, budget: store.Budget) -> bool:
        """Whether the lease was taken: counting and taking are one script, so that no other request comes in between."""
        limit = self.settings.limit
        if self._counts_first:
            (held,) = await self._store.run(COUNT, KEY_PREFIX + client, (), budget)
            if held >= limit:
                return False
            limit = _NO_LIMIT
        arguments = (limit, _ms(self.settings.lease_s), lease)
        (taken,) = await self._store.run(ACQUIRE, KEY_PREFIX + client, arguments, budget)
        return bool(taken)

    async def _renew(self, client: str, lease: str) -> None:
        """Renew at a third of the lease, so that two renewals may fail before the lease ends."""
        interval_s = self.settings.lease_s / 3
        arguments = (_ms(self.settings.lease_s), lease, self._renewed)
        for _ in range(int(MAX_HOLD_S / interval_s)):
            await asyncio.sleep(interval_s)
            try:
                await self._store.run(RENEW, KEY_PREFIX + client, arguments, store.Budget())
            except store.Unavailable:
                _log.warning("a lease was not renewed", extra={"facts": {"client": client}})

    async def _give_back(self, client: str, lease: str) -> None:
        await asyncio.wait({self._release_behind(client, lease)}, timeout=RELEASE_WAIT_S)

    def _release_behind(self, client: str, lease: str) -> asyncio.Task[None]:
        """Release in a task of its own, so that neither a cancelled request nor a slow store can lose it."""
        task = asyncio.create_task(self._release(client, lease), name="lease-release")
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)
        return task

    async def _release(self, client: str, lease: str) -> None:
        """Give the lease back now, or when a stalled store answers again if that is before the lease's own end.

        A store that was merely stopped may still take the lease of a request that has long been answered.
        """
        with contextlib.suppress(TimeoutError, store.Unavailable):
            try:
                await self._store.run(RELEASE, KEY_PREFIX + client, (lease,), store.Budget())
            except store.Unavailable:
                async with asyncio.timeout(self.settings.lease_s):
                    await self._store.wait_until_answering()
                await self._store.run(RELEASE, KEY_PREFIX + client, (lease,), store.Budget())


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
