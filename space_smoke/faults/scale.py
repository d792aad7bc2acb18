"""`scale`: a Deployment or StatefulSet runs another number of replicas, usually none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {
    "type": "object",
    "required": ["replicas"],
    "additionalProperties": False,
    "properties": {
        "replicas": {"type": "integer", "minimum": 0, "maximum": 50, "description": "how many while it is up"}
    },
}


def address(_arguments: scenario.Arguments, _target: objects.Object) -> Mapping[str, Any]:
    return {"path": "spec.replicas"}


def read(target: objects.Object, _field: Mapping[str, Any]) -> objects.Json:
    """{"replicas": n}, or {"absent": true}: the API server fills the field in, but a record must not rely on it."""
    spec = target.get("spec") or {}
    return {"replicas": spec["replicas"]} if "replicas" in spec else {"absent": True}


def wanted(arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"replicas": arguments["replicas"]}


def write(target: objects.Object, field: Mapping[str, Any], value: objects.Json) -> list[objects.Operation]:
    now = read(target, field)
    guard = [objects.test(now["replicas"], "spec", "replicas")] if "replicas" in now else []
    if "replicas" in value:
        return [*guard, objects.put(value["replicas"], "spec", "replicas")]
    return [*guard, objects.drop("spec", "replicas")] if guard else []


def describe(value: objects.Json) -> str:
    if "replicas" not in value:
        return "replicas unset"
    return f"{value['replicas']} replica{'' if value['replicas'] == 1 else 's'}"


KIND = kinds.FaultKind(
    name="scale",
    summary="a Deployment or StatefulSet runs another number of replicas",
    domain="public-api-mutation",
    targets=("deployment", "statefulset"),
    schema=SCHEMA,
    address=address,
    read=read,
    wanted=wanted,
    write=write,
    describe=describe,
)
