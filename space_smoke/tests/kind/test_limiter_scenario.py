"""The main job: the limiter scenario on a real bench, and what `plan` says of it beforehand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from space_smoke.bench import kube
from space_smoke.tests.kind import conftest

pytestmark = pytest.mark.alone


@dataclass(frozen=True, slots=True)
class Ran:
    """One whole run, and what `plan` had said of it."""

    ended: conftest.Ended
    runs: Path
    plan: dict[str, Any]


@pytest.fixture(scope="module")
def ran(cluster: kube.Kube, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    place = tmp_path_factory.mktemp("limiter")
    told = conftest.started(place / "none", "plan", conftest.LIMITER, "--json").end()
    running = conftest.started(place / "runs", "run", conftest.LIMITER)
    return Ran(running.end(), running.runs, json.loads(told.out)["plans"][0])


def test_the_limiter_scenario_passes_and_leaves_nothing_behind(ran: Ran) -> None:
    assert ran.ended.code == 0, ran.ended.shown
    assert "0 open faults" in ran.ended.out.splitlines()[-1], ran.ended.shown
    took_s = next(e["data"]["seconds"] for e in conftest.events(ran.runs) if e["kind"] == "scenario-ended")
    print(f"the limiter scenario took {took_s} s")  # noqa: T201


def test_its_reports_are_there_for_machines_and_for_people(ran: Ran) -> None:
    folder = next(ran.runs.iterdir())
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert [case.get("name") for case in suite.iter("testcase")], "the JUnit report names no case"
    assert not list(suite.iter("failure"))
    assert json.loads((folder / "report.json").read_text())
    assert "<svg" in (folder / "report.html").read_text()


def test_plan_says_beforehand_what_run_then_does(ran: Ran) -> None:
    promised = [(act["do"], act["fault"]) for act in ran.plan["acts"] if act["do"] in ("raise", "lower")]
    words = {"fault-up": "raise", "fault-restored": "lower"}
    done = [(words[e["kind"]], e["data"]["fault"]) for e in conftest.events(ran.runs) if e["kind"] in words]
    assert done == promised


def test_the_pods_run_with_the_charts_settings(cluster: kube.Kube) -> None:
    env = {entry["name"]: entry.get("value") for entry in conftest.env_of(cluster)}
    assert env["SPACE_REDIS_URL"] == "redis://space-redis:6379"
    assert env["SPACE_API_CLIENT_CONCURRENCY_MODE"] == "observe"
