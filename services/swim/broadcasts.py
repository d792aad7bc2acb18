"""What waits to be piggybacked: each item is sent a bounded number of times, the least sent first (SWIM 4.1).

Membership goes before everything else. A newer item takes the place of an older one of the same key. An item that is
larger than a packet's room can never be sent and is refused when it is added.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from swim import bounds

MEMBERSHIP, SPEND, PROVIDERS = 0, 1, 2  # ranks
_MISFITS = 16  # items too large for the room that is left which are passed over in one packet


class TooLarge(Exception):
    """The item fits no packet; `size` and `room` are bytes."""

    def __init__(self, size: int, room: int) -> None:
        super().__init__(f"an item of {size} bytes can never fit into {room}")
        self.size, self.room = size, room


class Queue:
    """`room` is what a packet that carries nothing else has for items, in bytes; `population` counts the members."""

    def __init__(self, room: int, population: Callable[[], int], multiplier: int) -> None:
        self._room, self._population, self._multiplier = room, population, multiplier
        self._tiers: dict[tuple[int, int], dict[Hashable, bytes]] = {}  # (rank, times sent) -> items, oldest first
        self.places: dict[Hashable, tuple[int, int]] = {}  # key -> (rank, times sent)

    def __len__(self) -> int:
        return len(self.places)

    def add(self, rank: int, key: Hashable, item: bytes) -> None:
        """Queue an item in place of any other with its key. Raises TooLarge, and keeps what was queued."""
        if len(item) > self._room:
            raise TooLarge(len(item), self._room)
        self.discard(key)
        self._put(rank, 0, key, item)

    def discard(self, key: Hashable) -> None:
        place = self.places.pop(key, None)
        if place is not None:
            self._remove(place, key)

    def take(self, room: int) -> list[bytes]:
        """Items that fit into `room` bytes together; each counts as sent once more, and is gone after its last time."""
        if not self.places:
            return []
        limit = bounds.retransmissions(self._population(), self._multiplier)
        taken: list[bytes] = []
        for (rank, sent), key, item in self._fitting(room):
            taken.append(item)
            self._remove((rank, sent), key)
            if sent + 1 < limit:
                self._put(rank, sent + 1, key, item)
            else:
                del self.places[key]
        return taken

    def _fitting(self, room: int) -> list[tuple[tuple[int, int], Hashable, bytes]]:
        """What fits together, in order of rank and times sent."""
        fitting, misfits = [], 0
        for place in sorted(self._tiers):
            for key, item in self._tiers[place].items():
                if len(item) <= room:
                    room -= len(item)
                    fitting.append((place, key, item))
                else:
                    misfits += 1
                if misfits == _MISFITS:
                    return fitting
        return fitting

    def _put(self, rank: int, sent: int, key: Hashable, item: bytes) -> None:
        self._tiers.setdefault((rank, sent), {})[key] = item
        self.places[key] = (rank, sent)

    def _remove(self, place: tuple[int, int], key: Hashable) -> None:
        tier = self._tiers[place]
        del tier[key]
        if not tier:
            del self._tiers[place]
