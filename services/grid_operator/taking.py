"""A GridNetwork's policy as this site takes it: read, validated, and of an epoch that has not passed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from grid_operator import mutations, policy, status


class Taking:
    """With the named defects that are switched on."""

    def __init__(self, active: frozenset[str] = frozenset()) -> None:
        self._validates = mutations.VALIDATOR_NEVER_CALLED not in active
        self._dumps = mutations.DEBUG_DUMP_AS_MESSAGE in active

    def read(self, resource: Mapping[str, Any]) -> policy.Taken:
        """The resource's policy, or why it is not taken."""
        return self._told(status.take_policy(resource)) if self._validates else _unvalidated(resource)

    def in_force(self, taken: policy.Taken, epoch: int) -> policy.Taken:
        """The policy, unless `epoch`, which has begun here, is above its own: that one is refused for good."""
        if isinstance(taken, policy.Policy) and taken.epoch < epoch and self._validates:
            rule = f"epoch {epoch} has begun, and an epoch that has passed does not come back"
            return self._told(policy.Invalid([f"budgetPolicy.epoch is {taken.epoch}: {rule}"]))
        return taken

    def _told(self, taken: policy.Taken) -> policy.Taken:
        return policy.Invalid([repr(taken)]) if self._dumps and isinstance(taken, policy.Invalid) else taken


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
