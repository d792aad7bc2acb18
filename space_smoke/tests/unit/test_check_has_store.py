"""The check `has-store`."""

from __future__ import annotations

from typing import Any

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

BOTH = ("configured", "configured")


def state(pod: str, *stores: str) -> dict[str, Any]:
    limiters = {
        name: {"store": store} for name, store in zip(("activation", "client_concurrency"), stores, strict=False)
    }
    return histories.request("state", pod=pod, decided_s=None, limiter_ms=None, state={"limiters": limiters})


def judge(*requests: dict[str, Any], before: list[dict[str, Any]] | None = None) -> verdict.Verdict:
    story = histories.Story()
    if before:
        story.load("earlier", before)
    story.load("probe", requests, kind="api-state")
    return histories.judged("has-store", story, load="probe", reason_never="misconfigured")


def test_a_store_on_every_pod_passes() -> None:
    found = judge(*(state(pod, *BOTH) for pod in histories.PODS))
    assert found.judged == verdict.Judged.PASS, found.sentence


def test_a_pod_without_a_store_fails_and_is_named() -> None:
    found = judge(state(histories.PODS[0], *BOTH), state(histories.PODS[1], "configured", "none"))
    assert found.judged == verdict.Judged.FAIL
    assert found.sentence == f"expected every pod to have a limiter store; saw none configured on {histories.PODS[1]}"
    assert len(found.proof) == 1


def test_an_earlier_misconfigured_decision_fails() -> None:
    earlier = [histories.drawn(0.5, True, activation=histories.decision("admitted", "misconfigured"))]
    found = judge(*(state(pod, *BOTH) for pod in histories.PODS), before=earlier)
    assert found.judged == verdict.Judged.FAIL
    assert "misconfigured" in found.sentence


def test_a_pod_that_was_not_asked_is_unknown() -> None:
    found = judge(state(histories.PODS[0], *BOTH))
    assert found.judged == verdict.Judged.UNKNOWN
    assert histories.PODS[1] in found.sentence


def test_a_state_that_says_nothing_of_a_store_is_unknown() -> None:
    found = judge(histories.unanswered("state"), state(histories.PODS[1]))
    assert found.judged == verdict.Judged.UNKNOWN
    assert "connection refused" in found.sentence
