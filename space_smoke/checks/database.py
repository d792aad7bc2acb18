"""What the checks of a `postgres-profile` load share: its event, and the parts of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

_LOAD: kinds.Schema = {"type": "string", "description": "the postgres-profile load"}
Seen = history.Event
Judge = Callable[
    [scenario.Check, Sequence[history.Event], scenario.Scenario], verdict.Verdict
]  # as kinds.CheckKind has it


def judging(
    judge: Callable[[scenario.Check, Seen], verdict.Verdict],
) -> Judge:
    """A judge of the load's one event; without it, or with a load that did not end, nothing is known."""

    def judged(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
        load = check.arguments["load"]
        if why := facts.unfinished(events, load):
            return say.unknown(check, why)
        seen = next((event for event in history.of_kind(events, "database") if event.data.get("load") == load), None)
        return say.unknown(check, f"load {load} read no database") if seen is None else judge(check, seen)

    return judged


def kind(name: str, summary: str, judge: Judge, **more: kinds.Schema) -> kinds.CheckKind:
    """A kind that judges such a load; `more` are its other arguments, which must all be given."""
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["load", *more],
        "properties": {"load": _LOAD, **more},
    }
    return kinds.CheckKind(name=name, summary=summary, schema=schema, judge=judge, looks_at="load")


def part(seen: Seen, *keys: str) -> Mapping[str, Any]:
    """A mapping inside the event's data; empty where there is none."""
    found: Any = seen.data
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def rows(seen: Seen, key: str) -> list[Mapping[str, Any]]:
    """A list of mappings in the event's data."""
    found = seen.data.get(key)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []
