"""`pause-node`: every process of a Kind node is frozen (docker pause). Connections to it stay open and nobody answers.

`container` tells the other kinds that reach into a node which container it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {"type": "object", "additionalProperties": False, "properties": {}}
_PROVIDER = "kind://docker/"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def container(target: objects.Object) -> str:
    """The container that a node is. Kind writes spec.providerID as kind://docker/CLUSTER/NODE. Raises Unfit."""
    provider = str(objects.dig(target, "spec", "providerID") or "")
    cluster, _, name = provider.removeprefix(_PROVIDER).partition("/")
    if not provider.startswith(_PROVIDER) or not cluster or not name:
        raise kinds.Unfit(
            f"{objects.ref_of(target)} has providerID {provider!r}: only a Kind node, {_PROVIDER}CLUSTER/NODE, can be reached"
        )
    return name


def address(_arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """{"container": name}; the container's id is added when it is sensed. Raises Unfit."""
    if _CONTROL_PLANE in objects.labels_of(target):
        raise kinds.Unfit(
            f"{objects.ref_of(target)} is a control plane: the API server would go with it, and the Lease"
        )
    return {"container": container(target)}


def wanted(_arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"state": "paused"}


def describe(value: objects.Json) -> str:
    state = value.get("state") if isinstance(value, Mapping) else None
    return "stopped" if state == "exited" else str(state or "not known")


KIND = kinds.beyond(
    name="pause-node",
    summary="a Kind node is frozen",
    domain="public-api-mutation",
    targets=("node",),
    schema=SCHEMA,
    address=address,
    wanted=wanted,
    describe=describe,
)
