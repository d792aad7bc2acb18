"""A budget policy as reconcile takes it: read from a GridNetwork's spec, or refused in sentences for people.

Admission says most of this first. It is said again here, since a stale CRD in the cluster says nothing, and a number that
came by another way may be NaN or infinite. A policy is taken whole or not at all.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from grid_operator import limits, wording

_PLACE = "budgetPolicy"
FIRST_EPOCH = 1


@dataclass(frozen=True, slots=True)
class Policy:
    """`caps` in USD, exactly as they were written, by tenant."""

    epoch: int
    caps: Mapping[str, Decimal]


class Invalid(Exception):
    """The policy is not taken. `mistakes` are sentences, each naming the tenant, the value, the rule and the place."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(wording.together(self.mistakes))


Taken = Policy | Invalid | None  # None: there is no policy


def read(document: object) -> Policy | None:
    """The policy of `spec.budgetPolicy`; None when there is none. Raises Invalid with every mistake."""
    if document is None:
        return None
    if not isinstance(document, Mapping):
        raise Invalid([f"{_PLACE} is {wording.shown(document)}: it must be an object"])
    epoch, tenants = document.get("epoch", FIRST_EPOCH), document.get("tenants")
    mistakes = list(_wrong_epoch(epoch))
    if not isinstance(tenants, list):
        mistakes.append(f"{_PLACE}.tenants is {wording.shown(tenants)}: it must be a list")
    elif len(tenants) > limits.TENANTS:
        mistakes.append(f"{_PLACE}.tenants has {len(tenants)} tenants: there may be at most {limits.TENANTS}")
    else:
        mistakes += _wrong_tenants(tenants)
    if mistakes or not isinstance(tenants, list):
        raise Invalid(mistakes)
    return Policy(int(epoch), {entry["tenantId"]: Decimal(repr(entry["capUsd"])) for entry in tenants})


def _wrong_epoch(epoch: object) -> Iterator[str]:
    whole = isinstance(epoch, int) or (isinstance(epoch, float) and epoch.is_integer())
    if isinstance(epoch, bool) or not whole or not FIRST_EPOCH <= epoch <= limits.LARGEST_EPOCH:  # type: ignore[operator]
        rule = f"it must be a whole number from {FIRST_EPOCH} to {limits.LARGEST_EPOCH}"
        yield f"{_PLACE}.epoch is {wording.shown(epoch)}: {rule}"


def _wrong_tenants(tenants: Sequence[object]) -> Iterator[str]:
    first: dict[str, int] = {}
    for index, entry in enumerate(tenants):
        place = f"({_PLACE}.tenants[{index}])"
        if not isinstance(entry, Mapping):
            yield f"a tenant is {wording.shown(entry)}: it must be an object with tenantId and capUsd {place}"
            continue
        tenant, cap = entry.get("tenantId"), entry.get("capUsd")
        rule = _wrong_id(tenant)
        if not rule and isinstance(tenant, str):
            rule = f"it stands there already, at [{first[tenant]}]" if tenant in first else ""
            first.setdefault(tenant, index)
        if rule:
            yield f"tenant id {wording.shown(tenant)}: {rule} {place}"
        rule = _wrong_cap(cap)
        if rule:
            yield f"tenant {wording.shown(tenant)} has capUsd {wording.shown(cap)}: {rule} {place}"


def _wrong_id(tenant: object) -> str:
    """The rule that it breaks, or ""."""
    if not isinstance(tenant, str):
        return "it must be a text"
    if not tenant.strip():
        return "it must hold a character that is no space"
    if any(unicodedata.category(character) == "Cc" for character in tenant):
        return "it must hold no control characters"
    if any("\ud800" <= character <= "\udfff" for character in tenant):
        return "it must be valid Unicode"
    if len(tenant) > limits.TENANT_CHARACTERS:
        return f"it has {len(tenant)} characters and may have {limits.TENANT_CHARACTERS}"
    return ""


def _wrong_cap(cap: object) -> str:
    """The rule that it breaks, or ""."""
    if isinstance(cap, bool) or not isinstance(cap, int | float):
        return "it must be a number"
    if not isinstance(cap, int) and not math.isfinite(cap):
        return "it must be a finite number"
    if cap < 0:
        return "it must be 0 or more"
    return f"it must be at most {limits.LARGEST_CAP_USD}" if cap > limits.LARGEST_CAP_USD else ""
