"""Local health (Lifeguard IV-A): a node that misses answers first doubts itself, and waits longer before it accuses."""

from __future__ import annotations


class Health:
    """A score from 0, healthy, to `maximum`."""

    def __init__(self, maximum: int) -> None:
        self._maximum, self.score = maximum, 0

    @property
    def multiplier(self) -> int:
        """What probe interval and timeout are multiplied with."""
        return self.score + 1

    def better(self) -> None:
        """A probe was answered."""
        self.score = max(0, self.score - 1)

    def worse(self, by: int = 1) -> None:
        """A probe failed, a nack did not come, or somebody suspected us."""
        self.score = min(self._maximum, self.score + by)
