"""Cluster activation admission: one token bucket for everybody who starts, restores or wakes a sandbox.

The bucket is continuous: it holds at most `burst` tokens, gains `refill_per_second` a second counted in milliseconds of
the *server's* clock, and one admission takes one token. API and controller share the key, so they share the bucket; each
caller refills by its own numbers, and a caller whose numbers differ from the last one's is told so (`mismatch`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from common import mutations
from limiters import decision, store

KEY = "{space:admission}:v1"

# KEYS[1] the bucket. ARGV: burst, refill per second, time to live in ms, clock step in ms, price of an admission.
# A hash: tok tokens at ts_ms, and the burst and rate they were last counted with. Numbers are handed to HSET as numbers,
# because Lua's own conversion to text keeps 14 digits and would lose fractions of a token.
# Returns {admitted, ms until a token is there, mismatch}.
SCRIPT = store.Script("""
local burst, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local ttl_ms, step_ms, price = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
now = now - now % step_ms

local held = redis.call('HMGET', KEYS[1], 'tok', 'ts_ms', 'burst', 'rate')
local tokens, since = tonumber(held[1]), tonumber(held[2])
local mismatch = 0
if tokens and since then
  if tonumber(held[3]) ~= burst or tonumber(held[4]) ~= rate then mismatch = 1 end
  tokens = tokens + math.max(0, now - since) * rate / 1000
else
  tokens = burst
end
tokens = math.min(tokens, burst)

local admitted, wait_ms = 0, 0
if tokens >= 1 then
  admitted, tokens = 1, tokens - price
else
  wait_ms = math.ceil((1 - tokens) * 1000 / rate)
end
redis.call('HSET', KEYS[1], 'tok', tokens, 'ts_ms', now, 'burst', burst, 'rate', rate)
redis.call('PEXPIRE', KEYS[1], ttl_ms)
return {admitted, wait_ms, mismatch}
""")


@dataclass(frozen=True, slots=True)
class Settings:
    """`burst` in tokens, at least 1; `refill_per_second` in tokens per second, above 0."""

    enabled: bool = True
    burst: int = 60
    refill_per_second: float = 60.0


class Limiter:
    """Decides whether one more sandbox may be activated now."""

    def __init__(
        self, settings: Settings, shared: store.Store, active: frozenset[str] = frozenset(), key: str = KEY
    ) -> None:
        self.settings, self.key = settings, key
        self._store = shared
        whole_seconds = mutations.WHOLE_SECOND_CLOCK in active
        self._arguments = (
            settings.burst,
            settings.refill_per_second,
            time_to_live_ms(settings, floored=mutations.TTL_FLOOR in active),
            1000 if whole_seconds else 1,
            2 if mutations.DOUBLE_CHARGE in active else 1,
        )

    async def decide(self, budget: store.Budget) -> decision.Activation:
        """Take one token, or say when there will be one. Never raises for a fault of the store: it fails open."""
        if not self.settings.enabled:
            return decision.Activation(True, decision.DISABLED, time.time())
        if self._store.status != store.CONFIGURED:
            return decision.Activation(True, decision.MISCONFIGURED, time.time())
        try:
            admitted, wait_ms, mismatch = await self._store.run(SCRIPT, self.key, self._arguments, budget)
        except (store.Unavailable, ValueError):
            return decision.Activation(True, decision.STORE_UNAVAILABLE, time.time())
        return decision.Activation(bool(admitted), decision.NONE, time.time(), wait_ms, bool(mismatch))


def time_to_live_ms(settings: Settings, *, floored: bool = False) -> int:
    """How long an idle bucket is kept: twice the time it needs to fill, and never under a second.

    A bucket that expires before it is full would come back full, which is a free burst; one that expires at once is
    never anything but full.
    """
    if floored:
        return int(2 * settings.burst / settings.refill_per_second) * 1000
    return max(1000, math.ceil(2000 * settings.burst / settings.refill_per_second))
