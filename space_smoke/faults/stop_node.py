"""`stop-node`: a Kind node is shut down (docker stop). Its pods end with it; once it is started they are made again from
their specs, with other addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.faults import pause_node
from space_smoke.model import kinds, objects, scenario


def wanted(_arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"state": "exited"}


KIND = kinds.beyond(
    name="stop-node",
    summary="a Kind node is shut down",
    domain="public-api-mutation",
    targets=("node",),
    schema=pause_node.SCHEMA,
    address=pause_node.address,
    wanted=wanted,
    describe=pause_node.describe,
)
