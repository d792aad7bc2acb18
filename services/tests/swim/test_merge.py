"""Merging records: the laws of a grow-only counter, and what is refused."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swim import ledger, signing
from swim.fields import LARGEST
from swim.messages import Record
from swim.simulator.keyed import KeyedOrigin, KeyedOrigins

ORIGINS, TENANTS = ("s1", "s2", "s3"), ("a", "b")


def book(*records: Record, epoch: int = 1) -> ledger.Ledger:
    made = ledger.Ledger("net", epoch, KeyedOrigins("s"))
    for record in records:
        made.merge(record)
    return made


def signed(tenant: str, epoch: int, origin: str, cents: int, sequence: int, network: str = "net") -> Record:
    return signing.signed(network, Record(tenant, epoch, origin, cents, sequence), KeyedOrigin(origin))


def state(held: ledger.Ledger) -> object:
    return held.totals(), held.digests(), sorted(held.records())


COUNTS = st.integers(0, 2**53 - 1)
SOUND = st.builds(
    signed, st.sampled_from(TENANTS), st.integers(0, 3), st.sampled_from(ORIGINS), COUNTS, st.integers(1, 2**53 - 1)
)
UNSOUND = st.builds(Record, st.sampled_from(TENANTS), st.integers(0, 3), st.sampled_from(ORIGINS), COUNTS, COUNTS)
RECORDS = st.lists(st.one_of(SOUND, UNSOUND), max_size=12)
quick = settings(max_examples=30, deadline=None, database=None)


@quick
@given(RECORDS, st.randoms(use_true_random=False))
def test_merging_is_commutative_and_associative(records: list[Record], chance: random.Random) -> None:
    shuffled = list(records)
    chance.shuffle(shuffled)
    assert state(book(*records)) == state(book(*shuffled))


@quick
@given(RECORDS)
def test_merging_is_idempotent(records: list[Record]) -> None:
    assert state(book(*records, *records)) == state(book(*records))


@quick
@given(RECORDS)
def test_no_merge_lowers_a_total_and_none_lifts_it_above_the_ceiling(records: list[Record]) -> None:
    held = book()
    for record in records:
        before = {tenant: held.total(tenant) for tenant in TENANTS}
        held.merge(record)
        for tenant in TENANTS:
            assert before[tenant] <= held.total(tenant) <= LARGEST


@quick
@given(RECORDS, RECORDS)
def test_what_differs_by_digest_is_all_that_two_sites_need_to_agree(one: list[Record], other: list[Record]) -> None:
    here, there = book(*one), book(*other)
    for record in list(here.differing(there.epoch, there.digests(), 0)):
        there.merge(record)
    for record in list(there.differing(here.epoch, here.digests(), 7)):
        here.merge(record)
    assert state(here) == state(there) == state(book(*one, *other))
    assert not list(here.differing(there.epoch, there.digests(), 3))


@quick
@given(st.lists(st.tuples(st.sampled_from(ORIGINS), st.sampled_from(TENANTS), st.integers(0, 10**6)), max_size=20))
def test_the_sum_of_what_was_acknowledged_is_the_total(spends: list[tuple[str, str, int]]) -> None:
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    records = []
    for origin, tenant, cents in spends:
        total, sequence = counts.get((origin, tenant), (0, 0))
        counts[origin, tenant] = total + cents, sequence + 1
        records.append(signed(tenant, 1, origin, *counts[origin, tenant]))
    held = book(*reversed(records))
    for tenant in TENANTS:
        assert held.total(tenant) == sum(cents for _, of, cents in spends if of == tenant)


def test_digests_follow_every_merge_and_say_nothing_of_the_way() -> None:
    held = book()
    seen = [held.digests()]
    for cents in (1, 2, 3):
        held.merge(signed("t", 1, "s1", cents, cents))
        seen.append(held.digests())
    assert len(set(seen)) == 4
    assert held.digests() == book(signed("t", 1, "s1", 3, 3)).digests()


def test_sums_are_saturated() -> None:
    held = book(*(signed("t", 1, origin, LARGEST, LARGEST) for origin in ORIGINS))
    assert held.total("t") == LARGEST
    assert held.totals() == {"t": LARGEST}


@pytest.mark.parametrize(
    ("record", "outcome"),
    [
        (signed("t", 0, "s1", 1, 1), ledger.OLD_EPOCH),
        (signed("t", 1, "s1", 1, 0), ledger.ABSURD),
        (signed("t", 1, "s1", ledger.LARGEST_SPEND + 1, 1), ledger.ABSURD),
        (signed("t", 1, "s1", 2**60, 2**60), ledger.ABSURD),
        (signed("t", 1, "x1", 1, 1), ledger.UNKNOWN_ORIGIN),
        (signed("t", 1, "s1", 1, 1)._replace(origin="s2"), ledger.BAD_SIGNATURE),
        (signed("t", 1, "s1", 1, 1)._replace(tenant="u"), ledger.BAD_SIGNATURE),
        (signed("t", 2, "s1", 1, 1)._replace(epoch=1), ledger.BAD_SIGNATURE),
        (signed("t", 1, "s1", 1, 1)._replace(cents=2), ledger.BAD_SIGNATURE),
        (signed("t", 1, "s1", 1, 1)._replace(sequence=2), ledger.BAD_SIGNATURE),
        (signed("t", 1, "s1", 1, 1, network="ten"), ledger.BAD_SIGNATURE),
        (Record("t", 1, "s1", 1, 1, bytes(64)), ledger.BAD_SIGNATURE),
    ],
)
def test_a_record_is_refused_for_a_reason_and_changes_nothing(record: Record, outcome: str) -> None:
    held = book()
    assert held.merge(record) == outcome
    assert outcome in ledger.REFUSALS
    assert state(held) == state(book())


def test_a_coming_epoch_is_held_and_counts_when_it_begins() -> None:
    held = book(signed("t", 1, "s1", 5, 1), signed("t", 2, "s1", 7, 1))
    assert held.total("t") == 5
    held.advance(2)
    assert held.total("t") == 7
    assert held.merge(signed("t", 1, "s1", 6, 2)) == ledger.OLD_EPOCH
    with pytest.raises(ValueError, match="epoch 1 must be 2"):
        held.advance(1)


def test_only_a_few_coming_epochs_are_held() -> None:
    outcomes = [
        book_of_many.merge(signed("t", epoch, "s1", 1, 1)) for book_of_many in [book()] for epoch in range(1, 9)
    ]
    assert outcomes == [ledger.MERGED] * (1 + ledger.HELD_EPOCHS) + [ledger.HELD_EPOCHS_FULL] * 3


def test_a_refused_record_of_a_coming_epoch_holds_no_place() -> None:
    held = book()
    for epoch in itertools.islice(itertools.count(2), 20):
        assert held.merge(Record("t", epoch, "s1", 1, 1, bytes(64))) == ledger.BAD_SIGNATURE
    assert len(held.digests()) == 1
