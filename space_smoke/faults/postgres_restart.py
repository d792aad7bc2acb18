"""`postgres-restart`: the Postgres server restarts, sessions and all. It cannot be taken back: putting it back is waiting
until the server takes connections again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "mode": {
            "enum": ["fast", "immediate"],
            "description": "fast: sessions are ended in order; immediate: as after a crash. fast unless said",
        }
    },
}


def address(arguments: scenario.Arguments, _target: objects.Object) -> Mapping[str, Any]:
    """The server's start time is added when it is sensed: `done` means that it is another one now."""
    return {"mode": arguments.get("mode", "fast")}


KIND = kinds.once(
    name="postgres-restart",
    summary="the Postgres server restarts",
    domain="public-api-mutation",
    targets=("statefulset",),
    schema=SCHEMA,
    address=address,
    done="restarted",
    before="not restarted",
    waits_for="the restarted server takes connections",
)
