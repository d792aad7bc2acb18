"""The records of one epoch: one slot for each (tenant, origin), with totals and digests kept up to date."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections import Counter
from collections.abc import Iterator

from swim.fields import LARGEST
from swim.forms import BUCKETS
from swim.messages import Record

_COUNTS = struct.Struct("!QQ")


class Slots:
    """Bounded by who puts records in; keys are few enough to walk over."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], Record] = {}
        self._buckets: list[dict[tuple[str, str], Record]] = [{} for _ in range(BUCKETS)]
        self._digests = [0] * BUCKETS
        self._told: tuple[int, ...] | None = None  # the digests, as long as they stay the same
        self._totals: dict[str, int] = {}
        self._origins: Counter[str] = Counter()

    def get(self, tenant: str, origin: str) -> Record | None:
        return self._records.get((tenant, origin))

    def put(self, record: Record) -> None:
        """Put the record in its slot, in place of any other there."""
        key = (record.tenant, record.origin)
        bucket = _bucket(*key)
        before = self._records.get(key)
        if before:
            self._digests[bucket] ^= _digest(before)
        else:
            self._origins[record.origin] += 1
        self._records[key] = self._buckets[bucket][key] = record
        self._digests[bucket] ^= _digest(record)
        self._told = None
        more = record.cents - (before.cents if before else 0)
        self._totals[record.tenant] = self._totals.get(record.tenant, 0) + more

    def total(self, tenant: str) -> int:
        """Cents of all origins together, saturated at 2^53 - 1."""
        return min(self._totals.get(tenant, 0), LARGEST)

    @property
    def tenants(self) -> dict[str, int]:
        """tenant -> total in cents, of every tenant with a slot."""
        return {tenant: min(cents, LARGEST) for tenant, cents in self._totals.items()}

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(self._origins)

    def counts(self, tenant: str) -> bool:
        return tenant in self._totals

    def holds(self, origin: str) -> bool:
        return origin in self._origins

    def sizes(self) -> tuple[int, int]:
        """How many tenants and how many origins have slots."""
        return len(self._totals), len(self._origins)

    @property
    def digests(self) -> tuple[int, ...]:
        """A 64-bit digest for each bucket of slots; equal when the bucket holds the same counts."""
        if self._told is None:
            self._told = tuple(self._digests)
        return self._told

    def bucket(self, number: int) -> Iterator[Record]:
        return iter(self._buckets[number].values())

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())

    def without(self, origin: str) -> Slots:
        """A copy that the origin has no slot in."""
        kept = Slots()
        for record in self:
            if record.origin != origin:
                kept.put(record)
        return kept


def _bucket(tenant: str, origin: str) -> int:
    return zlib.crc32(f"{tenant}\0{origin}".encode()) % BUCKETS


def _digest(record: Record) -> int:
    told = f"{record.tenant}\0{record.origin}\0".encode() + _COUNTS.pack(record.cents, record.sequence)
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "big")
