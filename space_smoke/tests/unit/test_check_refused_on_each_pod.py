"""The check `refused-on-each-pod`."""

from __future__ import annotations

from typing import Any

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

A, B = histories.PODS


def judge(*requests: dict[str, Any], within_s: float = 5.0) -> verdict.Verdict:
    story = histories.Story(at_s=1.0)
    story.load("again", requests, kind="ecw-connect")
    return histories.judged("refused-on-each-pod", story, load="again", within_s=within_s)


def test_a_refusal_from_each_pod_in_time_passes() -> None:
    found = judge(histories.turned_away(2.0, pod=A), histories.turned_away(3.0, pod=B))
    assert found.judged == verdict.Judged.PASS, found.sentence
    assert f"{B} last, 2.02 s" in found.sentence


def test_a_pod_that_refuses_nobody_fails_and_is_named() -> None:
    found = judge(histories.turned_away(2.0, pod=A), histories.held(2.0, 3.0, pod=B))
    assert found.judged == verdict.Judged.FAIL
    assert found.sentence.endswith(f"saw none from {B}")


def test_a_refusal_that_comes_late_fails() -> None:
    found = judge(histories.turned_away(2.0, pod=A), histories.turned_away(9.0, pod=B))
    assert found.judged == verdict.Judged.FAIL
    assert f"{B} after 8.02 s" in found.sentence


def test_a_pod_that_never_answered_is_unknown() -> None:
    assert judge(histories.turned_away(2.0, pod=A)).judged == verdict.Judged.UNKNOWN


def test_no_list_of_pods_is_unknown() -> None:
    story = histories.Story()
    story.load("again", [histories.turned_away(2.0, pod=A)])
    del story.events[0]
    found = histories.judged("refused-on-each-pod", story, load="again", within_s=5.0)
    assert found.judged == verdict.Judged.UNKNOWN
    assert "no list of pods" in found.sentence
