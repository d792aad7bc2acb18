"""The checks `bucket-full-again` and `leases-gone`, which judge a store that was restarted."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN


def draws(at_s: float, admitted: int, refused: int, **more: Any) -> list[dict[str, Any]]:
    return [histories.drawn(at_s + n / 100, n < admitted, **more) for n in range(admitted + refused)]


def full_again(
    again: list[dict[str, Any]], drain: list[dict[str, Any]] | None = None, *, refill_rps: float = 0.1
) -> verdict.Verdict:
    story = histories.Story()
    story.load("drain", draws(1.0, 3, 5) if drain is None else drain)
    story.load("again", again)
    return histories.judged("bucket-full-again", story, load="again", after="drain", burst=3, refill_rps=refill_rps)


def test_a_whole_burst_that_refill_cannot_explain_passes() -> None:
    found = full_again(draws(11.0, 3, 5))
    assert found.judged == PASS, found.sentence
    assert "3 of 8 admitted, the burst of 3; refill had brought back at most 2.0" in found.sentence


@pytest.mark.parametrize(
    ("again", "sentence"),
    [
        (draws(11.0, 1, 7), "expected the whole burst of 3 at once; saw 1 admitted"),
        (draws(11.0, 8, 0), "expected at most 4.0 admitted"),
        (
            [
                *draws(11.0, 2, 5),
                histories.drawn(11.5, True, activation=histories.decision("admitted", "store_unavailable")),
            ],
            "expected every decision to be the store's; saw 1 of 8 made without it (store_unavailable)",
        ),
    ],
)
def test_a_bucket_that_is_not_full_or_gives_without_end_fails(again: list[dict[str, Any]], sentence: str) -> None:
    found = full_again(again)
    assert found.judged == FAIL
    assert sentence in found.sentence
    assert found.proof


@pytest.mark.parametrize(
    ("again", "drain", "refill_rps", "sentence"),
    [
        (draws(11.0, 3, 5), None, 1.0, "refill alone may have brought 11"),
        (draws(11.0, 3, 5), draws(1.0, 3, 0), 0.1, "load drain did not empty the bucket"),
        (draws(11.0, 2, 0), None, 0.1, "made 2 requests against a burst of 3"),
        ([*draws(11.0, 3, 5), histories.unanswered(at_s=11.2)], None, 0.1, "1 of load again got no answer"),
    ],
)
def test_what_refill_may_explain_is_unknown(
    again: list[dict[str, Any]], drain: list[dict[str, Any]] | None, refill_rps: float, sentence: str
) -> None:
    found = full_again(again, drain, refill_rps=refill_rps)
    assert found.judged == UNKNOWN
    assert sentence in found.sentence


def gone(new: list[dict[str, Any]], old: list[dict[str, Any]] | None = None) -> verdict.Verdict:
    story = histories.Story()
    story.load("across", [histories.held(1.0, 20.0) for _ in range(3)] if old is None else old, kind="ecw-connect")
    story.load("anew", new, kind="ecw-connect")
    return histories.judged("leases-gone", story, load="anew", across="across", limit=3)


def burst(accepted: int, refused: int) -> list[dict[str, Any]]:
    return [histories.held(11.0, 2.0)] * accepted + [histories.turned_away(11.1)] * refused


def test_the_cap_anew_beside_what_is_in_work_passes() -> None:
    found = gone(burst(3, 3))
    assert found.judged == PASS, found.sentence
    assert "3 new requests beside 3 old ones" in found.sentence


LOST = histories.decision("accepted", "store_unavailable", client="smoke-b", would_reject=False)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (burst(0, 6), "expected 3 new requests accepted; saw none"),
        (burst(1, 5), "expected 3 new requests accepted: the old leases are gone; saw 1"),
        (burst(5, 1), "expected at most 3 new requests beside 3 old ones; saw 5"),
        ([*burst(3, 2), histories.held(11.0, 2.0, concurrency=LOST)], "saw 1 accepted without it"),
    ],
)
def test_leases_that_are_still_there_or_a_cap_that_does_not_hold_fail(new: list[dict[str, Any]], sentence: str) -> None:
    found = gone(new)
    assert found.judged == FAIL
    assert sentence in found.sentence


@pytest.mark.parametrize(
    ("new", "old", "sentence"),
    [
        (burst(3, 3), [histories.held(1.0, 5.0)] * 3, "0 requests of load across were still in work"),
        (burst(2, 0), None, "made 2 requests against a cap of 3"),
    ],
)
def test_without_old_requests_in_work_or_enough_new_ones_it_is_unknown(
    new: list[dict[str, Any]], old: list[dict[str, Any]] | None, sentence: str
) -> None:
    found = gone(new, old)
    assert found.judged == UNKNOWN
    assert sentence in found.sentence
