"""Loads that go on beside later phases: they end with the phase they name, and what they raise is not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from space_smoke.engine import beside
from space_smoke.model import scenario
from space_smoke.tests.unit import histories


def load(through: str = "second", name: str = "writes") -> scenario.Load:
    return scenario.Load(name, "ecw-churn", {"through": through} if through else {}, place="a.yaml:7:9")


def until(stop: threading.Event, done: list[str], name: str = "writes") -> Callable[[], None]:
    def drive() -> None:
        assert stop.wait(10), "nobody stopped it"
        done.append(name)

    return drive


def test_a_load_goes_on_until_the_phase_that_it_names_ends() -> None:
    going, stop, done = beside.Beside(), threading.Event(), list[str]()
    going.start(load(), until(stop, done), stop)
    going.end("first")
    assert done == []
    assert not stop.is_set()
    going.end("second")
    assert done == ["writes"]
    going.end("second")  # once is enough


def test_all_that_still_go_on_can_be_told_to_stop_without_waiting_and_then_be_waited_for() -> None:
    going, done = beside.Beside(), list[str]()
    stops = [threading.Event(), threading.Event()]
    for number, stop in enumerate(stops):
        going.start(load(name=str(number)), until(stop, done, str(number)), stop)
    going.stop_all()
    assert all(stop.is_set() for stop in stops)
    going.end_all()
    assert sorted(done) == ["0", "1"]


def test_what_a_load_raised_is_raised_where_it_ends_after_all_others_ended() -> None:
    going, stop, done = beside.Beside(), threading.Event(), list[str]()

    def broken() -> None:
        raise ValueError("no such thing")

    going.start(load(), broken, threading.Event())
    going.start(load(), until(stop, done), stop)
    with pytest.raises(ValueError, match="no such thing"):
        going.end("second")
    assert done == ["writes"]
    going.end_all()


@pytest.mark.parametrize(
    ("through", "wrong"), [("first", True), ("nowhere", True), ("second", False), ("third", False), ("", False)]
)
def test_the_phase_must_be_the_loads_own_or_a_later_one(through: str, wrong: bool) -> None:
    phases = [scenario.Phase("first"), scenario.Phase("second", (load(through),)), scenario.Phase("third")]
    mistakes = list(beside.misplaced(histories.of_phases(*phases)))
    assert bool(mistakes) == wrong
    if wrong:
        assert str(mistakes[0]) == (
            f"a.yaml:7:9: load writes: through is {through!r}, and must be the load's own phase or a later one: second, third"
        )
