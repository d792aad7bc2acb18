"""Everybody once, in random order, and then again in another: what bounds the wait for any one (SWIM 4.3)."""

from __future__ import annotations

import random

from swim.members import LIVING, Member, Members


class Turn:
    """Over the living members of one node."""

    def __init__(self, members: Members, rng: random.Random) -> None:
        self._members, self._rng = members, rng
        self._left: list[Member] = []

    def next(self) -> Member | None:
        """The next living member; None when there is none."""
        found = self._pop()
        if found is None:
            self._shuffle()
            found = self._pop()
        return found

    def insert(self, member: Member) -> None:
        """A newcomer takes a random place among those who still wait."""
        self._left.insert(self._rng.randint(0, len(self._left)), member)

    def _pop(self) -> Member | None:
        while self._left:
            member = self._left.pop()
            if member.state in LIVING and self._members.get(member.name) is member:
                return member
        return None

    def _shuffle(self) -> None:
        self._left = self._members.living()
        self._rng.shuffle(self._left)
