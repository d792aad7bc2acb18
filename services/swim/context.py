"""What the parts of one node share while it works on one event: the time, chance, timers, counters and effects."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable

from swim.events import Effect
from swim.parameters import Parameters

_RESOLUTION = 1e-6  # a timer may be early by this, since sums of times are rounded


class Timer:
    """A call to come; it may be called off."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Context:
    """`now` is the node's own steady time in seconds.

    Nothing depends on the caller's clock but differences. When it steps back no time has passed; when a timer is late by
    more than a probe interval, our own process stood still or the clock jumped, and the excess does not count: it is no
    evidence about anybody else.
    """

    def __init__(self, parameters: Parameters, rng: random.Random) -> None:
        self.parameters, self.rng = parameters, rng
        self.now = 0.0
        self.counters: Counter[tuple[str, str]] = Counter()
        self.effects: list[Effect] = []
        self._shift: float | None = None
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def begin(self, now: float) -> None:
        """The caller's clock says `now`."""
        if self._shift is None:
            self._shift = -now
        steady = now + self._shift
        latest = self._timers[0][0] + self.parameters.probe_interval if self._timers else math.inf
        if self.now <= steady <= latest:
            self.now = steady
            return
        self.count("clock", "back" if steady < self.now else "late")
        self.now = max(self.now, min(steady, latest))
        self._shift = self.now - now

    def finish(self) -> list[Effect]:
        """Run the timers that are due, and hand out what was asked for since the last time."""
        timers, due = self._timers, self.now + _RESOLUTION
        while timers and (timers[0][0] <= due or timers[0][2].call is None):
            if call := heapq.heappop(timers)[2].call:
                call()
        effects, self.effects = self.effects, []
        return effects

    @property
    def deadline(self) -> float:
        """When the next timer is due, on the caller's clock; infinity without one."""
        return self._timers[0][0] - (self._shift or 0.0) if self._timers else math.inf

    def after(self, delay: float, call: Callable[[], None]) -> Timer:
        """Call in `delay` seconds."""
        timer = Timer(call)
        heapq.heappush(self._timers, (self.now + delay, next(self._order), timer))
        return timer

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def count(self, what: str, why: str, by: int = 1) -> None:
        self.counters[what, why] += by
