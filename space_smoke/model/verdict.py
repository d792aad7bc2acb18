"""What a check says, and what becomes of a scenario. Outcomes are never merged: not knowing is `unknown`, and red."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Judged(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check's judgement: `sentence` says what was expected and what was seen; `proof` are indexes of events."""

    check: str
    judged: Judged
    sentence: str
    proof: tuple[int, ...] = ()


class Outcome(StrEnum):
    PASS = "PASS"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"
    BLOCKED = "BLOCKED"
    SKIPPED = "SKIPPED"
    ENVIRONMENTAL = "ENVIRONMENTAL"
    FLAKY = "FLAKY"


def outcome_of(verdicts: Iterable[Verdict]) -> Outcome:
    """FAIL beats UNKNOWN beats PASS; no verdict at all is UNKNOWN: nothing was judged."""
    seen = {verdict.judged for verdict in verdicts}
    if Judged.FAIL in seen:
        return Outcome.FAIL
    if Judged.UNKNOWN in seen or not seen:
        return Outcome.UNKNOWN
    return Outcome.PASS
