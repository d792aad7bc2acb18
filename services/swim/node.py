"""One member of the group, without I/O: it takes the time and an event, and returns what is to be done."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from swim import codec, events, signing
from swim.context import Context
from swim.envelope import Envelope, Refused
from swim.exchange import FRAME_BYTES, Exchange
from swim.gossip import Gossip
from swim.health import Health
from swim.joining import Joiner
from swim.lanes import Lanes
from swim.ledger import Ledger
from swim.members import LIFE_LIMIT, Member, Members
from swim.messages import Ack, Address, Alive, Dead, Left, Nack, Packet, Ping, PingRequest, Suspect
from swim.outbox import Outbox
from swim.parameters import MOST_PACKET_BYTES, Parameters
from swim.probing import Prober
from swim.providers import Providers

MAX_FRAME_BYTES = 2 * FRAME_BYTES


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a node is. `name` is one site's for ever; `address` is where others reach it, with a literal IP address; its
    `generation` is above that of every earlier start under this name, 1 to 2^31 - 1."""

    name: str
    address: Address
    generation: int = 1


class Node:
    """Single-threaded: one step after the other. Nothing that comes from outside makes it raise.

    Raises ValueError for an identity that cannot be said in a packet.
    """

    def __init__(
        self,
        identity: Identity,
        envelope: Envelope,
        verifier: signing.Verifier,
        parameters: Parameters,
        rng: random.Random,
        epoch: int = 0,
        active: frozenset[str] = frozenset(),
    ) -> None:
        if not 0 < identity.generation < LIFE_LIMIT:
            raise ValueError(f"generation {identity.generation} must be 1 to {LIFE_LIMIT - 1}")
        context = self._context = Context(parameters, rng)
        health = self._health = Health(parameters.health_maximum)
        me = Member(identity.name, (identity.generation, 0), identity.address)
        self._envelope = envelope
        envelope.plant(active)
        self._outbox = Outbox(context, envelope, identity.name, identity.address, lambda: len(self.members))
        self.members = Members(context, self._outbox.queue, health, me)
        self.ledger = Ledger(envelope.network, epoch, verifier, active)
        self.providers = Providers(envelope.network, verifier)
        self._lanes = Lanes(
            context, self._outbox.queue, identity.name, self.members.knows, self.ledger, self.providers, active
        )
        self._prober = Prober(context, self.members, health, self._outbox)
        self._exchange = Exchange(context, self.members, self._lanes, self._outbox)
        self._joiner = Joiner(context, self.members, self._exchange)
        self._gossip = Gossip(context, self.members, self._outbox)
        self.members.on_join, self.members.on_evict = self._prober.joined, self._lanes.evict
        # When the node wants a Tick at the latest, on the caller's clock; it may change with each step.
        self.deadline = math.inf
        self._handlers: dict[type, Callable[[Any], None]] = {
            events.Datagram: self._datagram,
            events.Tick: _nothing,
            events.StreamData: self._stream_data,
            events.StreamFailed: lambda event: self._exchange.failed(event.stream),
            events.Resolved: self._joiner.resolved,
            events.Spent: lambda event: self._lanes.spend(event.record),
            events.Published: lambda event: self._lanes.publish(event.state),
            events.EpochSet: lambda event: self._lanes.advance(event.epoch),
            events.Start: self._start,
            events.Leave: lambda _: self.members.leave(),
        }

        self._hearers: dict[type, Callable[[Any, Packet], None]] = {
            Ping: lambda ping, packet: self._prober.pinged(ping, packet.sender, packet.address),
            PingRequest: lambda asked, packet: self._prober.requested(asked, packet.address),
            Ack: lambda ack, _: self._prober.acked(ack),
            Nack: lambda nack, _: self._prober.nacked(nack),
            **dict.fromkeys((Alive, Suspect, Dead, Left), lambda claim, _: self.members.hear(claim)),
        }

    def step(self, now: float, event: events.Event) -> list[events.Effect]:
        """Work on one event at `now`, seconds on any steady clock; what is to be done, in order."""
        self._context.begin(now)
        self._handlers[type(event)](event)
        effects = self._context.finish()
        if self._outbox.queue.places:
            self._gossip.stir()
        self.deadline = self._context.deadline
        return effects

    @property
    def counters(self) -> Counter[tuple[str, str]]:
        """(what, which) -> how often, since the start; few pairs, whatever comes in."""
        return self._context.counters

    @property
    def health(self) -> int:
        """Lifeguard's local health: 0 is healthy."""
        return self._health.score

    @property
    def unresolved(self) -> tuple[str, ...]:
        """The seeds that had no address when they were last looked up."""
        return self._joiner.unresolved

    @property
    def waiting(self) -> int:
        """Items that wait to be piggybacked."""
        return len(self._outbox.queue)

    @property
    def last_exchange(self) -> float | None:
        """When an exchange last brought all that a peer knew, on the caller's clock; None before the first."""
        return self._exchange.last

    def _start(self, _: events.Start) -> None:
        self._prober.start()
        self._exchange.start()
        self._joiner.start()

    def _datagram(self, event: events.Datagram) -> None:
        packet = self._open(event.data, MOST_PACKET_BYTES)
        if isinstance(packet, str):
            self._context.count("packet", packet)
            return
        self._context.count("packet", "received")
        carries_state = False
        for message in packet.messages:
            if hear := self._hearers.get(type(message)):
                hear(message, packet)
            else:
                carries_state = True
        if carries_state:
            self._lanes.receive(packet.messages)

    def _stream_data(self, event: events.StreamData) -> None:
        packet = self._open(event.data, MAX_FRAME_BYTES)
        if isinstance(packet, str):
            self._exchange.refuse(event.stream, packet)
        else:
            self._exchange.received(event.stream, packet)

    def _open(self, data: bytes, most: int) -> Packet | str:
        """The packet, or why it is refused."""
        if len(data) > most:
            return "oversize"
        try:
            packet = codec.decode(self._envelope.open(data))
        except Refused as refused:
            return str(refused)
        if isinstance(packet, Packet) and packet.sender == self.members.me.name:
            if packet.address != self.members.me.address:
                self._context.emit(events.NameConflict(packet.sender, packet.address))
            return "own"
        return packet


def _nothing(_: object) -> None:
    """A Tick only lets the timers run."""
