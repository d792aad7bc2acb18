"""Whose packets a network fault drops, from what the API server knows of pods and nodes; pure. Used by network.

An end is written as pod labels, as a network, or left out (anyone). `completed` turns both into addresses, once, and
chooses who can send a packet that must meet the rules: without that nobody could tell whether they do anything.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke.bench.outside import place
from space_smoke.model import objects

_MOST_RULES = 64
_DISCARD = 9  # RFC 863: where nobody answers; for a probe of rules that are for any port


@dataclass(frozen=True, slots=True, order=True)
class End:
    """Who can send or be sent to. `pod` is "" for a node itself and for an address outside of the cluster."""

    node: str
    address: str
    pod: str = ""


def completed(field: place.Field, node: str, pods: Sequence[objects.Object], nodes: Sequence[objects.Object]) -> Any:
    """The field with `sources` and `destinations` (networks; empty: anyone), `chain`, and `sender`: {"container",
    "address" ("": the node itself), "to"}. Raises Refusal(422)."""
    everyone = _everyone(pods, nodes)
    sources, senders = _side(field, "from", pods, everyone)
    destinations, receivers = _side(field, "to", pods, everyone)
    ways = 2 if field.get("both_ways") else 1
    if max(1, len(sources)) * max(1, len(destinations)) * ways * len(_what(field)) > _MOST_RULES:
        raise place.Refusal(422, f"{len(sources)} times {len(destinations)} addresses are too many for one fault")
    pairs = [(a, b) for a in senders for b in receivers if _passes(a, b, node)]
    if not pairs:
        raise place.Refusal(422, f"no packet that a pod or node of this cluster can send so passes {node}")
    sender, receiver = min(pairs, key=lambda pair: (pair[0].node != node, pair[1].node != node, pair))
    whole = {
        **field,
        "sources": sources,
        "destinations": destinations,
        "sender": {
            "container": sender.node,  # Kind names a node as its container
            "address": sender.address if sender.pod else "",
            "to": receiver.address,
        },
    }
    digest = hashlib.sha256(json.dumps([matches(whole), verdict(whole)]).encode()).hexdigest()
    return {**whole, "chain": f"SPACE-SMOKE-{digest[:10]}"}


def matches(field: place.Field) -> list[str]:
    """One iptables match per rule."""
    pairs = [(a, b) for a in field["sources"] or [""] for b in field["destinations"] or [""]]
    if field.get("both_ways"):
        pairs += [(b, a) for a, b in pairs if (b, a) not in pairs]
    return [(f"-s {a} " * bool(a) + f"-d {b}" * bool(b)).strip() + what for a, b in pairs for what in _what(field)]


def _what(field: place.Field) -> list[str]:
    """What is matched beside addresses. A port is one of a protocol: for any, those of both that have ports."""
    protocol, port = field["protocol"], field.get("port")
    if port:
        return [f" -p {one} -m {one} --dport {port}" for one in (("tcp", "udp") if protocol == "any" else (protocol,))]
    return ["" if protocol == "any" else f" -p {protocol}"]


def certain(field: place.Field) -> bool:
    """Whether every packet that matches is dropped."""
    return float(field.get("probability", 1)) >= 1


def verdict(field: place.Field) -> str:
    """What happens to a packet that matches."""
    if certain(field):
        return "-j DROP"
    return f"-m statistic --mode random --probability {field['probability']:.6f} -j DROP"


def probe(field: place.Field) -> tuple[str, int]:
    """By which protocol and to which port a packet is sent that the rules must meet."""
    protocol = field["protocol"]
    return ("udp" if protocol == "any" else protocol), int(field.get("port", _DISCARD))


def _side(
    field: place.Field, end: str, pods: Sequence[objects.Object], everyone: Sequence[End]
) -> tuple[list[str], list[End]]:
    """The networks of one end, and who of them is known to be there."""
    wanted = field.get(end)
    if wanted is None:
        return [], list(everyone)
    if isinstance(wanted, str):
        network = ipaddress.IPv4Network(wanted)
        inside = [one for one in everyone if ipaddress.IPv4Address(one.address) in network]
        if not inside and end == "to":
            inside = [End("", str(next(iter(network.hosts()))))]
        return [str(network)], inside
    namespace = wanted.get("namespace", field["namespace"])
    labels = {key: value for key, value in wanted.items() if key != "namespace"}
    found = [pod for pod in pods if pod["metadata"]["namespace"] == namespace and _has(pod, labels)]
    if not found:
        shown = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        raise place.Refusal(422, f"namespace {namespace} has no running pod" + f" with labels {shown}" * bool(shown))
    hosted = next((pod["metadata"]["name"] for pod in found if pod["spec"].get("hostNetwork")), "")
    if hosted:
        raise place.Refusal(422, f"pod {hosted} uses its node's own network, so its packets cannot be told from others")
    ends = sorted(_end(pod) for pod in found)
    return [f"{one.address}/32" for one in ends], ends


def _passes(sender: End, receiver: End, node: str) -> bool:
    """Whether a packet is forwarded by the node: not its own, not to itself, and to or from a pod of it."""
    if sender == receiver or not sender.node:
        return False
    return (sender.node == node and bool(sender.pod) and (receiver.node != node or bool(receiver.pod))) or (
        receiver.node == node and bool(receiver.pod) and sender.node != node
    )


def _everyone(pods: Sequence[objects.Object], nodes: Sequence[objects.Object]) -> list[End]:
    """Who may be chosen to send: not the pods of jobs, which soon end."""
    lasting = [pod for pod in pods if pod["spec"].get("restartPolicy", "Always") == "Always"]
    found = [_end(pod) for pod in lasting if not pod["spec"].get("hostNetwork")]
    return sorted([*found, *(End(name, address) for name, address in _addresses(nodes))])


def running(pods: Sequence[objects.Object]) -> list[objects.Object]:
    """The pods that have an address and keep it for now."""
    return [
        pod
        for pod in pods
        if objects.dig(pod, "status", "podIP")
        and objects.dig(pod, "status", "phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
    ]


def _end(pod: objects.Object) -> End:
    return End(str(pod["spec"]["nodeName"]), str(pod["status"]["podIP"]), pod["metadata"]["name"])


def _has(pod: objects.Object, wanted: Mapping[str, str]) -> bool:
    return wanted.items() <= objects.labels_of(pod).items()


def _addresses(nodes: Sequence[objects.Object]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        for one in objects.dig(node, "status", "addresses") or ():
            if one["type"] == "InternalIP" and ":" not in one["address"]:
                yield node["metadata"]["name"], str(one["address"])
