"""How a site gossips, from its GridNetwork, its Secrets and its settings; what of it needs a new life to change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from common import kube
from grid_operator import keys, mutations, tuning
from swim.parameters import Parameters

_MIXED = "mixed"  # the one id of the mutation `networks-mixed`

Secret = Callable[[str], kube.Object | None]


class NotReady(Exception):
    """A Secret was not looked at yet."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`ring` seals packets, none leaves them plain; `secret` signs, None: the one that the database keeps."""

    network: str
    parameters: Parameters
    ring: tuple[bytes, ...]
    secret: bytes | None

    def continues(self, other: Plan) -> bool:
        """Whether a life under `other` can go on under this: other keys of a ring are taken in while it runs."""
        return dataclasses.replace(self, ring=()) == dataclasses.replace(other, ring=()) and bool(self.ring) == bool(
            other.ring
        )


def of_network(
    resource: Mapping[str, Any], base: Parameters, secret: Secret, active: frozenset[str] = frozenset()
) -> Plan:
    """The plan of a GridNetwork; `secret` gives a Secret by its name, None when it is not there, or raises NotReady.

    Raises keys.Unreadable, and ValueError for times that the gossip cannot work with.
    """
    spec = resource.get("spec") or {}
    tls = spec.get("tls") or {}
    ring, own = tls.get("swimKeyRef"), tls.get("siteKeyRef")
    if mutations.PACKETS_NOT_SEALED in active:
        ring = None
    network = spec.get("gridId") or resource["metadata"]["name"]
    return Plan(
        network=_MIXED if mutations.NETWORKS_MIXED in active else network,
        parameters=tuning.parameters(base, spec.get("swim")),
        ring=keys.ring(secret(ring["name"]), ring["name"], ring["key"]) if ring else (),
        secret=keys.one(secret(own["name"]), own["name"], own["key"]) if own else None,
    )


def secret_names(resource: Mapping[str, Any]) -> frozenset[str]:
    """The Secrets that the plan needs."""
    tls = (resource.get("spec") or {}).get("tls") or {}
    return frozenset(tls[ref]["name"] for ref in ("swimKeyRef", "siteKeyRef") if tls.get(ref))
