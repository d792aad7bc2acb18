"""The check `concurrency-cap`."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from space_smoke.model import verdict
from space_smoke.tests.unit import histories


def judge(requests: list[dict[str, Any]], limit: int = 3, **more: Any) -> verdict.Verdict:
    story = histories.Story()
    story.load("hold", requests, kind="ecw-connect")
    return histories.judged("concurrency-cap", story, load="hold", limit=limit, **more)


def burst(accepted: int, refused: int, hold_s: float = 3.0, client: str = "smoke-b") -> list[dict[str, Any]]:
    yes = [histories.held(1.0 + n / 100, hold_s, client=client) for n in range(accepted)]
    return yes + [histories.turned_away(1.5 + n / 100, client=client) for n in range(refused)]


def test_exactly_the_cap_held_and_the_rest_refused_passes() -> None:
    found = judge(burst(3, 9))
    assert found.judged == verdict.Judged.PASS, found.sentence
    assert found.sentence == "exactly 3 of 12 accepted, 9 refused with 429 client_concurrency_limited"


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 12), st.floats(0.7, 9.0))
def test_a_true_cap_passes_and_one_that_leaks_a_place_fails(limit: int, over: int, hold_s: float) -> None:
    assert judge(burst(limit, over, hold_s), limit).judged == verdict.Judged.PASS
    assert judge(burst(limit + 1, over - 1, hold_s), limit).judged == verdict.Judged.FAIL
    assert judge(burst(limit - 1, over + 1, hold_s), limit).judged == verdict.Judged.FAIL


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0.05, 2)), min_size=2, max_size=30), st.integers(1, 4))
def test_no_true_cap_ever_fails_however_requests_come_and_go(arrivals: list[tuple[float, float]], limit: int) -> None:
    requests: list[dict[str, Any]] = []
    ends: list[float] = []
    for at_s, hold_s in sorted(arrivals):
        # The place is taken when it is decided, in the middle of the request's first 20 ms.
        ends = [end for end in ends if end > at_s + 0.01]
        if len(ends) < limit:
            ends.append(at_s + hold_s)
            requests.append(histories.held(at_s, hold_s))
        else:
            requests.append(histories.turned_away(at_s))
    for exactly in (True, False):
        found = judge(requests, limit, exactly=exactly)
        assert found.judged != verdict.Judged.FAIL, found.sentence


def test_one_more_than_the_cap_fails_and_names_both_numbers() -> None:
    found = judge(burst(4, 8))
    assert found.judged == verdict.Judged.FAIL
    assert found.sentence == "expected at most 3 at once for client smoke-b; saw 4 at once"
    assert len(found.proof) == 4


def test_fewer_than_the_cap_fails() -> None:
    found = judge(burst(2, 10))
    assert found.judged == verdict.Judged.FAIL
    assert "saw 2 accepted" in found.sentence


def test_a_limiter_that_only_observes_fails_and_is_called_so() -> None:
    requests = burst(12, 0)
    for request in requests[3:]:
        request["concurrency"]["would_reject"] = True
    found = judge(requests)
    assert found.judged == verdict.Judged.FAIL
    assert "only observes" in found.sentence


def test_a_refusal_with_another_code_fails() -> None:
    requests = burst(3, 9)
    requests[-1]["code"] = "cluster_activation_limited"
    found = judge(requests)
    assert found.judged == verdict.Judged.FAIL
    assert "cluster_activation_limited" in found.sentence


def test_requests_accepted_without_the_store_fail() -> None:
    requests = burst(3, 9)
    requests[0]["concurrency"] = histories.decision("accepted", "store_unavailable", client="smoke-b")
    assert judge(requests).judged == verdict.Judged.FAIL


def test_each_client_has_its_own_cap() -> None:
    both = burst(3, 2, client="a") + burst(3, 2, client="b")
    assert judge(both).judged == verdict.Judged.PASS
    assert judge(burst(3, 2, client="a") + burst(4, 2, client="b")).judged == verdict.Judged.FAIL


def test_requests_that_do_not_overlap_are_unknown() -> None:
    found = judge(burst(3, 9, hold_s=0.1))
    assert found.judged == verdict.Judged.UNKNOWN
    assert "did not all overlap" in found.sentence


def test_requests_that_do_not_overlap_may_be_judged_as_at_most() -> None:
    assert judge(burst(3, 9, hold_s=0.1), exactly=False).judged == verdict.Judged.PASS
    assert judge(burst(4, 9, hold_s=1.0), exactly=False).judged == verdict.Judged.FAIL
    assert judge(burst(3, 0), exactly=False).judged == verdict.Judged.UNKNOWN


def test_a_cap_that_was_never_reached_is_unknown() -> None:
    assert judge(burst(3, 0)).judged == verdict.Judged.UNKNOWN


def test_a_request_without_an_answer_is_unknown() -> None:
    assert judge([*burst(3, 9), histories.unanswered("connect")]).judged == verdict.Judged.UNKNOWN


def test_a_load_that_never_began_is_unknown() -> None:
    found = histories.judged("concurrency-cap", histories.Story(), load="hold", limit=3)
    assert found.judged == verdict.Judged.UNKNOWN


def test_requests_that_must_share_one_name_fail_when_the_limiter_counts_one_elsewhere() -> None:
    assert judge(burst(3, 5, client="unspecified"), counted_as="unspecified").judged == verdict.Judged.PASS
    found = judge([*burst(3, 5, client="unspecified"), *burst(1, 0, client="stranger-1")], counted_as="unspecified")
    assert found.judged == verdict.Judged.FAIL
    assert "1 of 9 counted as stranger-1" in found.sentence
