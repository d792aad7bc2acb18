"""The check `token-bucket`: histories that pass, fail and cannot be judged, and what holds for any true bucket."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

BURST, REFILL = 2, 5.0


def judge(requests: list[dict[str, Any]], **more: Any) -> verdict.Verdict:
    story = histories.Story()
    story.load("drain", requests)
    return histories.judged("token-bucket", story, load="drain", burst=BURST, refill_rps=REFILL, **more)


def exact(times_s: list[float]) -> list[bool]:
    """A continuous bucket, written anew and not shared with the check."""
    tokens, at_s, admitted = float(BURST), times_s[0], []
    for now_s in times_s:
        tokens = min(float(BURST), tokens + (now_s - at_s) * REFILL)
        at_s = now_s
        admitted.append(tokens >= 1.0)
        tokens -= 1.0 if admitted[-1] else 0.0
    return admitted


def lumps(times_s: list[float], offset_s: float) -> list[bool]:
    """A bucket that counts whole seconds of a clock that is `offset_s` past its last second at the start."""
    tokens, second, admitted = float(BURST), math.floor(times_s[0] + offset_s), []
    for now_s in times_s:
        now = math.floor(now_s + offset_s)
        tokens = min(float(BURST), tokens + (now - second) * REFILL)
        second = now
        admitted.append(tokens >= 1.0)
        tokens -= 1.0 if admitted[-1] else 0.0
    return admitted


def demand(requests: int = 24, rate_rps: float = 30.0) -> list[float]:
    return [1.0 + n / rate_rps for n in range(requests)]


def told(times_s: list[float], admitted: list[bool], limiter_ms: list[float] | None = None) -> list[dict[str, Any]]:
    took = limiter_ms or [1.0] * len(times_s)
    return [histories.drawn(at, yes, limiter_ms=ms) for at, yes, ms in zip(times_s, admitted, took, strict=True)]


jitters = st.lists(st.floats(0.1, 5.0), min_size=24, max_size=24)
gaps = st.lists(st.floats(0.0, 0.15), min_size=20, max_size=120)


def test_an_exact_bucket_passes() -> None:
    found = judge(told(demand(), exact(demand())), refusals_carry=["retry-after", "machine-code"])
    assert found.judged == verdict.Judged.PASS, found.sentence
    assert "refused with 429" in found.sentence


@settings(deadline=None)
@given(gaps, st.data())
def test_any_demand_on_an_exact_bucket_passes_or_never_empties_it(apart: list[float], data: st.DataObject) -> None:
    times_s = [1.0 + sum(apart[:n]) for n in range(len(apart))]
    jitter = data.draw(st.lists(st.floats(0.0, 40.0), min_size=len(apart), max_size=len(apart)))
    admitted = exact(times_s)
    # The jitter may bring stamps out of order, as on a real network.
    found = judge(told(times_s, admitted, jitter))
    assert found.judged == (verdict.Judged.UNKNOWN if all(admitted) else verdict.Judged.PASS), found.sentence


@settings(deadline=None)
@given(jitters)
def test_a_bucket_that_forgets_itself_and_admits_all_fails(jitter: list[float]) -> None:
    found = judge(told(demand(), [True] * 24, jitter))
    assert found.judged == verdict.Judged.FAIL
    assert "expected at most" in found.sentence
    assert "; saw " in found.sentence
    assert found.proof


@settings(deadline=None)
@given(st.floats(0.0, 0.999), jitters)
def test_a_bucket_that_counts_whole_seconds_fails_wherever_the_second_falls(offset: float, jitter: list[float]) -> None:
    found = judge(told(demand(), lumps(demand(), offset), jitter))
    assert found.judged == verdict.Judged.FAIL, found.sentence


def test_a_bucket_that_refills_at_half_the_rate_fails() -> None:
    times_s = demand(90)
    admitted = [yes and (n < 4 or n % 12 == 0) for n, yes in enumerate(exact(times_s))]
    assert judge(told(times_s, admitted)).judged == verdict.Judged.FAIL


def test_a_bucket_that_gives_one_token_too_many_fails_and_names_the_window() -> None:
    times_s = demand()
    admitted = exact(times_s)
    admitted[2] = admitted[3] = True
    found = judge(told(times_s, admitted))
    assert found.judged == verdict.Judged.FAIL
    assert "burst 2 + 5/s" in found.sentence
    assert len(found.proof) >= 4


def test_a_bucket_that_starts_half_empty_for_no_reason_fails() -> None:
    times_s = demand(12, 60.0)
    found = judge(told(times_s, [False] * 12))
    assert found.judged == verdict.Judged.FAIL
    assert "expected at least" in found.sentence


def test_tokens_drawn_right_before_the_load_are_taken_into_account() -> None:
    story = histories.Story()
    story.load("earlier", told([0.8, 0.81], [True, True]))
    story.load("drain", told([0.85, 0.86, 0.87, 0.88], [False] * 4))
    found = histories.judged("token-bucket", story, load="drain", burst=BURST, refill_rps=REFILL)
    assert found.judged == verdict.Judged.PASS, found.sentence


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"retry_after": None}, "Retry-After of 1 s or more"),
        ({"retry_after": 0}, "Retry-After of 1 s or more"),
        ({"code": None}, "a machine code"),
        ({"code": "Too many requests!"}, "a machine code"),
        ({"status": 503}, "status 429"),
    ],
)
def test_a_refusal_that_lacks_what_it_must_carry_fails(change: dict[str, Any], words: str) -> None:
    requests = told(demand(), exact(demand()))
    next(r for r in requests if r["status"] == 429).update(change)
    found = judge(requests, refusals_carry=["retry-after", "machine-code"])
    assert found.judged == verdict.Judged.FAIL
    assert words in found.sentence


def test_decisions_made_without_the_store_fail() -> None:
    requests = told(demand(), exact(demand()))
    requests[5]["activation"] = histories.decision("admitted", "store_unavailable")
    found = judge(requests)
    assert found.judged == verdict.Judged.FAIL
    assert "store_unavailable" in found.sentence


def test_stamps_of_another_clock_are_unknown() -> None:
    requests = told(demand(), exact(demand()))
    for request in requests:
        request["decided_s"] += 0.2
    found = judge(requests)
    assert found.judged == verdict.Judged.UNKNOWN
    assert "clocks differ" in found.sentence


def test_missing_stamps_are_unknown() -> None:
    requests = told(demand(), exact(demand()))
    requests[3]["decided_s"] = None
    assert judge(requests).judged == verdict.Judged.UNKNOWN


def test_a_request_without_an_answer_is_unknown_but_too_many_admitted_still_fails() -> None:
    requests = told(demand(), exact(demand()))
    assert judge([*requests, histories.unanswered(at_s=1.8)]).judged == verdict.Judged.UNKNOWN
    everyone = told(demand(), [True] * 24)
    assert judge([*everyone, histories.unanswered(at_s=1.8)]).judged == verdict.Judged.FAIL


def test_demand_that_never_empties_the_bucket_is_unknown() -> None:
    found = judge(told([1.0, 1.1], [True, True]))
    assert found.judged == verdict.Judged.UNKNOWN
    assert "never emptied" in found.sentence


def test_a_load_that_was_cut_short_is_unknown() -> None:
    story = histories.Story()
    story.load("drain", told(demand(), exact(demand())))
    del story.events[-1]
    found = histories.judged("token-bucket", story, load="drain", burst=BURST, refill_rps=REFILL)
    assert found.judged == verdict.Judged.UNKNOWN
    assert "did not end" in found.sentence


def test_a_load_without_decisions_is_unknown() -> None:
    assert judge([histories.request(at_s=1.0)]).judged == verdict.Judged.UNKNOWN
