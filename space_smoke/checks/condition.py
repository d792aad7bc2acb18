"""condition: a condition of a site's GridNetwork has a status, and its message names what it is about: at the end of a watch,
or at some time of it. What was seen must be of the newest spec: a status that lags behind says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.checks import facts, say, spending
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    given = check.arguments
    if why := facts.unfinished(events, given["watch"]):
        return say.unknown(check, why)
    site, kind = given["site"], given["type"]
    seen = spending.readable(spending.samples(events, given["watch"], [site]))[site]
    if not seen:
        return say.unknown(check, f"site {site} was not seen")
    current = [sample for sample in seen if is_current(sample)]
    looked = current if given.get("when", "last") == "ever" else seen[-1:]
    if not current or (given.get("when", "last") == "last" and seen[-1] not in current):
        shown = seen[-1].shown or {}
        why = f"site {site} shows generation {shown.get('observed')} of {shown.get('generation')}"
        return say.unknown(check, why, [seen[-1].index])
    words = [str(word) for word in given.get("says", ())]
    for sample in looked:
        found = of(sample, kind)
        if found.get("status") == given["status"] and all(word in str(found.get("message")) for word in words):
            return say.passed(check, f"{kind} of site {site} is {told(found)}", [sample.index])
    named = f" with a message that names {' and '.join(map(repr, words))}" if words else ""
    expected = f"{kind} of site {site} to be {given['status']}{named}"
    return say.failed(check, expected, told(of(looked[-1], kind)), [looked[-1].index])


def is_current(sample: spending.Sample) -> bool:
    """Whether what it shows is about the newest spec."""
    shown = sample.shown or {}
    return shown.get("generation") is not None and shown.get("observed") == shown.get("generation")


def of(sample: spending.Sample, kind: str) -> Mapping[str, Any]:
    """Empty where there is no such condition."""
    found = ((sample.shown or {}).get("conditions") or {}).get(kind)
    return found if isinstance(found, Mapping) else {}


def told(found: Mapping[str, Any]) -> str:
    return f"{found['status']} ({found.get('reason')}: {found.get('message')})" if found else "not there"


KIND = kinds.CheckKind(
    name="condition",
    summary="a condition of a site's GridNetwork has a status, and its message names what it is about",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["watch", "site", "type", "status"],
        "properties": {
            "watch": spending.WATCH,
            "site": {"type": "string", "description": "whose GridNetwork"},
            "type": {"type": "string", "minLength": 1, "description": "as in BudgetPolicyValid"},
            "status": {"enum": ["True", "False", "Unknown"]},
            "says": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "description": "words of its message",
            },
            "when": {"enum": ["last", "ever"], "default": "last", "description": "at the watch's end, or at some time"},
        },
    },
    judge=judge,
    looks_at="watch",
)
