"""The main job: the limiter scenario on a real bench, and what `plan` says of it beforehand."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from space_smoke.bench import kube
from space_smoke.tests.kind import conftest


def test_the_limiter_scenario_passes_and_leaves_nothing_behind(start: conftest.Start) -> None:
    started = start("run", conftest.LIMITER)
    ended = started.end()
    assert ended.code == 0, ended.shown
    assert ended.out.rstrip().endswith("0 open faults") or "0 open faults" in ended.out.splitlines()[-1], ended.shown
    folder = next(started.runs.iterdir())
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert [case.get("name") for case in suite.iter("testcase")], "the JUnit report names no case"
    assert not list(suite.iter("failure"))
    assert json.loads((folder / "report.json").read_text())
    assert "<svg" in (folder / "report.html").read_text()
    took_s = next(e["data"]["seconds"] for e in conftest.events(started.runs) if e["kind"] == "scenario-ended")
    print(f"the limiter scenario took {took_s} s")  # noqa: T201


def test_plan_says_beforehand_what_run_then_does(start: conftest.Start, command: conftest.Command) -> None:
    plan = json.loads(command("plan", conftest.LIMITER, "--json").out)["plans"][0]
    promised = [(act["do"], act["fault"]) for act in plan["acts"] if act["do"] in ("raise", "lower")]
    started = start("run", conftest.LIMITER)
    ended = started.end()
    assert ended.code == 0, ended.shown
    words = {"fault-up": "raise", "fault-restored": "lower"}
    done = [(words[e["kind"]], e["data"]["fault"]) for e in conftest.events(started.runs) if e["kind"] in words]
    assert done == promised


def test_the_pods_run_with_the_charts_settings(cluster: kube.Kube) -> None:
    env = {entry["name"]: entry.get("value") for entry in conftest.env_of(cluster)}
    assert env["SPACE_REDIS_URL"] == "redis://space-redis:6379"
    assert env["SPACE_API_CLIENT_CONCURRENCY_MODE"] == "observe"
