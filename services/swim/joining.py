"""Finding the others: seeds are looked up again at each try, and the dead are asked now and then whether they are."""

from __future__ import annotations

from swim.context import Context
from swim.events import Resolve, Resolved
from swim.exchange import Exchange
from swim.members import DEAD, LIVING, Members


class Joiner:
    """Tries every seed that is not a living member, and one dead member at a time."""

    def __init__(self, context: Context, members: Members, exchange: Exchange) -> None:
        self._context, self._members, self._exchange = context, members, exchange
        self.unresolved: tuple[str, ...] = ()

    def start(self) -> None:
        self._join()
        self._context.after(self._context.parameters.reconnect_interval, self._reconnect)

    def resolved(self, event: Resolved) -> None:
        """The seeds' addresses now; an exchange with each that is neither us nor alive."""
        self.unresolved = event.unresolved
        if event.unresolved:
            self._context.count("seed", "unresolved", len(event.unresolved))
        met = {member.address for member in self._members.others(*LIVING)} | {self._members.me.address}
        for address in dict.fromkeys(event.addresses):
            if address not in met:
                self._exchange.begin(address)

    def _join(self) -> None:
        if self._members.leaving:
            return
        self._context.emit(Resolve())
        self._context.after(self._context.parameters.join_interval, self._join)

    def _reconnect(self) -> None:
        if self._members.leaving:
            return
        if dead := list(self._members.others(DEAD)):
            self._exchange.begin(self._context.rng.choice(dead).address)
        self._context.after(self._context.parameters.reconnect_interval, self._reconnect)
