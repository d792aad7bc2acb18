"""refused-on-each-pod: every pod that was there when the load began refused a request (429) in time."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, within_s = check.arguments["load"], check.arguments["within_s"]
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    listed = facts.pods_before(events, load)
    names = [str(pod.get("name")) for pod in facts.pods(listed)] if listed else []
    if not names:
        return say.unknown(check, f"no list of pods was read before load {load}")
    began_s = next(e.at_s for e in history.of_kind(events, "load-started") if e.data.get("load") == load)
    mine = history.requests(events, load)
    first: dict[str, history.Event] = {}
    for event in sorted(mine, key=lambda event: facts.number(event, "answered_s") or 0.0):
        if facts.status(event) == 429 and facts.number(event, "answered_s") is not None:
            first.setdefault(facts.text(event, "pod"), event)
    asked = {facts.text(event, "pod") for event in mine if facts.status(event) is not None}
    unasked = [name for name in names if name not in asked]
    lenient = [name for name in names if name in asked and name not in first]
    after_s = {name: (facts.number(first[name], "answered_s") or 0.0) - began_s for name in names if name in first}
    late = [name for name, by_s in after_s.items() if by_s > within_s]
    expected = f"a 429 from each of {say.count(len(names), 'pod')} within {within_s:g} s"
    if lenient:
        proof = [event.index for event in mine if facts.text(event, "pod") in lenient]
        return say.failed(check, expected, f"none from {say.some(lenient)}", proof)
    if late:
        seen = say.some(f"{name} after {after_s[name]:.2f} s" for name in late)
        return say.failed(check, expected, seen, facts.indexes(first[name] for name in late))
    if unasked:
        return say.unknown(check, f"no answer came from {say.some(unasked)}", [listed.index] if listed else [])
    slowest = max(after_s, key=lambda name: after_s[name])
    sentence = f"each of {say.count(len(names), 'pod')} refused within {within_s:g} s ({slowest} last, {after_s[slowest]:.2f} s)"
    return say.passed(check, sentence, facts.indexes(first[name] for name in names))


KIND = kinds.CheckKind(
    name="refused-on-each-pod",
    summary="every pod refuses a request in time: each has the store again",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "within"],
        "properties": {
            "load": {"type": "string", "description": "the load that asks every pod"},
            "within": {"type": "string", "format": "duration", "description": "counted from the load's start"},
        },
    },
    judge=judge,
    looks_at="load",
)
