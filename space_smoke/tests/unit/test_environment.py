"""A bench that changed under a run: the outcome is ENVIRONMENTAL, the exit code 5, and every report names what differs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest

from space_smoke import errors, suite
from space_smoke.engine import provenance, scene, tenure
from space_smoke.engine import run as running
from space_smoke.model import history, run, scenario, verdict
from space_smoke.report import console, gathering, html, journal, junit, summary
from space_smoke.tests.unit import histories, sample_run

DIFFERS = "restarts of pod/etcd-dev: 0 before, 1 after"
GOOD = verdict.Verdict("placed look", verdict.Judged.PASS, "all there")
BAD = verdict.Verdict("placed look", verdict.Judged.FAIL, "expected one; saw none")


class Scene:
    """As much of a scene as comparing needs."""

    cluster, namespace = None, "space"

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def emit(self, kind: str, **data: Any) -> None:
        history.KINDS[kind]
        self.told.append((kind, data))


class Leases:
    def target(self, target: scenario.Target) -> str:
        return str(target)


def compared(monkeypatch: pytest.MonkeyPatch, after: Any) -> tuple[running.Course, list[tuple[str, dict[str, Any]]]]:
    """What becomes of a course whose bench read as one restart fewer before."""

    def read(*_arguments: object) -> Any:
        if isinstance(after, Exception):
            raise after
        return after

    monkeypatch.setattr(provenance, "read", read)
    on, course = Scene(), running.Course()
    before = {"restarts of pod/etcd-dev": provenance.Fact("0")}
    running._compare(histories.one_load(), cast(scene.Scene, on), cast(tenure.Tenure, Leases()), course, before)
    return course, on.told


def test_a_difference_is_told_as_an_event_and_decides_the_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    course, told = compared(monkeypatch, {"restarts of pod/etcd-dev": provenance.Fact("1")})
    assert course.environment == [DIFFERS]
    assert [kind for kind, _ in told] == ["provenance", "environment"]
    for verdicts in ((GOOD,), (BAD,), (GOOD, BAD)):
        assert running._outcome(course, verdicts) is verdict.Outcome.ENVIRONMENTAL
    course.outcome = verdict.Outcome.UNKNOWN
    assert running._outcome(course, (GOOD,)) is verdict.Outcome.ENVIRONMENTAL


def test_a_bench_that_is_the_same_leaves_the_outcome_to_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    course, told = compared(monkeypatch, {"restarts of pod/etcd-dev": provenance.Fact("0")})
    assert [kind for kind, _ in told] == ["provenance"]
    assert running._outcome(course, (GOOD,)) is verdict.Outcome.PASS
    assert running._outcome(course, (BAD,)) is verdict.Outcome.FAIL


def test_a_bench_that_cannot_be_read_afterwards_is_unknown_and_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    course, _ = compared(monkeypatch, errors.ApiError("no answer", status=0))
    assert running._outcome(course, (GOOD,)) is verdict.Outcome.UNKNOWN
    assert course.codes == [errors.UNFIT]
    assert "what it ran on could not be read afterwards: no answer" in course.harness


def test_an_interrupted_scenario_stays_interrupted_whatever_became_of_its_bench() -> None:
    course = running.Course(harness="interrupted: Ctrl-C", outcome=verdict.Outcome.UNKNOWN, environment=[DIFFERS])
    assert running._outcome(course, ()) is verdict.Outcome.UNKNOWN


@pytest.mark.parametrize(("codes", "expected"), [((), errors.UNFIT), ((errors.INCOMPLETE,), errors.INCOMPLETE)])
def test_its_exit_code_is_that_of_an_unfit_bench_unless_something_worse_happened(
    codes: tuple[int, ...], expected: int
) -> None:
    ended = run.Result("a.b", "it holds", verdict.Outcome.ENVIRONMENTAL, (GOOD,), environment=(DIFFERS,), codes=codes)
    assert ended.exit_code == expected


def changed() -> list[history.Event]:
    """The sample run, whose bench changed under it."""
    events = []
    for event in sample_run.events():
        data = dict(event.data)
        if event.kind == "scenario-ended":
            data |= {"outcome": "ENVIRONMENTAL", "environment": [DIFFERS], "exit_code": 5}
        if event.kind == "run-ended":
            data |= {"exit_code": 5}
        events.append(history.Event(event.index, event.at_s, event.kind, data))
    return events


def test_the_console_names_the_outcome_what_differs_and_the_code() -> None:
    stream = io.StringIO()
    shown = console.Console(stream, ticking=False)
    for event in changed():
        shown(event)
    text = stream.getvalue()
    assert f"ENVIRONMENTAL {sample_run.ID}" in text
    assert f"   differs  {DIFFERS}" in text
    assert "1 difference of the bench" in text
    assert "exit 5: the bench or host was not fit to judge" in text


def test_the_gate_and_its_progress_are_shown_and_bring_ups_own_progress_is_not() -> None:
    stream = io.StringIO()
    shown = console.Console(stream, ticking=False)
    story = histories.Story()
    for event in (
        story.add("progress", saying="not quiet yet: ReplicaSet space-api-7c4 is young"),
        story.add("progress", saying="compiling"),
        story.add("gate", quiet=True, saying="quiet: 3 nodes Ready", seconds=1.5),
        story.add("environment", scenario="a.b", differs=[DIFFERS]),
    ):
        shown(event)
    text = stream.getvalue()
    assert "not quiet yet: ReplicaSet space-api-7c4 is young" in text
    assert "compiling" not in text
    assert "bench quiet: 3 nodes Ready" in text
    assert f"the bench changed: {DIFFERS}" in text


def test_junit_has_an_error_of_its_own_for_it() -> None:
    root = ElementTree.fromstring(junit.render(gathering.run_of(changed())))
    (case,) = [one for one in root.iter("testcase") if one.get("name") == "environment"]
    (error,) = case.iter("error")
    assert error.get("type") == "ENVIRONMENTAL"
    assert error.get("message") == DIFFERS
    assert root.get("errors") == "1"


def test_json_lists_what_differs_beside_the_verdicts() -> None:
    (the,) = json.loads(summary.render(gathering.run_of(changed())))["scenarios"]
    assert (the["outcome"], the["environment"], the["exit_code"]) == ("ENVIRONMENTAL", [DIFFERS], 5)
    assert the["results"]["hypothesis"] == "pass"
    assert json.loads(summary.render(gathering.run_of(sample_run.events())))["scenarios"][0]["environment"] == []


def test_the_page_says_that_the_run_proves_nothing_and_why() -> None:
    page = html.render(gathering.run_of(changed()))
    assert "The bench changed under the run, so this run proves nothing:" in page
    assert DIFFERS in page
    assert "proves nothing" not in html.render(gathering.run_of(sample_run.events()))


def test_the_journal_keeps_what_differs(tmp_path: Path) -> None:
    path = tmp_path / journal.NAME
    writer = journal.Writer(path)
    for event in changed():
        writer(event)
    writer.close()
    ended = next(event for event in journal.read(path) if event.kind == "scenario-ended")
    assert ended.data["environment"] == [DIFFERS]
    assert [event.data.get("outcome") for event in suite.rejudged(path) if event.kind == "scenario-ended"] == [
        "ENVIRONMENTAL"
    ]
