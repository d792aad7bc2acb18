"""The check `all-admitted`."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

LOST = "store_unavailable"


def opened(n: int, took_s: float = 0.05, **more: Any) -> dict[str, Any]:
    accepted = histories.decision("accepted", LOST, client="smoke-b")
    return histories.request("connect", at_s=10 + n / 10, took_s=took_s, **{"concurrency": accepted, **more})


def judge(lost: list[dict[str, Any]], before: list[dict[str, Any]] | None = None, **more: Any) -> verdict.Verdict:
    story = histories.Story()
    standing = [histories.held(1 + n / 10, 3.0) for n in range(12)] if before is None else before
    story.load("hold", standing, kind="ecw-connect")
    story.load("open", lost, kind="ecw-connect")
    given = {"load": "open", "reason": LOST, "added_latency_p99_s": 0.25, "against": "hold", **more}
    return histories.judged("all-admitted", story, **given)


def test_all_admitted_for_the_reason_and_fast_passes() -> None:
    found = judge([opened(n) for n in range(80)])
    assert found.judged == verdict.Judged.PASS, found.sentence
    assert "p99 of 80: 50 ms" in found.sentence


def test_under_twenty_requests_the_maximum_stands_in_and_is_called_so() -> None:
    found = judge([opened(n) for n in range(5)])
    assert found.judged == verdict.Judged.PASS
    assert "max of 5" in found.sentence


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": 429, "concurrency": histories.decision("refused")}, "status 429"),
        ({"status": 500}, "status 500"),
        ({"concurrency": None}, "no decision"),
        ({"concurrency": histories.decision("accepted", "none")}, "concurrency accepted (none)"),
        ({"status": None, "error": "timed out"}, "no answer (timed out)"),
    ],
)
def test_one_request_that_is_not_admitted_so_fails(change: dict[str, Any], words: str) -> None:
    found = judge([opened(n) for n in range(30)] + [opened(31, **change)])
    assert found.judged == verdict.Judged.FAIL
    assert words in found.sentence
    assert len(found.proof) == 1


def test_slow_answers_fail_and_the_slowest_prove_it() -> None:
    found = judge([opened(n) for n in range(30)] + [opened(31, took_s=0.6)])
    assert found.judged == verdict.Judged.FAIL
    assert "expected at most 250 ms added; saw +580 ms" in found.sentence


def test_a_slow_limiter_fails_even_when_answers_were_slow_before() -> None:
    slow_before = [histories.held(1 + n / 10, 3.0, answered_s=2 + n / 10) for n in range(12)]
    assert judge([opened(n, limiter_ms=400.0) for n in range(30)], slow_before).judged == verdict.Judged.FAIL


def test_nothing_to_compare_with_is_unknown() -> None:
    found = judge([opened(n) for n in range(30)], [histories.turned_away(1.0)])
    assert found.judged == verdict.Judged.UNKNOWN


def test_a_load_without_requests_is_unknown() -> None:
    assert judge([]).judged == verdict.Judged.UNKNOWN


def test_without_a_bound_only_the_admissions_are_judged() -> None:
    assert judge([opened(1, took_s=9.0)], against="").judged == verdict.Judged.PASS


def test_any_reason_will_do_where_the_store_may_go_and_come_but_no_refusal() -> None:
    mixed = [opened(1), opened(2, concurrency=histories.decision("accepted", "none"))]
    story = histories.Story()
    story.load("open", mixed, kind="ecw-connect")
    found = histories.judged("all-admitted", story, load="open", reason="any")
    assert found.judged == verdict.Judged.PASS, found.sentence
    assert found.sentence == "all 2 requests admitted"
    story.load("more", [opened(3, status=429, concurrency=histories.decision("refused"))], kind="ecw-connect")
    assert histories.judged("all-admitted", story, load="more", reason="any").judged == verdict.Judged.FAIL
