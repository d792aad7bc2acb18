"""Claims about one site's operator as functions that raise AssertionError, so that a mutation can be shown to break one."""

from __future__ import annotations

from tests import stores
from tests.grid_operator import sites

TWICE = {"epoch": 1, "tenants": [{"tenantId": "acme", "capUsd": 10}, {"tenantId": "acme", "capUsd": 20}]}
SENTENCE = 'tenant id "acme": it stands there already, at [0] (budgetPolicy.tenants[1])'


def what_is_acknowledged_survives_a_kill(grid: sites.Grid, mutation: str = "") -> None:
    (site,) = grid.make("a")
    site.start(SPACE_MUTATION=mutation)
    requests = [site.spend(cents) for cents in (100, 20, 3)]
    site.kill()
    site.start(SPACE_MUTATION=mutation)
    assert site.total() == 123, f"{site.total()} of 123 cents are left"
    for request, cents in zip(requests, (100, 20, 3), strict=True):
        answer = site.ask(request, cents=cents)
        assert (answer.status, answer.json()["replayed"]) == (200, True)
    assert site.total() == 123
    site.spend(7)
    assert site.total() == 130
    stores.wait_until("the status shows it", site.shows(1.3))


def an_invalid_policy_is_said_in_a_sentence_and_shows_no_numbers(grid: sites.Grid, mutation: str = "") -> None:
    (site,) = grid.make("a")
    site.start(SPACE_MUTATION=mutation)
    site.spend(100)
    stores.wait_until("spend is shown", site.shows(1.0))
    site.want(budgetPolicy=TWICE)
    stores.wait_until("the new policy was looked at", lambda: site.status["observedGeneration"] == 2)
    assert site.condition("BudgetPolicyValid") == ("False", "Invalid", SENTENCE)
    assert not site.status.keys() & {"budgetStatus", "budgetEpoch"}
    assert sites.code(site.ask("r")) == (409, "invalid_policy")


def an_epoch_that_has_passed_is_refused_in_a_sentence(grid: sites.Grid, mutation: str = "") -> None:
    (site,) = grid.make("a")
    site.start(SPACE_MUTATION=mutation)
    site.want(budgetPolicy={**sites.POLICY, "epoch": 2})
    stores.wait_until("the epoch has begun", lambda: site.status.get("budgetEpoch") == 2)
    site.want(budgetPolicy=sites.POLICY)
    stores.wait_until("the new policy was looked at", lambda: site.status["observedGeneration"] == 3)
    rule = "epoch 2 has begun, and an epoch that has passed does not come back"
    assert site.condition("BudgetPolicyValid") == ("False", "Invalid", f"budgetPolicy.epoch is 1: {rule}")
    assert not site.status.keys() & {"budgetStatus", "budgetEpoch"}
