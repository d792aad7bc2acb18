"""`redis-config`: a running Redis gets another value for one of its settings (CONFIG SET), as by an operator's hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {
    "type": "object",
    "required": ["setting", "value"],
    "additionalProperties": False,
    "properties": {
        "setting": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$", "description": "its name as in redis.conf"},
        "value": {"type": "string", "description": "its value while the fault is up, as CONFIG GET shows it"},
    },
}


# With these another value may keep everybody out, us too, or refuse the write that raises our fence: nobody could put it
# back.
_SHUTS_OUT = (
    "bind",
    "maxclients",
    "min-replicas-to-write",
    "min-slaves-to-write",
    "port",
    "requirepass",
    "tls-port",
    "unixsocket",
)


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """{"setting": name}; Unfit for a setting that may keep us from putting it back."""
    setting = arguments["setting"]
    if setting in _SHUTS_OUT:
        raise kinds.Unfit(
            f"redis-config: with another {setting}, {objects.ref_of(target)} might not let anybody put it back"
        )
    return {"setting": setting}


def wanted(arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"value": arguments["value"]}


def describe(value: objects.Json) -> str:
    return repr(value["value"]) if isinstance(value, Mapping) and "value" in value else "not known"


KIND = kinds.beyond(
    name="redis-config",
    summary="a setting of a running Redis gets another value",
    domain="public-api-mutation",
    targets=("deployment",),
    schema=SCHEMA,
    address=address,
    wanted=wanted,
    describe=describe,
)
