"""The three things a check can say. Every sentence of a failure names what was expected and what was seen."""

from __future__ import annotations

from collections.abc import Iterable

from space_smoke.model import scenario, verdict

MOST_PROOF = 50  # events named by one verdict: enough to see the pattern, and the journal holds the rest


def passed(check: scenario.Check, sentence: str, proof: Iterable[int] = ()) -> verdict.Verdict:
    return _verdict(check, verdict.Judged.PASS, sentence, proof)


def failed(check: scenario.Check, expected: str, seen: str, proof: Iterable[int]) -> verdict.Verdict:
    return _verdict(check, verdict.Judged.FAIL, f"expected {expected}; saw {seen}", proof)


def unknown(check: scenario.Check, why: str, proof: Iterable[int] = ()) -> verdict.Verdict:
    return _verdict(check, verdict.Judged.UNKNOWN, f"could not be judged: {why}", proof)


def _verdict(check: scenario.Check, judged: verdict.Judged, sentence: str, proof: Iterable[int]) -> verdict.Verdict:
    return verdict.Verdict(check.label, judged, sentence, tuple(dict.fromkeys(proof))[:MOST_PROOF])


def some(words: Iterable[str], most: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    listed = list(words)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def count(number: int, noun: str) -> str:
    """`1 request`, `3 requests`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
