"""The check `decisions-add-up`."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.model import scenario, verdict
from space_smoke.tests.unit import histories

LOST = "store_unavailable"
STORE = scenario.Target("deployment", "space-redis")
WITHOUT = histories.decision("accepted", LOST, client="smoke-a")


def story_of(up: list[dict[str, Any]], lost: list[dict[str, Any]]) -> histories.Story:
    story = histories.Story()
    story.load("drain", up, phase="up")
    story.load("open", lost, phase="lost", kind="ecw-connect")
    return story


def judge(
    up: list[dict[str, Any]], lost: list[dict[str, Any]] | None = None, fault: str = "scale", **more: Any
) -> verdict.Verdict:
    the = histories.of_phases(
        scenario.Phase("up", (scenario.Load("drain", "ecw-create", {}),)),
        scenario.Phase("lost", (scenario.Load("open", "ecw-connect", {}),)),
        faults=[scenario.Fault("no-store", fault, STORE, {"replicas": 0}, ("lost",))],
    )
    without = [histories.held(5.0, 0.1, concurrency=WITHOUT)] if lost is None else lost
    return histories.judged("decisions-add-up", story_of(up, without), the, **more)


def test_one_decision_per_limiter_passes() -> None:
    first_refused = histories.turned_away(1.1, do="create")
    found = judge([histories.drawn(1.0, True), histories.drawn(1.05, False), first_refused])
    assert found.judged == verdict.Judged.PASS, found.sentence
    assert found.sentence == "4 limited requests carried 6 decisions, as they should"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"concurrency": None}, "create without a concurrency decision"),
        ({"activation": None}, "create without an activation decision"),
        ({"activation": histories.decision("admitted", "misconfigured")}, "activation misconfigured"),
        ({"activation": histories.decision("admitted", LOST)}, "activation store_unavailable while the store is up"),
        ({"concurrency": histories.decision("refused")}, "refused by concurrency, and yet activation admitted"),
    ],
)
def test_a_decision_that_does_not_add_up_fails(change: dict[str, Any], words: str) -> None:
    found = judge([histories.drawn(1.0, True), histories.drawn(1.1, True, **change)])
    assert found.judged == verdict.Judged.FAIL
    assert f"1 of 3 wrong: {words}" in found.sentence
    assert len(found.proof) == 1


def test_a_create_that_a_load_makes_for_itself_counts_too() -> None:
    story = story_of([histories.drawn(1.0, True)], [histories.held(5.0, 0.1)])
    story.add("request", **{**histories.drawn(6.0, True, activation=None), "load": "open.setup", "n": 0})
    the = histories.of_phases(scenario.Phase("lost", (scenario.Load("open", "ecw-connect", {}),)))
    assert histories.judged("decisions-add-up", story, the).judged == verdict.Judged.FAIL


def test_another_fault_may_take_the_store_away_when_it_is_named() -> None:
    assert judge([histories.drawn(1.0, True)], fault="drop-network").judged == verdict.Judged.FAIL
    named = judge([histories.drawn(1.0, True)], fault="drop-network", store_faults=["no-store"])
    assert named.judged == verdict.Judged.PASS, named.sentence


def test_phases_that_are_not_named_are_not_looked_at() -> None:
    bad = [histories.drawn(1.0, True, concurrency=None)]
    assert judge(bad, phases=["lost"]).judged == verdict.Judged.PASS


def test_a_request_without_an_answer_is_unknown() -> None:
    assert judge([histories.drawn(1.0, True), histories.unanswered()]).judged == verdict.Judged.UNKNOWN


def test_phases_without_limited_requests_are_unknown() -> None:
    assert judge([histories.request("state")], [histories.request("state")]).judged == verdict.Judged.UNKNOWN
    assert judge([histories.drawn(1.0, True)], phases=["nowhere"]).judged == verdict.Judged.UNKNOWN


@pytest.mark.parametrize(("after_s", "judged"), [(1.0, verdict.Judged.PASS), (6.0, verdict.Judged.FAIL)])
def test_the_store_may_be_missed_for_a_while_after_its_restore_and_no_longer(
    after_s: float, judged: verdict.Judged
) -> None:
    story = story_of([histories.drawn(1.0, True)], [histories.held(5.0, 0.1, concurrency=WITHOUT)])
    for kind in ("fault-planned", "fault-up", "fault-restored"):
        story.add(kind, fault="no-store")
    restored_s = story.events[-1].at_s
    late = histories.held(restored_s + after_s, 0.1, concurrency=WITHOUT)
    story.add("request", **{**late, "load": "drain", "n": 9})
    the = histories.of_phases(
        scenario.Phase("up", (scenario.Load("drain", "ecw-create", {}),)),
        scenario.Phase("lost", (scenario.Load("open", "ecw-connect", {}),)),
        faults=[scenario.Fault("no-store", "scale", STORE, {"replicas": 0}, ("lost",))],
    )
    found = histories.judged("decisions-add-up", story, the, recovery_s=5.0)
    assert found.judged == judged, found.sentence


@pytest.mark.parametrize(("at_s", "judged"), [(6.0, verdict.Judged.PASS), (4.0, verdict.Judged.FAIL)])
def test_a_load_beside_the_phases_may_miss_the_store_while_it_is_away_and_at_no_other_time(
    at_s: float, judged: verdict.Judged
) -> None:
    story = histories.Story()
    for kind, moment_s in (("fault-planned", 5.0), ("fault-up", 5.5), ("fault-restored", 7.0)):
        story.add(kind, moment_s, fault="no-store")
    story.load("beside", [histories.held(at_s, 0.1, concurrency=WITHOUT)])
    the = histories.of_phases(
        scenario.Phase("up", (scenario.Load("beside", "ecw-connect", {"through": "lost"}),)),
        scenario.Phase("lost"),
        faults=[scenario.Fault("no-store", "scale", STORE, {"replicas": 0}, ("lost",))],
    )
    found = histories.judged("decisions-add-up", story, the)
    assert found.judged == judged, found.sentence
