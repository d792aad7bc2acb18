"""bucket-full-again: after the store was restarted the activation bucket gives its whole burst at once, and no more.

That tells only if refill cannot explain it. Between the last admission of `after`, which emptied the bucket, and the end
of this load, refill * t tokens came back; they must be fewer than the burst, or it is unknown. A bucket that was not full
again admits at most those, one more for what was left, and a bucket that forgets all the time admits more than burst + refill * t.
"""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, after = check.arguments["load"], check.arguments["after"]
    burst, refill_rps = check.arguments["burst"], check.arguments["refill_rps"]
    if why := facts.unfinished(events, load, after):
        return say.unknown(check, why)
    mine, before = _decided(events, load), _decided(events, after)
    without = [event for event in mine if _reason(event) != "none"]
    if without:
        seen = f"{len(without)} of {len(mine)} made without it ({_reason(without[0])})"
        return say.failed(check, "every decision to be the store's", seen, facts.indexes(without))
    emptied = [event for event in before if _admitted(event)]
    if not any(not _admitted(event) for event in before) or not emptied:
        return say.unknown(check, f"load {after} did not empty the bucket", facts.indexes(before))
    silent = [event for event in history.requests(events, load) if facts.status(event) is None]
    if silent or not mine:
        return say.unknown(
            check, f"{len(silent)} of load {load} got no answer, {len(mine)} a decision", facts.indexes(silent)
        )
    began_s, ended_s = min(map(_asked_s, mine)), max(map(_known_s, mine))
    admitted = [event for event in mine if _admitted(event)]
    most = burst + refill_rps * (ended_s - began_s) + 1
    if len(admitted) > most:
        expected = (
            f"at most {most:.1f} admitted in {ended_s - began_s:.2f} s (burst {burst} + {refill_rps:g}/s, and one)"
        )
        return say.failed(check, expected, str(len(admitted)), facts.indexes(admitted))
    back = refill_rps * (ended_s - min(map(_asked_s, emptied[-1:]))) + 1
    if back >= burst:
        why = f"refill alone may have brought {back:.1f} of {burst} tokens back since load {after}"
        return say.unknown(check, why, facts.indexes(mine))
    if len(admitted) < burst:
        if len(mine) < burst:
            return say.unknown(check, f"load {load} made {len(mine)} requests against a burst of {burst}")
        return say.failed(
            check, f"the whole burst of {burst} at once", f"{len(admitted)} admitted", facts.indexes(mine)
        )
    sentence = (
        f"{len(admitted)} of {len(mine)} admitted, the burst of {burst}; refill had brought back at most {back:.1f}"
    )
    return say.passed(check, sentence, facts.indexes(mine))


def _decided(events: Sequence[history.Event], load: str) -> list[history.Event]:
    made = [event for event in history.requests(events, load) if facts.decision(event, "activation")]
    return sorted(made, key=_asked_s)


def _admitted(event: history.Event) -> bool:
    made = facts.decision(event, "activation")
    return made is not None and made.outcome == "admitted"


def _reason(event: history.Event) -> str:
    made = facts.decision(event, "activation")
    return made.reason if made else ""


def _asked_s(event: history.Event) -> float:
    return facts.number(event, "sent_s") or event.at_s


def _known_s(event: history.Event) -> float:
    """When the decision was certainly made: its stamp, else when the answer came."""
    return facts.number(event, "decided_s") or facts.number(event, "answered_s") or event.at_s


KIND = kinds.CheckKind(
    name="bucket-full-again",
    summary="after its store's restart the activation bucket gives its whole burst, and no more",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "after", "burst", "refill"],
        "properties": {
            "load": {"type": "string", "description": "the load that draws after the restart"},
            "after": {"type": "string", "description": "the load that emptied the bucket before it"},
            "burst": {"type": "integer", "minimum": 2, "description": "tokens in a full bucket"},
            "refill": {"type": "string", "format": "rate", "description": "tokens that come back, as in 6/m"},
        },
    },
    judge=judge,
    looks_at="load",
)
