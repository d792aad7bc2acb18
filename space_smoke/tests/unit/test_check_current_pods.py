"""The check `current-pods`, which is judged for every scenario."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.bench import http
from space_smoke.model import verdict
from space_smoke.tests.unit import histories


def judge(
    *, pod: str | None = histories.PODS[0], listed: bool = True, loads: Any = "all", **change: Any
) -> verdict.Verdict:
    story = histories.Story()
    story.pods("drain", **change)
    story.load("drain", [histories.drawn(1.0, True, pod=pod)])
    if not listed:
        del story.events[0]
    return histories.judged("current-pods", story, loads=loads)


def test_answers_from_the_listed_pods_pass() -> None:
    found = judge()
    assert found.judged == verdict.Judged.PASS, found.sentence


@pytest.mark.parametrize(
    ("change", "words"), [({"terminating": True}, "terminating"), ({"current": False}, "of an older ReplicaSet")]
)
def test_an_old_pod_at_the_start_of_a_load_fails(change: dict[str, Any], words: str) -> None:
    found = judge(**change)
    assert found.judged == verdict.Judged.FAIL
    assert f"{histories.PODS[1]} ({words})" in found.sentence


def test_an_answer_from_another_pod_fails() -> None:
    found = judge(pod="space-api-old-z")
    assert found.judged == verdict.Judged.FAIL
    assert "saw 1 from space-api-old-z" in found.sentence


def test_no_list_of_pods_is_unknown() -> None:
    assert judge(listed=False).judged == verdict.Judged.UNKNOWN


def test_an_answer_that_does_not_name_its_pod_is_unknown() -> None:
    assert judge(pod=None).judged == verdict.Judged.UNKNOWN


def test_what_the_api_server_says_in_place_of_a_pod_is_no_answer_of_one() -> None:
    said = b'{"kind": "Status", "apiVersion": "v1", "reason": "ServiceUnavailable", "code": 503}'
    for headers, unreached in (({}, True), ({"x-space-pod": "space-api-a"}, False)):
        assert http.Answer(0.0, 0.1, 0.1, 503, headers, said).unreached is unreached
    assert not http.Answer(0.0, 0.1, 0.1, 503, {}, b'{"error": {"code": "store_unavailable"}}').unreached
    story = histories.Story()
    story.pods("drain")
    story.load("drain", [{**histories.drawn(1.0, True, pod=None), "unreached": True}])
    assert histories.judged("current-pods", story, loads="all").judged == verdict.Judged.PASS


def test_loads_that_are_not_named_are_not_looked_at() -> None:
    assert judge(pod="space-api-old-z", loads=[]).judged == verdict.Judged.PASS
