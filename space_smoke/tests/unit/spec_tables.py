"""Small tables of kinds for the tests of `space_smoke.spec`, and a scenario that is right, to be made wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from space_smoke.spec import schema


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    schema: Mapping[str, Any]
    summary: str = "for tests"
    targets: tuple[str, ...] = ("deployment",)
    looks_at: str = ""


@dataclass(frozen=True, slots=True)
class Closed:
    """A closed object schema from its properties."""

    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    schema: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        closed = {"type": "object", "additionalProperties": False, "required": list(self.required)}
        object.__setattr__(self, "schema", closed | {"properties": self.properties})


DURATION = {"type": "string", "format": "duration"}
RATE = {"type": "string", "format": "rate"}
COUNT = {"type": "integer", "minimum": 1}
PODS = {"enum": ["each", "service"], "default": "each"}
NAMES = {"oneOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
STEP = Closed({"do": {"enum": ["create", "command"]}, "timeout": DURATION | {"default": "10s"}}, ("do",)).schema
ENV = {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}
ADMITTED = Closed({"load": {}, "against": {}, "added": DURATION}).schema

FAULTS = {
    kind.name: kind
    for kind in (
        Kind("scale", Closed({"replicas": {"type": "integer", "minimum": 0, "maximum": 50}}, ("replicas",)).schema),
        Kind("set-env", Closed({"env": ENV | {"propertyNames": {"pattern": "^[A-Z_]+$"}}}, ("env",)).schema),
        Kind("cordon", Closed({}).schema, targets=("node", "group")),
        Kind("pause", Closed({}).schema, targets=("node",)),
        Kind("cut", Closed({"to": {"type": "object"}, "namespace": {"type": "string"}}).schema, targets=("node",)),
    )
}
LOADS = {
    kind.name: kind
    for kind in (
        Kind("api-state", Closed({"pods": PODS}).schema),
        Kind("ecw-create", Closed({"requests": COUNT, "rate": RATE, "client": {"type": "string"}}).schema),
        Kind("ecw-connect", Closed({"requests": COUNT, "hold": DURATION, "for": DURATION, "pods": PODS}).schema),
        Kind("ecw-session", Closed({"steps": {"type": "array", "minItems": 1, "items": STEP}}, ("steps",)).schema),
    )
}
CHECKS = {
    kind.name: kind
    for kind in (
        Kind("token-bucket", Closed({"load": {}, "burst": COUNT, "refill": RATE}).schema, looks_at="load"),
        Kind("all-admitted", ADMITTED | {"dependentRequired": {"added": ["against"]}}, looks_at="load"),
        Kind("decisions-add-up", Closed({"phases": NAMES, "loads": NAMES, "store_faults": {}}).schema),
    )
}
TABLES = schema.Tables(FAULTS, LOADS, CHECKS, ("space", "grid-a", "grid-b"))

RIGHT = """\
name: caps_hold
claim: The caps hold.
labels: [limiter]
budget: 90s
bench:
  charts: [space-redis, space-api]
  replicas: {space-api: 2}
faults:
  - name: no-store
    kind: scale
    target: deployment/space-redis
    replicas: 0
    phases: [lost]
phases:
  - name: standing
    loads:
      - {name: drain, kind: ecw-create, requests: 3, rate: 90/m}
  - name: lost
    loads:
      - {name: open, kind: ecw-connect, hold: 250ms}
  - name: back
checks:
  - {kind: token-bucket, load: drain, burst: 2, refill: 5/s}
  - {kind: decisions-add-up, phases: all}
"""
