"""The status of a GridNetwork, whole, from what the site knows: applied as it is, what is absent here goes away there."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grid_operator import budget, conditions, policy
from grid_operator.model.network import MOST_SHOWN_PROVIDERS

PENDING, INITIALIZING, ACTIVE, DEGRADED = "Pending", "Initializing", "Active", "Degraded"

Taker = Callable[[Mapping[str, Any]], policy.Taken]


@dataclass(frozen=True, slots=True)
class Known:
    """What the site knows besides the resource.

    `cents` are the ledger's totals in `epoch`, its present one; `providers` are entries of `status.providers`, in order.
    `trouble` is as of `conditions.of_persistence`.
    """

    grid_id: str
    public_key: str
    mesh: conditions.Mesh = field(default_factory=conditions.Mesh)
    providers: Sequence[Mapping[str, Any]] = ()
    trouble: str | None = None
    epoch: int = policy.FIRST_EPOCH
    cents: Mapping[str, int] = field(default_factory=dict)


def of_network(
    resource: Mapping[str, Any],
    known: Known,
    now: datetime.datetime,
    take: Taker | None = None,
) -> dict[str, Any]:
    """The status that `resource`, a GridNetwork as the API server gave it, should have; `take` says what its policy is, in
    place of `take_policy`.

    While the policy is invalid, and while the ledger is in another epoch than the policy, there is no budget status:
    numbers that are shown are current.
    """
    generation = int(resource["metadata"].get("generation", 0))
    taken = (take or take_policy)(resource)
    wanted = [
        conditions.of_policy(taken),
        conditions.of_persistence(known.trouble),
        conditions.of_mesh(known.mesh),
    ]
    before = resource.get("status") or {}
    found: dict[str, Any] = {
        "phase": phase(wanted),
        "observedGeneration": generation,
        "gridId": known.grid_id,
        "publicKey": known.public_key,
        "connectedSites": len(known.mesh.alive),
        "distributedProviderCount": len(known.providers),
        "conditions": conditions.merged(wanted, before.get("conditions"), generation, now),
    }
    if known.mesh.unresolved:
        found["unresolvedSeeds"] = sorted(known.mesh.unresolved)
    if known.providers:
        found["providers"] = [dict(one) for one in known.providers[:MOST_SHOWN_PROVIDERS]]
    if isinstance(taken, policy.Policy) and taken.epoch == known.epoch:
        found["budgetEpoch"] = taken.epoch
        found["budgetStatus"] = budget.status(taken, known.cents)
    return found


def take_policy(resource: Mapping[str, Any]) -> policy.Taken:
    """The resource's policy, or why it is not taken."""
    try:
        return policy.read((resource.get("spec") or {}).get("budgetPolicy"))
    except policy.Invalid as invalid:
        return invalid


def phase(wanted: Sequence[conditions.Condition]) -> str:
    """Degraded when a condition does not hold, Initializing while one is not known, else Active."""
    seen = {one.status for one in wanted}
    if conditions.FALSE in seen:
        return DEGRADED
    return INITIALIZING if conditions.UNKNOWN in seen else ACTIVE
