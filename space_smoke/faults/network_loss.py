"""`network-loss`: of the packets that `network-drop` would drop, each is dropped with a probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.faults import network_drop
from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {
    **network_drop.SCHEMA,
    "required": ["probability"],
    "properties": {
        **network_drop.PROPERTIES,
        # Below a hundredth the probe's own packets would all get through too often to tell that it is in effect.
        "probability": {
            "type": "number",
            "minimum": 0.01,
            "maximum": 1,
            "description": "of each packet to be lost, from 0.01 to 1",
        },
    },
}


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """As for network-drop, with the probability. Raises Unfit."""
    return {**network_drop.address(arguments, target), "probability": float(arguments["probability"])}


def describe(value: objects.Json) -> str:
    return network_drop.describe(value).replace("packets dropped", "packets lost at random")


KIND = kinds.beyond(
    name="network-loss",
    summary="packets between pods are lost at random in a node",
    domain="public-api-mutation",
    targets=("node",),
    schema=SCHEMA,
    address=address,
    wanted=network_drop.wanted,
    describe=describe,
    reaches=network_drop.reaches,
)
