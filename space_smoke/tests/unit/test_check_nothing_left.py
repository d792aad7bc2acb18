"""The check `nothing-left`, which no scenario can leave out."""

from __future__ import annotations

from typing import Any

from space_smoke.model import verdict
from space_smoke.tests.unit import histories


def judge(*reads: dict[str, Any], fault_after: bool = False) -> verdict.Verdict:
    story = histories.Story()
    for read in reads:
        story.add("open-faults", **read)
    if fault_after:
        story.add("fault-planned", fault="no-store")
    return histories.judged("nothing-left", story)


def test_a_fresh_read_of_zero_passes() -> None:
    assert judge({"count": 0, "faults": []}).judged == verdict.Judged.PASS


def test_the_last_read_counts_and_an_open_fault_fails_and_is_named() -> None:
    found = judge({"count": 0, "faults": []}, {"count": 1, "faults": ["no-store"]})
    assert found.judged == verdict.Judged.FAIL
    assert found.sentence == "expected 0 open faults; saw 1 (no-store)"


def test_no_read_is_unknown() -> None:
    assert judge().judged == verdict.Judged.UNKNOWN
    assert judge({"count": None}).judged == verdict.Judged.UNKNOWN


def test_a_read_before_the_last_fault_is_unknown() -> None:
    assert judge({"count": 0, "faults": []}, fault_after=True).judged == verdict.Judged.UNKNOWN
