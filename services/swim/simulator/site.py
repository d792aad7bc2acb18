"""One simulated site: a node that can die and come back, and what it keeps on disk."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from swim import events, signing
from swim.envelope import Envelope
from swim.messages import Address, ProviderState, Record
from swim.node import Identity, Node
from swim.parameters import Parameters
from swim.simulator.keyed import KeyedOrigin, KeyedOrigins


class Site:
    """`offset` is what its clock differs by. The disk holds its generation, its own spend and its provider revision."""

    def __init__(self, name: str, address: Address, parameters: Parameters, seed: str, active: frozenset[str]) -> None:
        self.name, self.address, self._parameters, self._seed, self._active = name, address, parameters, seed, active
        self.seeds: tuple[Address, ...] = ()
        self.offset = 0.0
        self.epoch = 0
        self.node: Node | None = None
        self.make_envelope: Callable[[], Envelope] = lambda: Envelope("net")
        self.verifier: signing.Verifier = KeyedOrigins("s")
        self.generation = 0
        self._spent: dict[tuple[str, int], Record] = {}
        self._revision = 0

    def start(self) -> Node:
        """A new life, with what the disk holds told to the node by `recovered`."""
        self.generation += 1
        rng = random.Random(f"{self._seed} {self.name} {self.generation}")  # noqa: S311 - a seed repeats a run
        self.node = Node(
            Identity(self.name, self.address, self.generation),
            self.make_envelope(),
            self.verifier,
            self._parameters,
            rng,
            self.epoch,
            self._active,
        )
        return self.node

    def recovered(self) -> Sequence[events.Event]:
        return [events.Spent(record) for (_, epoch), record in self._spent.items() if epoch >= self.epoch]

    def spend(self, tenant: str, cents: int) -> events.Spent:
        """Write the spend down; from now on it counts as acknowledged."""
        key = tenant, self.epoch
        before = self._spent.get(key) or Record(tenant, self.epoch, self.name, 0, 0)
        more = before._replace(cents=before.cents + cents, sequence=before.sequence + 1)
        self._spent[key] = signing.signed("net", more, KeyedOrigin(self.name))
        return events.Spent(self._spent[key])

    def publish(self, payload: bytes) -> events.Published:
        self._revision += 1
        state = ProviderState(self.name, self._revision, payload)
        return events.Published(signing.signed("net", state, KeyedOrigin(self.name)))

    def keep(self, effect: events.Effect) -> None:
        """Write down what the node wants persisted."""
        if isinstance(effect, events.GenerationRaised):
            self.generation = max(self.generation, effect.generation)
        elif isinstance(effect, events.OwnSpendRelearned):
            self._spent[effect.record.tenant, effect.record.epoch] = effect.record
        elif isinstance(effect, events.OwnProvidersOutdated):
            self._revision = max(self._revision, effect.revision)

    def lose_disk(self) -> None:
        self.generation, self._revision = 0, 0
        self._spent.clear()
