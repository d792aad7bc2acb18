"""A list of steps: order, overlap, marks half way, and what one failure does to the rest."""

from __future__ import annotations

import pathlib
import threading
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.bench import proc, wait
from space_smoke.engine import bringup, steps


def recorded() -> tuple[list[tuple[str, str, Any]], Any]:
    events: list[tuple[str, str, Any]] = []

    def emit(kind: str, **data: Any) -> None:
        events.append((kind, data["step"], data.get("ok")))

    return events, emit


def named(name: str, order: list[str], *after: str) -> steps.Step[None]:
    def act(_: None) -> str:
        order.append(name)
        return ""

    return steps.Step(name, name, act, after)


def test_a_step_begins_when_those_before_it_are_done() -> None:
    order: list[str] = []
    marks = steps.Marks()
    events, emit = recorded()
    steps.run([named("c", order, "a", "b"), named("b", order, "a"), named("a", order)], None, marks, emit)
    assert order == ["a", "b", "c"]
    assert set(marks.seconds) == {"a", "b", "c"}
    assert [event for event in events if event[0] == "step-ended"] == [("step-ended", n, True) for n in "abc"]


def test_steps_that_do_not_need_each_other_overlap() -> None:
    meeting = threading.Barrier(2, timeout=10)

    def meet(_: None) -> str:
        meeting.wait()
        return ""

    steps.run([steps.Step("a", "", meet), steps.Step("b", "", meet)], None, steps.Marks(), lambda *_a, **_k: None)


def test_a_mark_lets_others_begin_before_its_step_ends() -> None:
    begun = threading.Event()
    marks = steps.Marks()

    def first(_: None) -> str:
        marks.reach("half")
        assert begun.wait(10)
        return ""

    def second(_: None) -> str:
        begun.set()
        return ""

    steps.run(
        [steps.Step("first", "", first), steps.Step("second", "", second, ("half",))],
        None,
        marks,
        lambda *_a, **_k: None,
    )


def test_a_failure_is_raised_as_it_was_and_later_steps_never_begin() -> None:
    order: list[str] = []
    failure = errors.HostUnfit("no disk")

    def fail(_: None) -> str:
        raise failure

    events, emit = recorded()
    with pytest.raises(errors.HostUnfit) as raised:
        steps.run([steps.Step("a", "", fail), named("b", order, "a")], None, steps.Marks(), emit)
    assert raised.value is failure
    assert order == []
    assert events[-1] == ("step-ended", "a", False)


def test_a_failure_ends_the_children_of_other_steps_and_stays_the_one_told() -> None:
    begun = threading.Event()

    def long(_: None) -> str:
        proc.run(["sh", "-c", "echo begun; sleep 300"], timeout_s=600, on_line=lambda _line: begun.set())
        return ""

    def fail(_: None) -> str:
        assert begun.wait(10)
        raise errors.BenchError("the first failure")

    with pytest.raises(errors.BenchError, match="the first failure"):
        steps.run(
            [steps.Step("long", "", long), steps.Step("fail", "", fail)], None, steps.Marks(), lambda *_a, **_k: None
        )


@pytest.mark.timeout(30)  # the wait below would go on for 100 s
def test_a_failure_ends_the_waits_of_other_steps(tmp_path: pathlib.Path) -> None:
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "c"}}
    user = {"name": "c", "user": {}}
    file = tmp_path / "kubeconfig"
    file.write_text(
        yaml.safe_dump({"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "c"})
    )
    marks = steps.Marks()
    access = bringup.UntilFailure(file, marks)

    def waiting(_: None) -> str:
        def look() -> wait.State:
            access.send("GET", "/")
            return wait.State(False, "never")

        wait.until(access, "what never comes", look, watching=(), timeout_s=100)
        return ""

    def fail(_: None) -> str:
        raise errors.BenchError("the first failure")

    with pytest.raises(errors.BenchError, match="the first failure"):
        steps.run(
            [steps.Step("waiting", "", waiting), steps.Step("fail", "", fail)], None, marks, lambda *_a, **_k: None
        )
