"""A long run in which everything happens at once, and then has to be as if nothing had happened."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

from swim import bounds
from swim.envelope import Envelope
from swim.parameters import KIND, Parameters
from swim.simulator.conditions import Conditions
from swim.simulator.forging import Forger
from swim.simulator.invariants import Watch
from swim.simulator.world import World

CHURN = dataclasses.replace(KIND, dead_ttl=20.0)  # so that sites are also evicted and come back
TENANTS = tuple(f"tenant-{number}" for number in range(5))


class Churn:
    """One run, determined by `seed`. `every` is the mean time between two happenings, in seconds."""

    def __init__(
        self,
        seed: int,
        sites: int = 3,
        parameters: Parameters = CHURN,
        every: float = 2.0,
        active: frozenset[str] = frozenset(),
    ) -> None:
        self.world = World([f"s{number}" for number in range(sites)], seed, parameters, active)
        self.watch = Watch(self.world)
        self.rng = random.Random(f"churn {seed}")  # noqa: S311 - a seed repeats a run
        self._every = every
        self._forger = Forger(self.world, Envelope("net"))
        # Each happening with how often it is, relative to the others.
        self._happenings: dict[Callable[[], None], int] = {
            self._spend: 12,
            self._publish: 2,
            self._kill: 2,
            self._restart: 4,
            self._cut: 2,
            self.world.heal: 3,
            self._weather: 2,
            self._jump: 1,
            self._forge: 3,
        }

    def run(self, seconds: float) -> list[str]:
        """Churn for so long, then calm; the violations, which should be none."""
        self.world.start()
        end = self.world.now + seconds
        while self.world.now < end:
            self.world.run(self.rng.expovariate(1 / self._every))
            (happen,) = self.rng.choices(list(self._happenings), list(self._happenings.values()))
            happen()
            self.watch.look_at_all()
        self._calm()
        return self.watch.violations + self.watch.settled()

    def _calm(self) -> None:
        """Everybody lives, nothing is lost, and the published time passes."""
        self.world.conditions = Conditions()
        self.world.start(*(site.name for site in self.world.sites.values() if site.node is None))
        self.world.run(bounds.healing(len(self.world.sites), self.world.parameters))

    def _site(self) -> str | None:
        living = self.world.living()
        return self.rng.choice(living).name if living else None

    def _spend(self) -> None:
        for _ in range(self.rng.choice((1, 1, 1, 5))):
            if name := self._site():
                self.world.spend(name, self.rng.choice(TENANTS), self.rng.randint(1, 10_000))

    def _publish(self) -> None:
        if name := self._site():
            self.world.publish(name, self.rng.randbytes(40))

    def _kill(self) -> None:
        if name := self._site():
            self.world.kill(name)

    def _restart(self) -> None:
        dead = [site.name for site in self.world.sites.values() if site.node is None]
        if dead:
            self.world.start(self.rng.choice(dead))

    def _cut(self) -> None:
        names = list(self.world.sites)
        self.rng.shuffle(names)
        at = self.rng.randint(1, len(names) - 1)
        self.world.cut(names[:at], names[at:], both_ways=self.rng.random() < 0.5)

    def _weather(self) -> None:
        conditions = self.world.conditions
        conditions.loss = self.rng.choice((0.0, 0.05, 0.3))
        conditions.duplication = self.rng.choice((0.0, 0.2))
        conditions.reordering = self.rng.choice((0.0, 0.2))

    def _jump(self) -> None:
        if name := self._site():
            self.world.jump(name, self.rng.choice((-3600.0, -1.0, 1.0, 3600.0)))

    def _forge(self) -> None:
        for _ in range(5):
            if name := self._site():
                self.world.inject(name, self._forger.packet())
