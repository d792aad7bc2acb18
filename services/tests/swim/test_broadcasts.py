"""What waits to be told: how often, in what order, and never more than fits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swim.broadcasts import MEMBERSHIP, PROVIDERS, SPEND, Queue, TooLarge


def queue(room: int = 100, population: int = 3, multiplier: int = 2) -> Queue:
    return Queue(room, lambda: population, multiplier)


def test_an_item_is_told_a_bounded_number_of_times() -> None:
    waiting = queue(population=20, multiplier=3)  # 3 * ceil(log10(21)) = 6
    waiting.add(SPEND, "a", b"a")
    assert [waiting.take(100) for _ in range(7)] == [[b"a"]] * 6 + [[]]
    assert len(waiting) == 0


def test_a_newer_item_takes_the_place_of_an_older_one_and_starts_anew() -> None:
    waiting = queue()
    waiting.add(SPEND, "a", b"old")
    waiting.take(100)
    waiting.add(SPEND, "a", b"new")
    assert [waiting.take(100) for _ in range(3)] == [[b"new"], [b"new"], []]


def test_membership_goes_first_and_then_what_was_told_least() -> None:
    waiting = queue(multiplier=3)
    waiting.add(SPEND, "told", b"told")
    waiting.take(100)
    waiting.add(PROVIDERS, "p", b"p")
    waiting.add(SPEND, "s", b"s")
    waiting.add(MEMBERSHIP, "m", b"m")
    assert waiting.take(100) == [b"m", b"s", b"told", b"p"]


def test_an_item_that_fits_no_packet_is_an_error_when_it_is_added() -> None:
    waiting = queue(room=10)
    waiting.add(SPEND, "a", b"kept")
    with pytest.raises(TooLarge, match="11 bytes can never fit into 10"):
        waiting.add(SPEND, "a", bytes(11))
    assert waiting.take(10) == [b"kept"]


def test_a_large_item_has_its_turn_among_small_ones() -> None:
    waiting = queue(room=100, multiplier=4)
    waiting.add(SPEND, "large", bytes(100))
    for number in range(30):
        waiting.add(SPEND, number, bytes(60))
    taken = [item for _ in range(4 * 31) for item in waiting.take(100)]
    assert [taken[turn : turn + 31].count(bytes(100)) for turn in range(0, 4 * 31, 31)] == [1, 1, 1, 1]


@settings(max_examples=30, deadline=None, database=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 100)), max_size=60), st.integers(0, 100)
)
def test_what_is_taken_always_fits_and_everything_is_told_at_last(items: list[tuple[int, int, int]], room: int) -> None:
    waiting = queue(room=100)
    for rank, key, size in items:
        waiting.add(rank, key, bytes(size))
    assert sum(map(len, waiting.take(room))) <= room
    expected = sum(2 for _ in {key for _, key, _ in items})
    for _ in range(expected + 1):
        assert sum(map(len, waiting.take(100))) <= 100
    assert len(waiting) == 0
