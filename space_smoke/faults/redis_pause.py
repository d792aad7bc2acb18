"""`redis-pause`: Redis accepts connections and answers nobody for a while (CLIENT PAUSE). It ends by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

# Below, the pause would be over before its effect is seen; above, what is not answered outlasts the time to put it back.
_SHORTEST_S, _LONGEST_S = 5.0, 30.0

SCHEMA: kinds.Schema = {
    "type": "object",
    "required": ["for"],
    "additionalProperties": False,
    "properties": {
        "for": {"type": "string", "format": "duration", "description": "how long, 5s to 30s; then it ends by itself"},
        "mode": {
            "enum": ["all", "write"],
            "description": "all: no command is answered; write: none that could write. all unless said",
        },
    },
}


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """{"for_s": seconds, "mode": all or write}"""
    for_s = float(arguments["for_s"])
    if not _SHORTEST_S <= for_s <= _LONGEST_S:
        raise kinds.Unfit(
            f"redis-pause: {objects.ref_of(target)} would be paused for {for_s:g} s; "
            f"`for:` is {_SHORTEST_S:.0f}s to {_LONGEST_S:.0f}s"
        )
    return {"for_s": for_s, "mode": arguments.get("mode", "all")}


def wanted(_arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"paused": True}


def describe(value: objects.Json) -> str:
    return "paused" if value == {"paused": True} else "answering"


KIND = kinds.beyond(
    name="redis-pause",
    summary="a running Redis answers nobody for a while",
    domain="public-api-mutation",
    targets=("deployment",),
    schema=SCHEMA,
    address=address,
    wanted=wanted,
    describe=describe,
)
