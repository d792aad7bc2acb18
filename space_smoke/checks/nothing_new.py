"""nothing-new: between two listings nothing was made: every object that is there now was there before, with the same uid, and
in the listings' namespace nothing was changed or removed either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.checks import say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    after, before = check.arguments["load"], check.arguments["against"]
    last, first = _listed(events, after), _listed(events, before)
    if last is None or first is None:
        return say.unknown(check, f"load {after if last is None else before} listed nothing")
    proof = [first.index, last.index]
    uids, old = _mapping(last, "uids"), _mapping(first, "uids")
    if not uids or not old:
        return say.unknown(check, "a listing is empty", proof)
    made = sorted(key for key, uid in uids.items() if old.get(key) != uid)
    versions, earlier = _mapping(last, "versions"), _mapping(first, "versions")
    moved = sorted(key for key in {*versions, *earlier} if versions.get(key) != earlier.get(key) and key not in made)
    if made or moved:
        words = [f"{key} made" for key in made] + [f"{key} changed or removed" for key in moved]
        return say.failed(check, "nothing to be made or changed", say.some(words), proof)
    return say.passed(check, f"{len(uids)} objects, and none of them new", proof)


def _listed(events: Sequence[history.Event], load: str) -> history.Event | None:
    return next((event for event in history.of_kind(events, "listed") if event.data.get("load") == load), None)


def _mapping(event: history.Event, key: str) -> Mapping[str, Any]:
    found = event.data.get(key)
    return found if isinstance(found, Mapping) else {}


KIND = kinds.CheckKind(
    name="nothing-new",
    summary="no object was made between two listings, and none changed in their namespace",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "against"],
        "properties": {
            "load": {"type": "string", "description": "the later listing"},
            "against": {"type": "string", "description": "the earlier listing"},
        },
    },
    judge=judge,
    looks_at="load",
)
