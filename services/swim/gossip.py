"""Spreading news: while anything waits, a few random members are told of it at each interval (SWIM 4.1)."""

from __future__ import annotations

from swim.context import Context
from swim.members import Members
from swim.outbox import Outbox


class Gossip:
    """Silent while there is no news, or nobody to tell."""

    def __init__(self, context: Context, members: Members, outbox: Outbox) -> None:
        self._context, self._members, self._outbox = context, members, outbox
        self._waits = False
        self._next = 0.0  # not before this, so that what comes in between travels together

    def stir(self) -> None:
        """See to it that what waits will be told."""
        if not self._waits and self._outbox.queue.places and len(self._members) > 1:
            self._waits = True
            self._context.after(max(0.0, self._next - self._context.now), self._tell)

    def _tell(self) -> None:
        self._waits = False
        parameters = self._context.parameters
        self._next = self._context.now + parameters.gossip_interval
        others = self._members.living()
        if len(others) > parameters.gossip_fanout:
            others = self._context.rng.sample(others, parameters.gossip_fanout)
        for member in others:
            self._outbox.send(member.address)
        self.stir()
