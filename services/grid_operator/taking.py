"""A GridNetwork's policy as this site takes it: read, validated, and of an epoch that has not passed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from grid_operator import mutations, policy, status


def taker(active: frozenset[str]) -> status.Taker:
    """What reads a resource's policy, with the named defects that are switched on."""
    if mutations.VALIDATOR_NEVER_CALLED in active:
        return _unvalidated
    return _dumped if mutations.DEBUG_DUMP_AS_MESSAGE in active else status.take_policy


def in_force(taken: policy.Taken, epoch: int) -> policy.Taken:
    """The policy, unless `epoch`, which has begun here, is above its own: that one is refused for good."""
    if isinstance(taken, policy.Policy) and taken.epoch < epoch:
        rule = f"epoch {epoch} has begun, and an epoch that has passed does not come back"
        return policy.Invalid([f"budgetPolicy.epoch is {taken.epoch}: {rule}"])
    return taken


def _dumped(resource: Mapping[str, Any]) -> policy.Taken:
    taken = status.take_policy(resource)
    return policy.Invalid([repr(taken)]) if isinstance(taken, policy.Invalid) else taken


def _unvalidated(resource: Mapping[str, Any]) -> policy.Taken:
    """A planted defect: whatever can be read as a tenant and a cap is one, and the last of two wins."""
    document = (resource.get("spec") or {}).get("budgetPolicy")
    if not isinstance(document, Mapping):
        return None
    caps = {}
    for entry in document.get("tenants") or ():
        cap = entry.get("capUsd", 0)
        caps[str(entry.get("tenantId", ""))] = Decimal(repr(cap)) if math.isfinite(cap) else Decimal(0)
    return policy.Policy(int(document.get("epoch", policy.FIRST_EPOCH)), caps)
