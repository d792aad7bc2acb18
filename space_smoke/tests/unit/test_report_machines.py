"""junit.xml and report.json: what machines are told."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from space_smoke import errors
from space_smoke.model import history, verdict
from space_smoke.report import files, gathering, junit, summary, text, write_all
from space_smoke.tests.unit import histories, sample_run


def suites(told: list[history.Event]) -> ET.Element:
    return ET.fromstring(junit.render(gathering.run_of(told)).encode())


def red(root: ET.Element) -> int:
    return int(root.get("failures", "")) + int(root.get("errors", ""))


def ended(outcome: str, code: int, *verdicts: tuple[str, str], **results: str) -> list[history.Event]:
    story = histories.Story()
    story.add("run-started", command="space_smoke run local.a", run="r1")
    story.add("scenario-started", scenario="local.a", claim="it holds")
    for check, judged in verdicts:
        story.add("verdict", check=check, judged=judged, sentence=f"{check} said so", proof=[1])
    told = {"injection": "ok", "restore": "ok", "harness": "ok", **results}
    story.add("scenario-ended", scenario="local.a", outcome=outcome, exit_code=code, seconds=1.0, **told)
    story.add("run-ended", exit_code=code)
    return story.events


def test_each_check_and_each_other_result_is_a_case() -> None:
    root = suites(sample_run.events(broken=True))
    suite = root[0]
    assert suite.get("name") == sample_run.ID
    names = [case.get("name") for case in suite]
    assert names[:2] == ["token-bucket drain", "concurrency-cap hold"]
    assert names[-3:] == ["injection", "restore", "harness"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "expected at most" in (failure.get("message") or "")
    assert (root.get("failures"), root.get("errors"), root.get("tests")) == ("1", "0", "10")


def test_unknown_is_an_error_and_never_green() -> None:
    root = suites(ended("UNKNOWN", 1, ("has-store", "unknown")))
    assert root.find("testsuite/testcase/error[@type='unknown']") is not None


def test_a_failing_restore_is_red_beside_a_good_verdict() -> None:
    root = suites(ended("PASS", 3, ("has-store", "pass"), restore="no-store: stuck"))
    error = root.find("testsuite/testcase[@name='restore']/error")
    assert error is not None
    assert error.get("message") == "no-store: stuck"


def test_a_check_judged_anew_and_failing_is_red_whatever_the_run_said() -> None:
    told = ended("PASS", 0, ("has-store", "fail"))
    assert red(suites(told)) == 1
    assert not gathering.run_of(told).scenarios[0].passed


def test_a_blocked_scenario_is_an_error_and_not_skipped() -> None:
    root = suites(ended("BLOCKED", 5, harness="this bench has one node"))
    assert root.get("skipped") == "0"
    assert red(root) == 1


def test_a_scenario_that_was_not_selected_is_skipped() -> None:
    root = suites(ended("SKIPPED", 0, harness="not selected"))
    assert (root.get("skipped"), red(root)) == ("1", 0)


def test_a_scenario_that_was_selected_and_skipped_is_an_error() -> None:
    assert red(suites(ended("SKIPPED", 1, harness="the run ended before it"))) == 1


def test_a_killed_run_is_red_and_says_where_it_was() -> None:
    root = suites(sample_run.events()[:120])
    error = root.find(f"testsuite[@name='{sample_run.ID}']/testcase[@name='outcome']/error")
    assert error is not None
    assert "in phase: store-lost" in (error.get("message") or "")
    assert root.find("testsuite[@name='run']/testcase/error[@type='killed']") is not None


def test_a_run_that_was_refused_before_any_scenario_is_red() -> None:
    story = histories.Story()
    story.add("note", sentence="refused: held by r0")
    story.add("run-ended", exit_code=2)
    error = suites(story.events).find("testsuite/testcase/error")
    assert error is not None
    assert error.get("message") == "exit 2: refused: held by r0"


def test_text_that_xml_does_not_allow_is_replaced() -> None:
    root = suites(ended("FAIL", 1, ("a\x00<b>&\ud800\x1b", "fail")))
    assert root[0][0].get("name") == "a?<b>&??"


results = st.sampled_from(["ok", "it went wrong"])
codes = st.sampled_from([errors.PASSED, errors.FAILED, errors.INCOMPLETE, errors.UNFIT, errors.BROKE])


@given(
    st.sampled_from(verdict.Outcome), codes, st.lists(st.sampled_from(["pass", "fail", "unknown"])), results, results
)
def test_junit_is_never_green_when_the_exit_code_is_not(
    outcome: str, code: int, judged: list[str], restore: str, harness: str
) -> None:
    told = ended(outcome, code, *((f"c{n}", one) for n, one in enumerate(judged)), restore=restore, harness=harness)
    root = suites(told)
    assert int(root.get("tests", "")) > 0
    if code:
        assert red(root)


def test_the_summary_keeps_the_four_results_apart() -> None:
    told = ended("PASS", 3, ("has-store", "pass"), restore="no-store: stuck")
    the = summary.build(gathering.run_of(told))["scenarios"][0]
    assert the["results"] == {"hypothesis": "pass", "injection": "ok", "restore": "no-store: stuck", "harness": "ok"}


def test_the_summary_holds_phases_faults_loads_and_open_faults() -> None:
    built = json.loads(summary.render(gathering.run_of(sample_run.events())))
    assert (built["report"], built["exit_code"], built["killed"]) == (1, 0, False)
    assert built["open_faults"] == {"count": 0, "names": []}
    assert built["repaired"][0]["fault"] == "no-store"
    the = built["scenarios"][0]
    assert [phase["name"] for phase in the["phases"]] == ["enforced", "store-lost", "recovered"]
    assert all(phase["to_s"] >= phase["from_s"] for phase in the["phases"])
    no_store = next(fault for fault in the["faults"] if fault["name"] == "no-store")
    assert no_store["planned_s"] < no_store["up_s"] < no_store["restored_s"]
    loads = {load["name"]: load for load in the["loads"]}
    assert loads["hold"]["statuses"] == {"200": 3, "429": 9}
    assert loads["open"]["decisions"] == {"concurrency accepted (store_unavailable)": 80}
    assert 0 < loads["open"]["p50_s"] < loads["open"]["p99_s"] <= loads["open"]["max_s"]


def test_a_killed_run_has_no_end_in_the_summary() -> None:
    built = summary.build(gathering.run_of(sample_run.events()[:120]))
    assert (built["killed"], built["exit_code"], built["open_faults"]["count"]) == (True, None, None)
    assert built["scenarios"][0]["outcome"] == "UNFINISHED"
    assert built["scenarios"][0]["results"]["hypothesis"] is None


def test_all_reports_are_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    written = write_all(tmp_path, sample_run.events())
    assert sorted(path.name for path in written) == ["junit.xml", "report.html", "report.json"]
    assert sorted(tmp_path.iterdir()) == sorted(written)


kinds = st.sampled_from(sorted(history.KINDS))
keys = st.sampled_from(sorted({key for event in sample_run.events(broken=True) for key in event.data}))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 600) | st.floats(-9, 99) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(kinds, st.dictionaries(keys, values, max_size=6)), max_size=15))
def test_no_history_makes_a_report_fail(drawn: list[tuple[str, dict[str, Any]]]) -> None:
    told = [history.Event(n, float(n), kind, data) for n, (kind, data) in enumerate(drawn)]
    run = gathering.run_of(told)
    for render in files.RENDERERS.values():
        render(run)
    with Path("/dev/null").open("w", encoding="ascii") as nowhere:
        text.write(nowhere, told)
