"""Spend and provider state each travel in a lane of their own: what comes in one never touches the other.

Both are gossiped in datagrams and exchanged by push/pull. Records of others are told on as they came, signature and all,
so that what a site spent is known for as long as anybody lives who heard of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from swim import broadcasts, codec, forms, ledger, mutations
from swim.context import Context
from swim.events import OwnProvidersOutdated, OwnSpendRelearned, ProvidersChanged, SpendChanged
from swim.messages import Have, Message, ProviderState, Record, Sync
from swim.providers import Providers


class Lanes:
    """The application's data of one node."""

    def __init__(
        self,
        context: Context,
        queue: broadcasts.Queue,
        site: str,
        is_member: Callable[[str], bool],
        book: ledger.Ledger,
        providers: Providers,
        active: frozenset[str] = frozenset(),
    ) -> None:
        self._context, self._queue, self._site, self._is_member = context, queue, site, is_member
        self.ledger, self.providers = book, providers
        self._relays = mutations.RELAY_ONLY_OWN not in active
        self._clears = mutations.EVICTION_CLEARS_SPEND in active
        self._as_metadata = mutations.SPEND_AS_METADATA in active
        self._mixes_lanes = self._as_metadata or mutations.SPEND_ONLY_WIPES_PROVIDERS in active
        self._exchanges = mutations.NO_PUSH_PULL not in active
        self._one_packet = mutations.ONE_PACKET_OR_NOTHING in active

    def receive(self, messages: Sequence[Message]) -> None:
        """Take in what one packet or frame of a peer carries of either lane."""
        for message in messages:
            if type(message) is Record:
                if self._mixes_lanes and not any(isinstance(other, ProviderState) for other in messages):
                    if self._as_metadata:
                        continue
                    self.forget_providers(message.origin)
                self._receive_spend(message)
            elif type(message) is ProviderState:
                self._receive_providers(message)

    def spend(self, record: Record) -> None:
        """Our own record."""
        self._merge_spend(record)

    def publish(self, state: ProviderState) -> None:
        """Our own provider state."""
        self._merge_providers(state)

    def evict(self, origin: str) -> None:
        """The origin is no member any more: its providers go, and what it spent stays."""
        self.forget_providers(origin)
        if self._clears:
            self.ledger.forget(origin)

    def forget_providers(self, origin: str) -> None:
        if self.providers.remove(origin):
            self._queue.discard(("providers", origin))
            self._context.emit(ProvidersChanged(origin))

    def advance(self, epoch: int) -> None:
        """Begin this epoch; one that has passed is refused and counted."""
        try:
            self.ledger.advance(epoch)
        except ValueError:
            self._context.count("epoch", ledger.OLD_EPOCH)

    def offer(self) -> Iterator[Message]:
        """What a peer must know to send what we lack."""
        if self._exchanges:
            yield from self.providers.haves()

    def digests(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        return self.ledger.digests() if self._exchanges else ()

    def lacking(self, sync: Sync, haves: Sequence[Have]) -> Iterator[Record | ProviderState]:
        """What the sender of this frame may lack, spend first."""
        if not self._exchanges:
            return
        told = not self._too_much()
        for record in self.ledger.differing(sync.epoch, sync.digests, self._context.rng.randrange(forms.BUCKETS)):
            if told and (self._relays or record.origin == self._site):
                yield record
        theirs = {have.origin: have.revision for have in haves}
        for state in self.providers:
            if state.revision > theirs.get(state.origin, -1):
                yield state

    def _receive_spend(self, record: Record) -> None:
        if self._merge_spend(record) == ledger.MERGED and record.origin == self._site:
            self._context.emit(OwnSpendRelearned(record))

    def _receive_providers(self, state: ProviderState) -> None:
        if not self._is_member(state.origin):
            self._context.count("providers", "not_a_member")
            return
        if self._merge_providers(state) == ledger.MERGED and state.origin == self._site:
            self._context.emit(OwnProvidersOutdated(state.revision))

    def _merge_spend(self, record: Record) -> str:
        outcome = self.ledger.merge(record)
        self._context.count("spend", outcome)
        if outcome == ledger.MERGED:
            self._context.emit(SpendChanged(record))
            if (self._relays or record.origin == self._site) and not self._too_much():
                self._gossip(broadcasts.SPEND, ("spend", record.tenant, record.epoch, record.origin), record)
        return outcome

    def _too_much(self) -> bool:
        """A planted defect: all spend travels in one packet, or none does."""
        if not self._one_packet:
            return False
        size = sum(len(codec.encode(record)) for record in self.ledger.records())
        return size > self._context.parameters.packet_bytes

    def _merge_providers(self, state: ProviderState) -> str:
        outcome = self.providers.merge(state)
        self._context.count("providers", outcome)
        if outcome == ledger.MERGED:
            self._context.emit(ProvidersChanged(state.origin))
            self._gossip(broadcasts.PROVIDERS, ("providers", state.origin), state)
        return outcome

    def _gossip(self, rank: int, key: tuple[object, ...], message: Record | ProviderState) -> None:
        """Queue it; what can never fit a packet is counted and left to push/pull."""
        try:
            self._queue.add(rank, key, codec.encode(message))
        except broadcasts.TooLarge:
            self._queue.discard(key)
            self._context.count("oversize", str(key[0]))
