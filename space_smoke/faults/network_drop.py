"""`network-drop`: packets between pods, as they pass a node, are dropped without an answer.

Only what the node forwards is concerned: packets of its pods, also to pods of the same node, and packets that come to
them from other nodes. The node's own packets pass, such as the kubelet's probes: the network is broken, not the pods.
Pods are named by labels, each end in a namespace of its own if it says so, and their addresses are looked up once, when the
fault is raised: a pod that comes later has another address and is not concerned. `for` lets the rules end by themselves, so that they go even if nobody comes to remove them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from space_smoke.faults import pause_node
from space_smoke.model import kinds, objects, scenario

NAMESPACE = "namespace"
_HOME = "space"
_CIDR = r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$"


def _end(whose: str) -> dict[str, Any]:
    return {
        "type": ["object", "string"],
        "pattern": _CIDR,
        "patternErrorMessage": "write pod labels as a map, or a network such as 10.0.0.0/8",
        "minProperties": 1,
        "properties": {
            NAMESPACE: {"type": "string", "minLength": 1, "description": "where they are; alone: all pods there"}
        },
        "additionalProperties": {"type": "string"},
        "description": f"{whose}: labels of pods, with `{NAMESPACE}` beside them where it is another than the fault's, or a "
        "network such as 10.0.0.0/8; anyone where it is left out",
    }


PROPERTIES: Mapping[str, Any] = {
    "from": _end("who sends"),
    "to": _end("who is sent to"),
    NAMESPACE: {
        "type": "string",
        "minLength": 1,
        "description": f"where pods are looked up whose end says nothing; {_HOME} unless said",
    },
    "protocol": {"enum": ["tcp", "udp", "any"], "description": "any unless said; with a port: tcp and udp"},
    "port": {
        "type": "integer",
        "minimum": 1,
        "maximum": 65535,
        "description": "the port that is sent to: answers from it pass, unless they go to that port too",
    },
    "both-ways": {"type": "boolean", "description": "also packets from `to` to `from`; false unless said"},
    "for": {"type": "string", "format": "duration", "description": "the rules end by themselves after it"},
}
SCHEMA: kinds.Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": PROPERTIES,
}


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """Which packets, as they are written; addresses and the chain's name are added when it is sensed. Raises Unfit."""
    if "from" not in arguments and "to" not in arguments:
        raise kinds.Unfit("say whose packets: `from:`, `to:` or both")
    return {
        "container": pause_node.container(target),
        NAMESPACE: arguments.get(NAMESPACE, _HOME),
        "protocol": arguments.get("protocol", "any"),
        **{end: _checked(arguments[end]) for end in ("from", "to") if end in arguments},
        **({"port": arguments["port"]} if "port" in arguments else {}),
        **({"both_ways": True} if arguments.get("both-ways") else {}),
        **({"for_s": arguments["for_s"]} if "for_s" in arguments else {}),
    }


def _checked(end: Any) -> Any:
    if isinstance(end, str):
        try:
            ipaddress.IPv4Network(end)
        except ValueError as error:
            raise kinds.Unfit(f"{end!r} is not a network: {error}") from error
        return end
    return dict(end)


def reaches(said: Mapping[str, Any]) -> list[str]:
    """The namespaces of the pods that arguments, or a field, name."""
    ends = [said[end] for end in ("from", "to") if isinstance(said.get(end), Mapping)]
    return [str(end.get(NAMESPACE, said.get(NAMESPACE, _HOME))) for end in ends]


def wanted(_arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"rules": True}


def describe(value: objects.Json) -> str:
    if not isinstance(value, Mapping):
        return "not known"
    rules = value.get("rules")
    return "packets dropped" if rules is True else "no rules" if rules is False else "other rules"


KIND = kinds.beyond(
    name="network-drop",
    summary="packets between pods are dropped in a node",
    domain="public-api-mutation",
    targets=("node",),
    schema=SCHEMA,
    address=address,
    wanted=wanted,
    describe=describe,
    reaches=reaches,
)
