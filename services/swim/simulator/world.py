"""The simulation itself: one queue of happenings in virtual time, and the sites that they happen to."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from swim import events
from swim.parameters import KIND, Parameters
from swim.simulator.conditions import Conditions
from swim.simulator.site import Site

_TICK = events.Tick()
Observer = Callable[[float, Site, events.Effect], None]


class World:
    """`names` of sites, each with the first three others as seeds. Nothing happens until `start` and `run`."""

    def __init__(
        self,
        names: Sequence[str],
        seed: int | str = 0,
        parameters: Parameters = KIND,
        active: frozenset[str] = frozenset(),
    ) -> None:
        self.now, self.parameters = 0.0, parameters
        self.rng = random.Random(f"world {seed}")  # noqa: S311 - a seed repeats a run
        self.conditions = Conditions()
        self.packets = 0  # datagrams that reached a living site
        self.acknowledged: Counter[tuple[str, int]] = Counter()  # (tenant, epoch) -> cents
        self.observers: list[Observer] = []
        self.taps: list[Callable[[str, bytes], None]] = []  # told every datagram and to whom it goes
        self.sites = {
            name: Site(name, (f"10.0.{at // 250}.{at % 250 + 1}", 7946), parameters, str(seed), active)
            for at, name in enumerate(names)
        }
        # Who listens there now.
        self._by_address = {site.address: site for site in self.sites.values()}
        for site in self.sites.values():
            others = [other.address for other in self.sites.values() if other is not site]
            site.seeds = tuple(others[:3])
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = itertools.count()
        self._wakes: dict[str, float] = {}  # site -> when it is woken next
        self._streams: dict[tuple[str, int], tuple[Site, int]] = {}  # (site, its id) -> the other end
        self._inbound = itertools.count(1)

    def at(self, delay: float, call: Callable[..., None], *arguments: object) -> None:
        """Call in `delay` virtual seconds."""
        heapq.heappush(self._queue, (self.now + delay, next(self._order), call, arguments))

    def run(self, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, or stop when `until` holds, which is asked after each happening; whether it held."""
        end, queue = self.now + seconds, self._queue
        while queue and queue[0][0] <= end:
            self.now, _, call, arguments = heapq.heappop(queue)
            call(*arguments)
            if until and until():
                return True
        self.now = end
        return bool(until and until())

    def start(self, *names: str) -> None:
        """Start these sites, or all; after a kill with what they had on disk."""
        for name in names or self.sites:
            site = self.sites[name]
            site.start()
            for event in (*site.recovered(), events.Start()):
                self.tell(name, event)

    def kill(self, name: str) -> None:
        """As by SIGKILL: nothing more is said, and only the disk stays."""
        site = self.sites[name]
        site.node = None
        self._wakes.pop(name, None)
        for holder, stream in list(self._streams):
            if holder == name:
                self._close(site, stream)

    def move(self, name: str, host: str) -> None:
        """The next start is at this address, as that of a pod which is made anew."""
        site = self.sites[name]
        del self._by_address[site.address]
        site.address = host, site.address[1]
        self._by_address[site.address] = site

    def spend(self, name: str, tenant: str, cents: int) -> None:
        """A spend at a living site, acknowledged once it is on disk."""
        site = self.sites[name]
        event = site.spend(tenant, cents)
        self.acknowledged[tenant, site.epoch] += cents
        self.tell(name, event)

    def publish(self, name: str, payload: bytes) -> None:
        self.tell(name, self.sites[name].publish(payload))

    def set_epoch(self, name: str, epoch: int) -> None:
        self.sites[name].epoch = epoch
        self.tell(name, events.EpochSet(epoch))

    def jump(self, name: str, seconds: float) -> None:
        """The site's clock jumps."""
        self.sites[name].offset += seconds
        self._wake(self.sites[name])

    def cut(self, one: Sequence[str], other: Sequence[str], both_ways: bool = True) -> None:
        """Nothing passes from `one` to `other` any more, nor back if both ways."""
        pairs = set(itertools.product(one, other))
        self.conditions.cut |= pairs | {(b, a) for a, b in pairs if both_ways}

    def heal(self) -> None:
        self.conditions.cut.clear()

    def tell(self, name: str, event: events.Event) -> None:
        """Give a living site an event, and do what it wants done."""
        self._tell(self.sites[name], event)

    def inject(self, name: str, data: bytes) -> None:
        """A datagram from nowhere."""
        self._arrive(self.sites[name], data)

    def living(self) -> list[Site]:
        return [site for site in self.sites.values() if site.node]

    def _arrive(self, site: Site, data: bytes) -> None:
        if site.node:
            self.packets += 1
            self._tell(site, events.Datagram(data))

    def _tell(self, site: Site, event: events.Event) -> None:
        node = site.node
        if node is None:
            return
        for effect in node.step(self.now + site.offset, event):
            if type(effect) is events.Send:
                self._send(site, effect)
            else:
                self._do(site, effect)
        self._wake(site)

    def _wake(self, site: Site) -> None:
        """See to it that the site's node has a Tick when it wants one."""
        assert site.node
        due = site.node.deadline - site.offset
        if due < self.now:
            due = self.now
        if due != self._wakes.get(site.name):
            self._wakes[site.name] = due
            self.at(due - self.now, self._tick, site, due)

    def _tick(self, site: Site, due: float) -> None:
        if self._wakes.get(site.name) == due:
            del self._wakes[site.name]
            self._tell(site, _TICK)

    def _do(self, site: Site, effect: events.Effect) -> None:
        if isinstance(effect, events.OpenStream):
            self._open(site, effect)
        elif isinstance(effect, events.StreamSend):
            self._pass(site, effect.stream, effect.data, effect.last)
        elif isinstance(effect, events.CloseStream):
            self._close(site, effect.stream)
        elif isinstance(effect, events.Resolve):
            self.at(0, lambda: self._tell(site, events.Resolved(site.seeds)))
        else:
            site.keep(effect)
            for observe in self.observers:
                observe(self.now, site, effect)

    def _send(self, site: Site, effect: events.Send) -> None:
        for tap in self.taps:
            tap(site.name, effect.data)
        other = self._by_address.get(effect.address)
        if other is None or not self.conditions.passes(site.name, other.name):
            return
        for delay in self.conditions.delays(self.rng):
            self.at(delay, self._arrive, other, effect.data)

    def _open(self, site: Site, effect: events.OpenStream) -> None:
        other = self._by_address.get(effect.address)
        failed = events.StreamFailed(effect.stream)
        if other is None or other.node is None:
            self.at(self.conditions.stream_delay(self.rng), lambda: self.tell(site.name, failed))
            return
        there = -next(self._inbound)
        self._streams[site.name, effect.stream] = other, there
        self._streams[other.name, there] = site, effect.stream
        self.at(self.parameters.stream_timeout, lambda: self._time_out(site, effect.stream))
        self._pass(site, effect.stream, effect.data, last=False)

    def _pass(self, site: Site, stream: int, data: bytes, last: bool) -> None:
        """One frame to the other end of a stream. Both ways must be open, for acknowledgements."""
        end = self._streams.get((site.name, stream))
        if end is None:
            return
        other, there = end
        if not (self.conditions.passes(site.name, other.name) and self.conditions.passes(other.name, site.name)):
            return
        if last:
            del self._streams[site.name, stream]

        def arrive() -> None:
            if (other.name, there) in self._streams:
                self.tell(other.name, events.StreamData(there, data))

        self.at(self.conditions.stream_delay(self.rng), arrive)

    def _close(self, site: Site, stream: int) -> None:
        end = self._streams.pop((site.name, stream), None)
        if end and self._streams.pop((end[0].name, end[1]), None) and end[1] > 0:
            self.tell(end[0].name, events.StreamFailed(end[1]))

    def _time_out(self, site: Site, stream: int) -> None:
        end = self._streams.pop((site.name, stream), None)
        if end:
            self._streams.pop((end[0].name, end[1]), None)
            self.tell(site.name, events.StreamFailed(stream))
