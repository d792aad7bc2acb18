"""all-admitted: with the store gone every request is admitted for the stated reason, and is not slower for it.

Added latency: the 99th percentile of sent-to-headers, less that of the accepted requests of `against`; beside it the
time that the limiter itself took must keep the bound. Under 20 requests the maximum stands in, and the sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

_GOOD = ("admitted", "accepted")


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, against = check.arguments["load"], check.arguments.get("against", "")
    if why := facts.unfinished(events, load) or (against and facts.unfinished(events, against)):
        return say.unknown(check, why)
    mine, reason = history.requests(events, load), check.arguments["reason"]
    wrong = [(event, words) for event in mine if (words := _wrong(event, reason))]
    if wrong:
        return say.failed(
            check,
            f"all {len(mine)} requests admitted{_as(reason)}",
            f"{len(wrong)} not: {say.some(dict.fromkeys(words for _, words in wrong))}",
            facts.indexes(event for event, _ in wrong),
        )
    if not against:
        return say.passed(check, f"all {len(mine)} requests admitted{_as(reason)}", facts.indexes(mine))
    return _latency(check, mine, history.requests(events, against))


def _as(reason: str) -> str:
    return "" if reason == "any" else f" as {reason}"


def _wrong(event: history.Event, reason: str) -> str:
    """What is wrong with one answer, or ""."""
    status, made = facts.status(event), facts.decisions(event)
    if status is None:
        return f"no answer ({facts.text(event, 'error')})"
    if status == 429 or status >= 500:
        return f"status {status}"
    if not made:
        return "no decision"
    for name, decided in made.items():
        if decided.outcome not in _GOOD or reason not in ("any", decided.reason):
            return f"{name} {decided.outcome} ({decided.reason})"
    return ""


def _latency(check: scenario.Check, mine: Sequence[history.Event], against: Sequence[history.Event]) -> verdict.Verdict:
    bound_s = check.arguments["added_latency_p99_s"]
    base = [took for event in against if _accepted(event) and (took := _took_s(event)) is not None]
    took_s = [took for event in mine if (took := _took_s(event)) is not None]
    limiter_s = [ms / 1000 for event in mine if (ms := facts.number(event, "limiter_ms")) is not None]
    if not base or not took_s or not limiter_s:
        lacking = "accepted requests to compare with" if not base else "times of the requests or of the limiter"
        return say.unknown(check, f"there are no {lacking}")
    (high, word), (base_high, base_word) = facts.high_latency(took_s), facts.high_latency(base)
    limiter_high, limiter_word = facts.high_latency(limiter_s)
    added_s = high - base_high
    measured = (
        f"{added_s * 1000:+.0f} ms ({word} of {len(took_s)}: {high * 1000:.0f} ms, {base_word} of {len(base)} before:"
        f" {base_high * 1000:.0f} ms), limiter {limiter_word} {limiter_high * 1000:.0f} ms"
    )
    if added_s > bound_s or limiter_high > bound_s:
        slow = sorted(mine, key=lambda event: -(_took_s(event) or 0.0))[:5]
        return say.failed(check, f"at most {bound_s * 1000:.0f} ms added", measured, facts.indexes(slow))
    reason = check.arguments["reason"]
    return say.passed(check, f"all {len(mine)} requests admitted{_as(reason)}; added {measured}", facts.indexes(mine))


def _accepted(event: history.Event) -> bool:
    status, made = facts.status(event), facts.decisions(event)
    good = all(decided.outcome in _GOOD for decided in made.values())
    return bool(made) and good and status is not None and status < 400


def _took_s(event: history.Event) -> float | None:
    sent, answered = facts.number(event, "sent_s"), facts.number(event, "answered_s")
    return None if sent is None or answered is None else answered - sent


KIND = kinds.CheckKind(
    name="all-admitted",
    summary="every request is admitted for the stated reason, within a bound of added latency",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "reason"],
        "dependentRequired": {"added_latency_p99": ["against"], "against": ["added_latency_p99"]},
        "properties": {
            "load": {"type": "string", "description": "the load that is all admitted"},
            "reason": {
                "type": "string",
                "enum": ["none", "store_unavailable", "misconfigured", "any"],
                "description": "why the limiters admitted; any: whatever the reason",
            },
            "added_latency_p99": {
                "type": "string",
                "format": "duration",
                "description": "how much slower it may be than `against`, as in 250ms",
            },
            "against": {"type": "string", "description": "the load whose accepted requests are the measure"},
        },
    },
    judge=judge,
    looks_at="load",
)
