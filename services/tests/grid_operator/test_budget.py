"""Spend against budget: exact money, a ratio that says 1 just when the cap is reached."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid_operator import budget, limits
from grid_operator.policy import Policy
from tests.grid_operator.properties import quick

CENTS = st.integers(0, 100 * 2**46) | st.integers(0, 1000)
CAPS = st.decimals(0, limits.LARGEST_CAP_USD, allow_nan=False, allow_infinity=False) | st.sampled_from(
    [Decimal(0), Decimal("0.01"), Decimal("1e-9"), Decimal(limits.LARGEST_CAP_USD)]
)


def policy(**caps: float | str) -> Policy:
    return Policy(1, {tenant: Decimal(cap) for tenant, cap in caps.items()})


def test_there_is_a_row_for_each_tenant_of_the_policy_sorted_by_id() -> None:
    rows = budget.status(policy(b=10, a="0.5", é=1, Z=2), {"a": 25, "b": 2000, "stranger": 7})
    assert rows == [
        {"tenantId": "Z", "spendUsd": 0.0, "capUsd": 2.0, "spendRatio": 0.0},
        {"tenantId": "a", "spendUsd": 0.25, "capUsd": 0.5, "spendRatio": 0.5},
        {"tenantId": "b", "spendUsd": 20.0, "capUsd": 10.0, "spendRatio": 1.0},
        {"tenantId": "é", "spendUsd": 0.0, "capUsd": 1.0, "spendRatio": 0.0},
    ]


def test_without_a_policy_there_are_no_rows() -> None:
    assert budget.status(None, {"a": 1}) == []


@pytest.mark.parametrize(("cents", "expected"), [(0, 0.0), (1, 1.0), (2**53 - 1, 1.0)])
def test_a_cap_of_zero_is_used_up_by_the_first_cent(cents: int, expected: float) -> None:
    assert budget.ratio(cents, Decimal(0)) == expected


@quick
@given(CENTS)
def test_dollars_are_exact_to_the_cent_after_a_round_trip_through_json(cents: int) -> None:
    assert Decimal(json.dumps(budget.usd(cents))) * 100 == cents


@quick
@given(CENTS, CAPS)
def test_the_ratio_is_one_just_when_the_cap_is_reached_and_zero_just_when_nothing_is_spent(
    cents: int, cap: Decimal
) -> None:
    ratio = budget.ratio(cents, cap)
    assert 0 <= ratio <= 1
    assert (ratio == 0) is (cents == 0)
    assert (ratio == 1) is (cents > 0 and Decimal(cents) >= cap * 100)


@quick
@given(CENTS, CENTS, CAPS)
def test_the_ratio_never_falls_while_spend_grows(one: int, other: int, cap: Decimal) -> None:
    less, more = sorted((one, other))
    assert budget.ratio(less, cap) <= budget.ratio(more, cap)


def test_a_ratio_that_rounds_to_one_stays_below_it() -> None:
    assert 0.999 < budget.ratio(10**14 - 1, Decimal(10**12)) < 1
    assert budget.ratio(99, Decimal("0.99000000000000000001")) < 1
