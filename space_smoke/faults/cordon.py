"""`cordon`: a node takes no new pods (kubectl cordon). The scheduler goes by the taint that Kubernetes adds for it, so the
fault is in effect once that taint is there, and over once it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {"type": "object", "additionalProperties": False, "properties": {}}


def address(_arguments: scenario.Arguments, _target: objects.Object) -> Mapping[str, Any]:
    return {"path": "spec.unschedulable"}


def read(target: objects.Object, _field: Mapping[str, Any]) -> objects.Json:
    """{"unschedulable": true | false}, or {"absent": true}, as which the API server stores false."""
    spec = target.get("spec") or {}
    return {"unschedulable": spec["unschedulable"]} if "unschedulable" in spec else {"absent": True}


def wanted(_arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"unschedulable": True}


def write(target: objects.Object, field: Mapping[str, Any], value: objects.Json) -> list[objects.Operation]:
    """RFC 6902 cannot test that a key is absent: then the whole spec as it was read is tested, which is small."""
    now = read(target, field)
    if "unschedulable" in now:
        guard = objects.test(now["unschedulable"], "spec", "unschedulable")
    else:
        guard = objects.test(target.get("spec") or {}, "spec")
    if "unschedulable" in value:
        return [guard, objects.put(value["unschedulable"], "spec", "unschedulable")]
    return [guard, objects.drop("spec", "unschedulable")] if "unschedulable" in now else []


def describe(value: objects.Json) -> str:
    return "cordoned" if value.get("unschedulable") else "schedulable"


KIND = kinds.FaultKind(
    name="cordon",
    summary="a node takes no new pods",
    domain="worker-cordon",
    targets=("node",),
    schema=SCHEMA,
    address=address,
    read=read,
    wanted=wanted,
    write=write,
    describe=describe,
)
