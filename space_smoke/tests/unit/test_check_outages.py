"""The checks `outage-bounded` and `readiness-follows`, which judge what happened around a fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from space_smoke.model import history, verdict
from space_smoke.tests.unit import histories

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN
POD = histories.PODS[0]


def told(
    load: str, requests: Iterable[dict[str, Any]], *, windows: Iterable[tuple[str, float, float | None]]
) -> histories.Story:
    """A load that went on beside its faults: (name, planned at, restored at; None: never)."""
    story = histories.Story()
    story.load(load, requests, kind="ecw-churn")
    for fault, from_s, to_s in windows:
        moments = [("fault-planned", from_s), ("fault-up", from_s + 0.5), ("fault-restored", to_s)]
        story.events += [
            history.Event(len(story.events) + n, at_s, kind, {"fault": fault})
            for n, (kind, at_s) in enumerate(moments)
            if at_s is not None
        ]
    return story


def steady(bad: Iterable[int] = (), *, until_s: int = 40, status: int | None = 503) -> list[dict[str, Any]]:
    """A write a second, answered 200 but for those in `bad`."""
    failed = {"status": status, "error": None if status else "reset"}
    return [histories.request("pause", at_s=float(s)) | (failed if s in set(bad) else {}) for s in range(1, until_s)]


FAST, SLOW = ("fast", 10.2, 13.0), ("slow", 20.2, 25.0)


def bounded(
    requests: list[dict[str, Any]], *windows: tuple[str, float, float | None], within_s: float = 5.0
) -> verdict.Verdict:
    return histories.judged(
        "outage-bounded",
        told("writes", requests, windows=windows),
        load="writes",
        faults=["fast", "slow"],
        within_s=within_s,
    )


@pytest.mark.parametrize("status", [503, None])
def test_failures_around_the_faults_pass_and_their_time_is_told(status: int | None) -> None:
    found = bounded(steady([11, 12, 13, 22], status=status), FAST, SLOW)
    assert found.judged == PASS, found.sentence
    assert "4 of 39 requests failed, all around the faults: fast 2.0 s, slow 0.0 s" in found.sentence


def test_a_failure_belongs_to_the_newest_fault_where_two_follow_closely() -> None:
    close = ("slow", 14.2, 18.0)
    found = bounded(steady([11, 12, 15, 16, 17]), FAST, close)
    assert found.judged == PASS, found.sentence
    assert "fast 1.0 s, slow 2.0 s" in found.sentence


def test_a_refusal_is_no_failure() -> None:
    assert bounded(steady([2, 3], status=429), FAST, SLOW).judged == PASS


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ([5, 11], "expected requests to fail around the faults only; saw 1 request apart from them (status 503)"),
        ([35], "saw 1 request apart from them"),
        ([11, 12, 13, 14, 15, 16, 17], "expected at most 5 s of failures by fast; saw 6.0 s"),
    ],
)
def test_failures_elsewhere_or_for_too_long_fail(bad: list[int], sentence: str) -> None:
    found = bounded(steady(bad), FAST, SLOW)
    assert found.judged == FAIL
    assert sentence in found.sentence
    assert found.proof


def test_a_fault_that_was_not_put_back_is_unknown() -> None:
    found = bounded(steady([11]), FAST, ("slow", 20.2, None))
    assert found.judged == UNKNOWN
    assert "not raised and put back: slow" in found.sentence


def test_a_load_that_was_not_there_during_a_fault_or_after_it_is_unknown() -> None:
    found = bounded(steady(until_s=20), FAST, SLOW)
    assert found.judged == UNKNOWN
    assert "load writes sent nothing while slow was there" in found.sentence
    found = bounded(steady(until_s=24), FAST, SLOW)
    assert found.judged == UNKNOWN
    assert "no good answer after slow" in found.sentence


def answers(unready: Iterable[int] = (), *, dead: Iterable[int] = (), until_s: int = 40) -> list[dict[str, Any]]:
    """Both questions once a second to one pod."""
    asked = []
    for s in range(1, until_s):
        ready, alive = (503 if s in set(unready) else 200), (503 if s in set(dead) else 200)
        asked.append(histories.request("readyz", at_s=float(s)) | {"status": ready, "pod_asked": POD})
        asked.append(histories.request("healthz", at_s=s + 0.5) | {"status": alive, "pod_asked": POD})
    return asked


def follows(requests: list[dict[str, Any]], *windows: tuple[str, float, float | None]) -> verdict.Verdict:
    story = told("health", requests, windows=windows)
    return histories.judged("readiness-follows", story, load="health", faults=["fast"], within_s=2.0)


def test_a_pod_that_turns_unready_and_ready_again_passes() -> None:
    found = follows(answers([11, 12, 13]), FAST)
    assert found.judged == PASS, found.sentence
    assert "each of 1 pod was unready in each of 1 outage" in found.sentence


@pytest.mark.parametrize(
    ("requests", "sentence"),
    [
        (answers(), f"expected pod {POD} to be unready at some time while fast was there; saw ready at all 3 times"),
        (answers(range(11, 17)), f"expected pod {POD} to be ready within 2 s of the end of fast; saw after 4.0 s"),
        (answers(range(11, 40)), "saw not at all"),
        (answers([11], dead=[12]), f"expected every pod to say that it lives, throughout; saw 1 answered 503 on {POD}"),
    ],
)
def test_readiness_that_does_not_follow_fails(requests: list[dict[str, Any]], sentence: str) -> None:
    found = follows(requests, FAST)
    assert found.judged == FAIL
    assert sentence in found.sentence
    assert found.proof


def test_what_was_not_asked_or_not_answered_is_unknown() -> None:
    assert "not raised and put back" in follows(answers([11]), ("fast", 10.2, None)).sentence
    assert "was not asked while fast was there" in follows(answers(until_s=9), FAST).sentence
    assert "was not asked after fast" in follows(answers([11], until_s=12), FAST).sentence
    silent = [*answers([11]), histories.unanswered("healthz", at_s=12.2) | {"pod_asked": POD}]
    found = follows(silent, FAST)
    assert found.judged == UNKNOWN
    assert "1 question got no answer (connection refused)" in found.sentence
