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


KIND = kinds.once(
    name="redis-flush-scripts",
    summary="a running Redis forgets its cached scripts",
    domain="public-api-mutation",
    targets=("deployment",),
    schema=SCHEMA,
    address=address,
    done="scripts flushed",
    before="scripts not flushed",
    waits_for="Redis answers",
)
