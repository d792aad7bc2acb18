"""The check `counted`."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

METRIC = "space_limiter_decisions_total"
LABELS = {"limiter": "activation", "outcome": "admitted"}


def sample(value: Any, **labels: str) -> dict[str, Any]:
    return {"name": METRIC, "labels": {**LABELS, **labels}, "value": value}


def reading(pod: str, *samples: dict[str, Any], **more: Any) -> dict[str, Any]:
    return histories.request("metrics", pod=pod, declared=[METRIC], samples=list(samples), **more)


def judge(before: list[dict[str, Any]], now: list[dict[str, Any]], **arguments: Any) -> verdict.Verdict:
    story = histories.Story()
    story.load("before", before, kind="service-metrics")
    story.load("now", now, kind="service-metrics")
    asked = {"metric": METRIC, "labels": LABELS, **arguments}
    return histories.judged("counted", story, load="now", after="before", **asked)


BEFORE = [reading("a", sample(5)), reading("b")]


def test_what_was_counted_between_is_added_up_over_pods_and_series_with_these_labels() -> None:
    other = {"name": METRIC, "labels": {**LABELS, "outcome": "refused"}, "value": 9}
    now = [reading("a", sample(5, reason="none"), sample(1, reason="other"), other), reading("b", sample(1))]
    found = judge(BEFORE, now, by=2)
    assert found.judged == verdict.Judged.PASS, found.sentence
    assert "{limiter=activation,outcome=admitted} rose by 2 in 2 pods" in found.sentence
    assert judge(BEFORE, now, by=11, labels={"limiter": "activation"}).judged == verdict.Judged.PASS
    assert judge(BEFORE, now, at_least=2).judged == verdict.Judged.PASS
    assert judge(BEFORE, BEFORE, by=0).judged == verdict.Judged.PASS


@pytest.mark.parametrize(
    ("wanted", "words"), [({"by": 0}, "by 0"), ({"by": 2}, "by 2"), ({"at_least": 2}, "by 2 or more")]
)
def test_another_number_fails_and_both_are_told(wanted: dict[str, int], words: str) -> None:
    found = judge(BEFORE, [reading("a", sample(6)), reading("b")], **wanted)
    assert found.judged == verdict.Judged.FAIL
    assert f"to rise {words} from load before to load now; saw 1" in found.sentence


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        ([reading("a", sample(6))], "read of a, b first, and then of a"),
        ([reading("a", sample(6)), reading("c")], "and then of a, c"),
        ([reading("a", sample(4)), reading("b", sample(2))], "the counter went back in a"),
        ([reading("a", sample(6)), reading("b", status=503)], f"b told no {METRIC}"),
        ([reading("a", sample(None)), reading("b")], f"a told no {METRIC}"),
        ([reading("a", sample(6)), reading("b") | {"declared": []}], f"b told no {METRIC}"),
        ([], "load now made no request"),
    ],
)
def test_readings_that_cannot_be_compared_are_unknown(now: list[dict[str, Any]], sentence: str) -> None:
    found = judge(BEFORE, now, by=1)
    assert found.judged == verdict.Judged.UNKNOWN
    assert sentence in found.sentence
