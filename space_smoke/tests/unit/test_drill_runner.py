"""The warm parent forks real processes: own pid, group and end, told as they happen, and none of them left behind."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from space_smoke import errors
from space_smoke.bench import life as examining
from space_smoke.bench import runner
from space_smoke.model import life

MODULE = "space_smoke.tests.unit.drill_module"


@pytest.fixture(scope="module")
def warm() -> Iterator[runner.Warm]:
    parent = runner.Warm(MODULE, ["warmed"])
    yield parent
    parent.close()


def test_a_runner_tells_its_events_and_its_exit_code(warm: runner.Warm) -> None:
    ended = warm.start(["say", "7"], env={"COLOUR": "red"}).finish(20)
    assert ended.code == 7
    assert ended.events[0]["warmed"] == "warmed"
    assert ended.events[0]["colour"] == "red"
    assert "to stderr" in ended.stderr


def test_each_runner_is_a_process_with_a_group_of_its_own(warm: runner.Warm) -> None:
    first, second = warm.start(["say", "0"]), warm.start(["say", "0"])
    told = [next(first.events()), next(second.events())]
    assert [one["pid"] for one in told] == [first.pid, second.pid]
    assert [one["group"] for one in told] == [first.pid, second.pid]
    assert len({first.pid, second.pid, os.getpid()}) == 3
    assert first.finish(20).code == second.finish(20).code == 0


def test_a_killed_runner_is_told_as_killed(warm: runner.Warm) -> None:
    child = warm.start(["wait"])
    next(child.events())
    child.send(signal.SIGKILL)
    assert child.finish(20).code == -signal.SIGKILL


def test_a_stop_is_seen_and_a_stopped_runner_goes_on(warm: runner.Warm) -> None:
    child = warm.start(["stop"])
    assert child.stopped(20)
    child.send(signal.SIGCONT)
    ended = child.finish(20)
    assert ended.code == 0
    assert ended.events[-1]["event"] == "resumed"


def test_a_runner_that_ends_before_it_stops_is_not_taken_for_stopped(warm: runner.Warm) -> None:
    child = warm.start(["say", "0"])
    assert not child.stopped(20)
    child.finish(20)


def test_a_runner_that_does_not_end_in_time_is_killed_and_said_so(warm: runner.Warm) -> None:
    child = warm.start(["wait"])
    next(child.events())
    with pytest.raises(errors.BenchError, match="did not end"):
        child.finish(0.01)
    assert child.code == -signal.SIGKILL


def test_the_lock_of_a_killed_runner_is_free_and_of_a_live_one_held(
    warm: runner.Warm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path))
    child = warm.start(["lock"], env={"SPACE_SMOKE_CACHE": str(tmp_path)})
    holder = next(child.events())["identity"]
    assert life.judge(examining.examine(holder)).life == "alive"
    child.send(signal.SIGKILL)
    child.finish(20)
    assert life.judge(examining.examine(holder)).life == "dead"


def test_runners_die_with_their_parent() -> None:
    parent = runner.Warm(MODULE, ["warmed"])
    child = parent.start(["wait"])
    next(child.events())
    watched = os.pidfd_open(child.pid)
    parent.close()
    try:
        assert select.select([watched], (), (), 20)[0], "it lives on"
    finally:
        os.close(watched)
    with pytest.raises(errors.BenchError, match="did not end"):
        child.finish(20)


def test_a_runner_that_raises_ends_with_70_and_its_traceback(warm: runner.Warm) -> None:
    ended = warm.start(["raise"]).finish(20)
    assert ended.code == errors.BROKE
    assert "ZeroDivisionError" in ended.stderr
