"""What the simulated network does to packets."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Conditions:
    """Probabilities are per datagram, durations in seconds. `cut` holds the (from, to) pairs of sites that nothing passes.

    Streams are lost never, but late: a stream's frame waits as if each loss cost a retransmission.
    """

    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0
    least_delay: float = 0.0005
    most_delay: float = 0.002
    late_by: float = 0.3  # at most, of a datagram that is reordered
    retransmission: float = 0.2
    cut: set[tuple[str, str]] = field(default_factory=set)

    def delays(self, rng: random.Random) -> list[float]:
        """When each copy of one datagram arrives; empty when it is lost."""
        if self.loss and rng.random() < self.loss:
            return []
        delays = [self._delay(rng)]
        if self.duplication and rng.random() < self.duplication:
            delays.append(self._delay(rng))
        if self.reordering and rng.random() < self.reordering:
            delays[0] += rng.random() * self.late_by
        return delays

    def stream_delay(self, rng: random.Random) -> float:
        """How long one frame takes."""
        delay = self._delay(rng)
        while self.loss and rng.random() < min(self.loss, 0.9):
            delay += self.retransmission
        return delay

    def passes(self, sender: str, receiver: str) -> bool:
        return not self.cut or (sender, receiver) not in self.cut

    def _delay(self, rng: random.Random) -> float:
        return self.least_delay + rng.random() * (self.most_delay - self.least_delay)
