"""attempts: each named attempt of a load was accepted, or refused for the stated reason. A refusal for another reason is a
failure: what was to be refused might be accepted once that other reason is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

_LONGEST = 300  # characters of what was said that a sentence takes


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, proof = check.arguments["load"], list[int]()
    for wanted in check.arguments["each"]:
        name = wanted["attempt"]
        made = [event for event in of_load(events, load) if event.data.get("attempt") == name]
        if not made:
            return say.unknown(check, f"load {load} made no attempt {name}", proof)
        for event in made:
            proof.append(event.index)
            if found := _difference(event, wanted):
                return say.failed(check, f"attempt {name} to be {found[0]}", found[1], [event.index])
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    return say.passed(check, f"{say.count(len(check.arguments['each']), 'attempt')} ended as stated", proof)


def of_load(events: Sequence[history.Event], load: str) -> list[history.Event]:
    return [event for event in history.of_kind(events, "attempt") if event.data.get("load") == load]


def _difference(event: history.Event, wanted: Mapping[str, Any]) -> tuple[str, str] | None:
    """What was expected and what was seen, where they differ."""
    said, code = facts.text(event, "said"), facts.text(event, "code")
    accepted = event.data.get("accepted")
    seen = (
        f"accepted ({said[:_LONGEST]})" if accepted is True else f"refused: {' '.join((code, said[:_LONGEST])).strip()}"
    )
    if accepted is not wanted["accepted"]:
        return "accepted" if wanted["accepted"] else f"refused with {_reason(wanted)}", seen
    if code != wanted.get("code", code):
        return f"refused with {_reason(wanted)}", seen
    words = " ".join(said.split())
    if missing := [one for one in wanted.get("says", ()) if one not in words]:
        return f"{'accepted' if accepted else 'refused'} with {missing[0]!r}", seen
    shows = event.data.get("shows")
    for key, value in wanted.get("shows", {}).items():
        found = shows.get(key) if isinstance(shows, Mapping) else None
        if found != value:
            return f"accepted with {key} {value}", str(found)
    return None


def _reason(wanted: Mapping[str, Any]) -> str:
    return " and ".join([*([wanted["code"]] if "code" in wanted else []), *map(repr, wanted.get("says", ()))])


KIND = kinds.CheckKind(
    name="attempts",
    summary="each named attempt was accepted, or refused for the stated reason",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "each"],
        "properties": {
            "load": {"type": "string", "description": "the load that made them"},
            "each": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["attempt", "accepted"],
                    "if": {"properties": {"accepted": {"const": False}}},
                    "then": {"required": ["says"]},
                    "properties": {
                        "attempt": {"type": "string", "description": "its name in the load"},
                        "accepted": {"type": "boolean"},
                        "code": {"type": "string", "description": "of the refusal: SQLSTATE, exit code or HTTP status"},
                        "says": {
                            "type": "array",
                            "minItems": 1,
                            "items": {"type": "string", "minLength": 1},
                            "description": "words that must be said, whatever the line breaks; a refusal needs some",
                        },
                        "shows": {
                            "type": "object",
                            "additionalProperties": {"type": "object"},
                            "description": "what was noted of it, exactly",
                        },
                    },
                },
            },
        },
    },
    judge=judge,
    looks_at="load",
)
