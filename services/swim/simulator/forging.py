"""An enemy inside: it has the packet key and sees every datagram, but no origin's signing key."""

from __future__ import annotations

import random

from swim import codec
from swim.envelope import Envelope
from swim.messages import Message, Record
from swim.simulator.world import World

_KEPT = 64


class Forger:
    """Makes packets that must not change any total: random bytes, changed copies, replays, and records of others."""

    def __init__(self, world: World, envelope: Envelope) -> None:
        self._rng, self._envelope = random.Random(world.rng.random()), envelope  # noqa: S311 - a seed repeats a run
        self._heard: list[bytes] = []
        self._origins = list(world.sites)
        world.taps.append(self._hear)

    def packet(self) -> bytes:
        """One packet of a random kind."""
        return self._rng.choice((self.noise, self.mutated, self.replayed, self.claim_of_spend))()

    def noise(self) -> bytes:
        return self._rng.randbytes(self._rng.randrange(1400))

    def replayed(self) -> bytes:
        return self._rng.choice(self._heard) if self._heard else self.noise()

    def mutated(self) -> bytes:
        """A packet that somebody sent, cut, prolonged or with bytes changed."""
        data = bytearray(self.replayed())
        for _ in range(self._rng.randint(1, 4)):
            at = self._rng.randrange(len(data) + 1)
            change = self._rng.randrange(3)
            if change == 0:
                del data[at:]
            elif change == 1:
                data[at:at] = self._rng.randbytes(self._rng.randrange(8))
            elif at < len(data):
                data[at] = self._rng.randrange(256)
        return bytes(data)

    def claim_of_spend(self) -> bytes:
        """A well-formed record in another's name, with counts near and far."""
        cents = self._rng.choice((1, 10**6, 10**9, 2**53 - 1))
        sequence = self._rng.choice((1, 10**3, 2**53 - 1))
        record = Record("forged", 0, self._rng.choice(self._origins), cents, sequence, self._rng.randbytes(64))
        return self.say(record)

    def say(self, *messages: Message) -> bytes:
        """These messages from a stranger, in an envelope that is opened."""
        body = codec.head("stranger", ("192.0.2.1", 7946)) + b"".join(codec.encode(message) for message in messages)
        return self._envelope.close(body)

    def _hear(self, _: str, data: bytes) -> None:
        if len(self._heard) < _KEPT:
            self._heard.append(data)
        else:
            self._heard[self._rng.randrange(_KEPT)] = data
