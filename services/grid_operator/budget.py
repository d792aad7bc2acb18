"""What each tenant has spent of its budget, from a policy and the ledger's totals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from grid_operator.policy import Policy

Row = dict[str, Any]


def status(policy: Policy | None, cents: Mapping[str, int]) -> list[Row]:
    """`status.budgetStatus`: a row for each tenant of the policy, sorted by id. Spend of others is not shown.

    `cents` are totals of the policy's epoch over all sites, 0 or more.
    """
    caps = policy.caps if policy else {}
    return [_row(tenant, caps[tenant], cents.get(tenant, 0)) for tenant in sorted(caps)]


def usd(cents: int) -> float:
    """The double next to cents / 100. Below 2^46 USD each cent has its own, and its shortest text has two decimals."""
    return float(Decimal(cents) / 100)


def ratio(cents: int, cap: Decimal) -> float:
    """cents / 100 / cap from 0 to 1: 1 just when the cap is reached, 0 just when nothing is spent.

    With cap 0 there is nothing in between. Never falls when cents grow.
    """
    if cents <= 0:
        return 0.0
    exact = Fraction(cents, 100)
    if exact >= Fraction(cap):
        return 1.0
    return min(float(exact / Fraction(cap)), math.nextafter(1.0, 0.0))  # rounding must not reach the cap


def _row(tenant: str, cap: Decimal, cents: int) -> Row:
    return {"tenantId": tenant, "spendUsd": usd(cents), "capUsd": float(cap), "spendRatio": ratio(cents, cap)}
