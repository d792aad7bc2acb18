"""`redis-flush-scripts`: Redis forgets every cached script (SCRIPT FLUSH), as after a failover. It cannot be taken back:
clients load their scripts again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {"type": "object", "additionalProperties": False, "properties": {}}


def address(_arguments: scenario.Arguments, _target: objects.Object) -> Mapping[str, Any]:
    """What tells later whether it was done is added when it is sensed: the server's run and its count of flushes."""
    return {}


def wanted(_arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"done": True}


def describe(value: objects.Json) -> str:
    return "scripts flushed" if value == {"done": True} else "scripts not flushed"


KIND = kinds.FaultKind(
    name="redis-flush-scripts",
    summary="a running Redis forgets its cached scripts",
    domain="public-api-mutation",
    targets=("deployment",),
    schema=SCHEMA,
    address=address,
    read=kinds.read_outside,
    wanted=wanted,
    write=kinds.write_nothing,
    describe=describe,
    outside=True,
    reversible=False,
    waits_for="Redis answers",
)
