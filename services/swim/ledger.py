"""What a network has spent: for each epoch, tenant and origin a counter that only grows, signed by its origin.

Merging takes the greater (cents, sequence) within one epoch, so that it is commutative, associative and idempotent and
no total ever falls; what is refused is refused by the record alone, never by what came before it, except at a cap. A
record of a coming epoch is held, told on, and counts when the policy reaches its epoch. One of an epoch that has passed
is refused for ever.
"""

from __future__ import annotations

from collections.abc import Iterator

from swim import forms, mutations, signing
from swim.fields import LARGEST
from swim.messages import Record
from swim.slots import Slots

TENANT_CAP = 1024
ORIGIN_CAP = 256
HELD_EPOCHS = 4
LARGEST_SPEND = 10**9  # cents of one spend
_NOTHING = (0,) * forms.BUCKETS

# What became of a record. Every outcome but MERGED and KNOWN is a refusal.
MERGED = "merged"
KNOWN = "known"
OLD_EPOCH = "old_epoch"
HELD_EPOCHS_FULL = "held_epochs_full"
ABSURD = "absurd"
TENANTS_FULL = "tenant_cap"
ORIGINS_FULL = "origin_cap"
UNKNOWN_ORIGIN = "unknown_origin"
BAD_SIGNATURE = "bad_signature"
REFUSALS = (
    OLD_EPOCH,
    HELD_EPOCHS_FULL,
    ABSURD,
    TENANTS_FULL,
    ORIGINS_FULL,
    UNKNOWN_ORIGIN,
    BAD_SIGNATURE,
)


class Ledger:
    """The spend of one network as one site knows it."""

    def __init__(
        self, network: str, epoch: int, verifier: signing.Verifier, active: frozenset[str] = frozenset()
    ) -> None:
        self._network, self._verifier = network, verifier
        self.epoch = epoch
        self._slots: dict[int, Slots] = {epoch: Slots()}  # the present epoch and those held for later
        self._believes_all = mutations.ACCEPT_ANY_SLOT in active
        self._capped = mutations.NO_CAP not in active
        self._never_resets = mutations.MAX_MERGE_ACROSS_EPOCHS in active

    def merge(self, record: Record) -> str:
        """Take one record in, whoever brought it; the outcome. Never raises."""
        slots = self._slots.get(record.epoch)
        if slots is None:
            slots, refusal = self._place(record)
            if slots is None:
                return refusal
        known = slots.get(record.tenant, record.origin)
        if known and (record.cents, record.sequence) <= (known.cents, known.sequence):
            return KNOWN
        refusal = _implausible(record) or self._full(slots, record.tenant, record.origin) or self._unproved(record)
        if refusal:
            return refusal
        epoch = record.epoch
        if self._never_resets and epoch < self.epoch:
            epoch = self.epoch
        self._slots[epoch] = slots
        slots.put(record._replace(epoch=epoch))
        return MERGED

    def advance(self, epoch: int) -> None:
        """Begin this epoch: with what is held for it, or at zero. Raises ValueError for one that has passed."""
        if not self.epoch <= epoch <= LARGEST:
            raise ValueError(f"epoch {epoch} must be {self.epoch}, which is the present one, to {LARGEST}")
        self.epoch = epoch
        self._slots = {of: slots for of, slots in self._slots.items() if of >= epoch}
        self._slots.setdefault(epoch, Slots())

    def total(self, tenant: str) -> int:
        """Cents in the present epoch, 0 for a tenant without spend; saturated at 2^53 - 1."""
        return self._slots[self.epoch].total(tenant)

    def totals(self) -> dict[str, int]:
        """tenant -> cents, of every tenant with spend in the present epoch."""
        return self._slots[self.epoch].tenants

    def slot(self, tenant: str, origin: str) -> Record | None:
        """The record of one origin in the present epoch."""
        return self._slots[self.epoch].get(tenant, origin)

    def sizes(self) -> tuple[int, int]:
        """How many tenants and how many origins have slots in the present epoch."""
        return self._slots[self.epoch].sizes()

    def full(self, tenant: str, origin: str) -> str:
        """The cap that keeps a slot out of the present epoch, TENANTS_FULL or ORIGINS_FULL; "" when it finds room."""
        return self._full(self._slots[self.epoch], tenant, origin)

    def records(self) -> Iterator[Record]:
        """Every record of the present epoch."""
        return iter(self._slots[self.epoch])

    def digests(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """(epoch, digest of each bucket) of the present epoch and of those held."""
        return tuple((epoch, self._slots[epoch].digests) for epoch in sorted(self._slots))

    def differing(self, epoch: int, digests: tuple[tuple[int, tuple[int, ...]], ...], first: int) -> Iterator[Record]:
        """The records in each bucket that is not the same at a peer in `epoch`, from bucket number `first` round."""
        theirs = dict(digests)
        for of, slots in self._slots.items():
            there, here = theirs.get(of, _NOTHING), slots.digests
            if of < epoch or here == there:
                continue
            for number in range(forms.BUCKETS):
                bucket = (first + number) % forms.BUCKETS
                if here[bucket] != there[bucket]:
                    yield from slots.bucket(bucket)

    def forget(self, origin: str) -> None:
        """Only a mutation asks for this: spend is not membership."""
        self._slots = {epoch: slots.without(origin) for epoch, slots in self._slots.items()}

    def _place(self, record: Record) -> tuple[Slots | None, str]:
        """The slots for a record of an epoch that there are none of yet; made, but not kept."""
        if record.epoch < self.epoch:
            return (self._slots[self.epoch], "") if self._never_resets else (None, OLD_EPOCH)
        if len(self._slots) > HELD_EPOCHS:
            return None, HELD_EPOCHS_FULL
        return Slots(), ""

    def _full(self, slots: Slots, tenant: str, origin: str) -> str:
        """The cap that keeps this slot out, if any; slots that are there go on."""
        if not self._capped or slots.get(tenant, origin):
            return ""
        tenants, origins = slots.sizes()
        if not slots.counts(tenant) and tenants >= TENANT_CAP:
            return TENANTS_FULL
        if not slots.holds(origin) and origins >= ORIGIN_CAP:
            return ORIGINS_FULL
        return ""

    def _unproved(self, record: Record) -> str:
        if self._believes_all:
            return ""
        if not self._verifier.knows(record.origin):
            return UNKNOWN_ORIGIN
        payload = signing.payload(self._network, record)
        return "" if self._verifier.verify(record.origin, payload, record.signature) else BAD_SIGNATURE


def _implausible(record: Record) -> str:
    """A sequence counts spends, and no spend is larger than LARGEST_SPEND: what grew faster is made up."""
    sane = 0 < record.sequence <= LARGEST and 0 <= record.cents <= min(LARGEST, record.sequence * LARGEST_SPEND)
    return "" if sane else ABSURD
