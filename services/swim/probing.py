"""Failure detection: one member in each protocol period is asked, directly and then through others (SWIM 3.1, 4.3)."""

from __future__ import annotations

from typing import NamedTuple

from swim.context import Context, Timer
from swim.health import Health
from swim.members import ALIVE, LIVING, Member, Members
from swim.messages import Ack, Address, Claim, Nack, Ping, PingRequest, Suspect
from swim.outbox import Outbox
from swim.turn import Turn

MAX_RELAYS = 256  # probes for others that may wait at once
_SEQUENCES = 2**32


class _Probe:
    """Our own probe of this period."""

    __slots__ = ("acked", "helpers", "life", "nacks", "sequence", "target", "timeout")

    def __init__(self, target: Member, sequence: int, timeout: Timer) -> None:
        self.target, self.life, self.sequence, self.timeout = target, target.life, sequence, timeout
        self.acked, self.helpers, self.nacks = False, 0, 0


class _Relay(NamedTuple):
    """A probe in another's place: who asked, with which sequence, and when we give up."""

    asker: Address
    sequence: int
    timeout: Timer


class Prober:
    """Asks others, answers others, and asks for others."""

    def __init__(self, context: Context, members: Members, health: Health, outbox: Outbox) -> None:
        self._context, self._members, self._health, self._outbox = context, members, health, outbox
        self._sequence = context.rng.randrange(_SEQUENCES)
        self._turn = Turn(members, context.rng)
        self._probe: _Probe | None = None
        self._relays: dict[int, _Relay] = {}  # by our own sequence

    def start(self) -> None:
        """Begin somewhere in the first period, so that nodes started together do not all ask together."""
        self._context.after(self._context.rng.random() * self._context.parameters.probe_interval, self._period)

    def joined(self, member: Member) -> None:
        """A newcomer takes a random place in the turn (SWIM 4.3)."""
        self._turn.insert(member)

    def pinged(self, message: Ping, sender: str, address: Address) -> None:
        if message.target != self._members.me.name:
            self._context.count("packet", "for_another")
            return
        self._outbox.send(address, Ack(message.sequence), *self._accusation(sender))

    def requested(self, message: PingRequest, address: Address) -> None:
        """Ask the target in the sender's place; say so when it does not answer in time."""
        if len(self._relays) >= MAX_RELAYS:
            self._context.count("packet", "relays_full")
            return
        sequence = self._next_sequence()

        def give_up() -> None:
            del self._relays[sequence]
            self._outbox.send(address, Nack(message.sequence))

        timeout = self._context.after(self._context.parameters.probe_timeout, give_up)
        self._relays[sequence] = _Relay(address, message.sequence, timeout)
        self._outbox.send(message.address, Ping(sequence, message.target), *self._accusation(message.target))

    def acked(self, message: Ack) -> None:
        probe = self._probe
        if probe and probe.sequence == message.sequence:
            if not probe.acked:
                probe.acked = True
                probe.timeout.cancel()
                self._health.better()
        elif relay := self._relays.pop(message.sequence, None):
            relay.timeout.cancel()
            self._outbox.send(relay.asker, Ack(relay.sequence))

    def nacked(self, message: Nack) -> None:
        probe = self._probe
        if probe and probe.sequence == message.sequence and probe.nacks < probe.helpers:
            probe.nacks += 1

    def _period(self) -> None:
        self._judge()
        if self._members.leaving:
            return
        target = self._turn.next()
        if target:
            self._ask(target)
        self._context.after(self._context.parameters.probe_interval * self._health.multiplier, self._period)

    def _ask(self, target: Member) -> None:
        patience = self._context.parameters.probe_timeout * self._health.multiplier
        timeout = self._context.after(patience, self._ask_others)
        probe = self._probe = _Probe(target, self._next_sequence(), timeout)
        self._outbox.send(target.address, Ping(probe.sequence, target.name), *self._accusation(target.name))

    def _ask_others(self) -> None:
        probe = self._probe
        if probe is None:
            return
        candidates = [member for member in self._members.others(ALIVE) if member is not probe.target]
        helpers = self._context.rng.sample(candidates, min(len(candidates), self._context.parameters.indirect_probes))
        probe.helpers = len(helpers)
        request = PingRequest(probe.sequence, probe.target.name, probe.target.address)
        for helper in helpers:
            self._outbox.send(helper.address, request)

    def _judge(self) -> None:
        """The period is over: without any answer the target is suspect, in the life it had when it was asked."""
        probe, self._probe = self._probe, None
        if probe is None or probe.acked or self._members.leaving or probe.target.state not in LIVING:
            return
        self._context.count("probe", "failed")
        self._health.worse(probe.helpers - probe.nacks if probe.helpers else 1)
        self._members.hear(Suspect(probe.target.name, probe.life, self._members.me.name))

    def _accusation(self, name: str) -> tuple[Claim, ...]:
        """What a suspect must hear first of all, that it may refute it (Lifeguard IV-C, buddy system)."""
        accusation = self._members.accused(name)
        return (accusation,) if accusation else ()

    def _next_sequence(self) -> int:
        self._sequence = (self._sequence + 1) % _SEQUENCES
        return self._sequence
