"""The status of a GridNetwork: its schema takes it, idle changes nothing, and numbers that are shown are current."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid_operator import conditions, policy, status
from grid_operator.model import KINDS
from tests.grid_operator import admission
from tests.grid_operator.properties import quick

KEY = "A" * 43 + "="
THEN = datetime.datetime(2030, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
LATER = THEN + datetime.timedelta(hours=1)
AT_THEN, AT_LATER = "2030-01-02T03:04:05Z", "2030-01-02T04:04:05Z"
POLICY = {"epoch": 2, "tenants": [{"tenantId": "a", "capUsd": 10}]}
TWICE = {"epoch": 2, "tenants": [{"tenantId": "a", "capUsd": 10}] * 2}
PROVIDER = {"site": "b", "name": "p", "endpoint": "http://p", "models": ["m"], "region": "eu", "zone": "1"}
NAMES = st.text("abc", min_size=1, max_size=3)
MESHES = st.builds(conditions.Mesh, st.lists(NAMES), st.lists(NAMES), st.lists(NAMES, max_size=64), st.integers(0, 64))


def network(wanted: object = None, before: object = None, generation: int = 3) -> dict[str, Any]:
    spec = {} if wanted is None else {"budgetPolicy": wanted}
    found = {"metadata": {"generation": generation}, "spec": spec}
    return found if before is None else {**found, "status": before}


def known(**changed: Any) -> status.Known:
    usual: dict[str, Any] = {"grid_id": "g", "public_key": KEY, "trouble": "", "epoch": 2, "cents": {"a": 250}}
    return status.Known(**{**usual, **changed})


def condition(of: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [one for one in of["conditions"] if one["type"] == kind]
    return dict(found)


def test_a_site_alone_without_a_policy_is_active_and_shows_no_budget() -> None:
    found = status.of_network(network(), known(), THEN)
    assert (found["phase"], found["connectedSites"], found["observedGeneration"]) == ("Active", 0, 3)
    assert not found.keys() & {"budgetStatus", "budgetEpoch", "providers", "unresolvedSeeds"}
    assert [(one["type"], one["status"], one["reason"]) for one in found["conditions"]] == [
        ("BudgetPolicyValid", "True", "NoPolicy"),
        ("MeshHealthy", "True", "Alone"),
        ("SpendPersisted", "True", "Persisted"),
    ]


def test_a_valid_policy_shows_what_is_spent_in_its_epoch() -> None:
    found = status.of_network(network(POLICY), known(), THEN)
    assert found["budgetEpoch"] == 2
    assert found["budgetStatus"] == [{"tenantId": "a", "spendUsd": 2.5, "capUsd": 10.0, "spendRatio": 0.25}]


def test_an_invalid_policy_takes_the_old_numbers_away_and_says_why() -> None:
    before = status.of_network(network(POLICY), known(), THEN)
    found = status.of_network(network(TWICE, before, generation=4), known(), LATER)
    assert not found.keys() & {"budgetStatus", "budgetEpoch"}
    assert found["phase"] == "Degraded"
    assert condition(found, "BudgetPolicyValid") == {
        "type": "BudgetPolicyValid",
        "status": "False",
        "reason": "Invalid",
        "message": 'tenant id "a": it stands there already, at [0] (budgetPolicy.tenants[1])',
        "lastTransitionTime": AT_LATER,
        "observedGeneration": 4,
    }


def test_a_policy_that_is_removed_or_put_right_is_followed() -> None:
    before = status.of_network(network(TWICE), known(), THEN)
    assert "budgetStatus" not in status.of_network(network(None, before), known(), LATER)
    again = status.of_network(network(POLICY, before), known(), LATER)
    assert again["budgetStatus"][0]["spendUsd"] == 2.5
    assert condition(again, "BudgetPolicyValid")["lastTransitionTime"] == AT_LATER


@pytest.mark.parametrize("epoch", [1, 3])
def test_totals_of_another_epoch_are_not_shown_as_the_policys(epoch: int) -> None:
    assert not status.of_network(network(POLICY), known(epoch=epoch), THEN).keys() & {"budgetStatus", "budgetEpoch"}


def test_the_time_of_a_condition_changes_with_its_status_only() -> None:
    before = status.of_network(network(POLICY), known(), THEN)
    told = known(mesh=conditions.Mesh(alive=["b"], seeds=1))
    found = status.of_network(network(POLICY, before, generation=9), told, LATER)
    healthy = condition(found, "MeshHealthy")
    assert (healthy["reason"], healthy["lastTransitionTime"], healthy["observedGeneration"]) == ("Reached", AT_THEN, 9)
    worse = status.of_network(network(POLICY, found), known(mesh=conditions.Mesh(unreachable=["b"])), LATER)
    assert condition(worse, "MeshHealthy")["lastTransitionTime"] == AT_LATER


@pytest.mark.parametrize(
    "old",
    [
        None,
        "x",
        [None, 7],
        [{"type": "MeshHealthy", "status": "True"}],
        [{"type": "MeshHealthy", "status": "True", "lastTransitionTime": 7}],
    ],
)
def test_conditions_that_are_none_count_as_nothing(old: object) -> None:
    found = status.of_network(network(None, {"conditions": old}), known(), THEN)
    assert condition(found, "MeshHealthy")["lastTransitionTime"] == AT_THEN


@pytest.mark.parametrize(
    ("mesh", "expected", "reason", "message"),
    [
        (conditions.Mesh(seeds=2), "Unknown", "NotJoined", "no seed has answered yet"),
        (conditions.Mesh(alive=["b"], seeds=2), "True", "Reached", "every known member answers"),
        (
            conditions.Mesh(alive=["b"], unresolved=["x:1"], seeds=2),
            "False",
            "SeedsUnresolved",
            'seeds without an address: "x:1"',
        ),
        (
            conditions.Mesh(alive=["b"], unreachable=list("gfedcba")),
            "False",
            "MembersUnreachable",
            'members that do not answer: "a", "b", "c", "d", "e" and 2 more',
        ),
    ],
)
def test_the_mesh_is_judged_by_the_worst_of_it(mesh: conditions.Mesh, expected: str, reason: str, message: str) -> None:
    found = conditions.of_mesh(mesh)
    assert (found.status, found.reason, found.message) == (expected, reason, message)


@pytest.mark.parametrize(
    ("trouble", "expected"), [(None, "Initializing"), ("", "Active"), ("the database does not answer", "Degraded")]
)
def test_the_phase_is_what_the_conditions_say(trouble: str | None, expected: str) -> None:
    found = status.of_network(network(), known(trouble=trouble), THEN)
    assert found["phase"] == expected
    if trouble:
        assert condition(found, "SpendPersisted")["message"] == f"no spend is acknowledged: {trouble}"


def test_a_database_in_trouble_hides_no_spend() -> None:
    assert status.of_network(network(POLICY), known(trouble="down"), THEN)["budgetStatus"][0]["spendUsd"] == 2.5


def test_only_the_first_providers_are_shown_and_all_are_counted() -> None:
    found = status.of_network(network(), known(providers=[{**PROVIDER, "name": f"p{n}"} for n in range(150)]), THEN)
    assert (found["distributedProviderCount"], len(found["providers"])) == (150, 100)
    assert admission.refusals(KINDS[0], "status", found) == []


@quick
@given(
    st.sampled_from([None, POLICY, TWICE, 7]),
    MESHES,
    st.none() | st.text(max_size=5),
    st.integers(0, 2**53 - 1),
    st.integers(0, 3),
)
def test_every_status_is_taken_by_its_schema_and_idle_changes_nothing(
    wanted: object, mesh: conditions.Mesh, trouble: str | None, cents: int, providers: int
) -> None:
    told = known(mesh=mesh, trouble=trouble, cents={"a": cents}, providers=[PROVIDER] * providers)
    found = status.of_network(network(wanted), told, THEN)
    assert admission.refusals(KINDS[0], "status", found) == []
    assert status.of_network(network(wanted, found), told, LATER) == found


def test_a_resource_without_status_or_generation_is_taken() -> None:
    found = status.of_network({"metadata": {}, "spec": None}, known(), THEN)
    assert (found["observedGeneration"], found["phase"]) == (0, "Active")
    assert status.take_policy({"spec": {"budgetPolicy": POLICY}}) == policy.read(POLICY)
