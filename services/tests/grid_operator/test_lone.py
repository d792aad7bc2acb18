"""One operator without others: what it takes, what it refuses, and what its status says when something is wrong."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests import stores
from tests.grid_operator import api, sites

RING = {"swimKeyRef": {"name": "ring", "key": "keys"}}


@pytest.fixture(scope="module")
def lone(shared_grid: sites.Grid) -> sites.Site:
    (site,) = shared_grid.make("a")
    site.start()
    return site


@pytest.fixture
def site(lone: sites.Site) -> Iterator[sites.Site]:
    """The module's one site; its spec is as it was after the test."""
    before = dict(lone.spec)
    yield lone
    lone.want(**{**dict.fromkeys(lone.spec), **before})
    stores.wait_until("it is as it was", lambda: current(lone) and lone.condition("SpendPersisted")[0] == "True")


def current(site: sites.Site) -> bool:
    return bool(
        site.status.get("observedGeneration") == site.generation and site.condition("BudgetPolicyValid")[1] == "Valid"
    )


BODIES: list[dict[str, Any]] = [
    {},
    {"requestId": "r", "tenantId": "acme"},
    {"requestId": "", "tenantId": "acme", "cents": 1},
    {"requestId": "r" * 129, "tenantId": "acme", "cents": 1},
    {"requestId": 7, "tenantId": "acme", "cents": 1},
    {"requestId": "r\0", "tenantId": "acme", "cents": 1},
    {"requestId": "\ud800", "tenantId": "acme", "cents": 1},
    {"requestId": "r", "tenantId": " ", "cents": 1},
    {"requestId": "r", "tenantId": "a\n", "cents": 1},
    {"requestId": "r", "tenantId": "x" * 254, "cents": 1},
    {"requestId": "r", "tenantId": None, "cents": 1},
    *(
        {"requestId": "r", "tenantId": "acme", "cents": cents}
        for cents in (0, -1, 1.5, True, "1", None, 10**9 + 1, 1e999)
    ),
    {"requestId": "r", "tenantId": "acme", "cents": 1, "more": 1},
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body)[:60])
def test_wrong_spend_is_refused_with_a_code_and_counts_nothing(site: sites.Site, body: dict[str, Any]) -> None:
    assert site.operator
    before = site.total()
    assert sites.code(site.operator.call("POST", "/v1/spend", body)) == (400, "malformed")
    assert site.total() == before


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b"{" * 10_000, b'{"cents": NaN}'])
def test_a_body_that_is_no_order_is_refused(site: sites.Site, body: bytes) -> None:
    assert site.operator
    assert sites.code(site.operator.call("POST", "/v1/spend", body=body)) == (400, "malformed")


def test_the_same_request_counts_once_and_another_under_its_id_is_refused(site: sites.Site) -> None:
    before = site.total()
    request = site.spend(5)
    again = site.ask(request, cents=5)
    assert (again.status, again.json()["replayed"]) == (200, True)
    assert sites.code(site.ask(request, cents=6)) == (409, "request_id_reused")
    assert sites.code(site.ask(request, "none", cents=5)) == (409, "request_id_reused")
    assert site.total() == before + 5


def test_spend_needs_a_policy_that_names_the_tenant_and_a_repetition_does_not(site: sites.Site) -> None:
    assert sites.code(site.ask("r1", "nobody")) == (404, "unknown_tenant")
    request = site.spend(5)
    before = site.total()
    site.want(budgetPolicy=None)
    stores.wait_until("rows are cleared", lambda: not site.status.keys() & {"budgetStatus", "budgetEpoch"})
    assert site.condition("BudgetPolicyValid")[:2] == ("True", "NoPolicy")
    assert sites.code(site.ask("r2")) == (409, "no_policy")
    assert site.ask(request, cents=5).json()["replayed"] is True
    assert sites.code(site.ask(request, cents=6)) == (409, "request_id_reused")
    assert site.total() == before
    site.want(budgetPolicy=sites.POLICY)
    stores.wait_until("the spend it had is shown", site.shows(before / 100))


def test_a_database_that_fails_is_said_and_the_same_request_counts_once_afterwards(
    site: sites.Site, shared_grid: sites.Grid
) -> None:
    before = site.total()
    shared_grid.execute("ALTER TABLE grid_slots RENAME TO grid_away")
    try:
        assert sites.code(site.ask("during")) == (503, "database_unavailable")
        stores.wait_until("it is said", lambda: site.condition("SpendPersisted")[0] == "False")
        assert site.status["phase"] == "Degraded"
        assert site.total() == before
    finally:
        shared_grid.execute("ALTER TABLE grid_away RENAME TO grid_slots")
    stores.wait_until("it is over", lambda: site.condition("SpendPersisted")[0] == "True")
    assert site.ask("during").json()["replayed"] is False
    assert site.total() == before + 1


def test_a_seed_without_an_address_is_named_and_one_by_name_is_not(site: sites.Site) -> None:
    site.want(seeds=["nowhere.invalid:7946", f"localhost:{site.port}"])
    stores.wait_until("it is named", lambda: site.status.get("unresolvedSeeds") == ["nowhere.invalid:7946"])
    assert site.condition("MeshHealthy")[:2] == ("False", "SeedsUnresolved")
    site.want(seeds=None)
    stores.wait_until("it is gone", lambda: "unresolvedSeeds" not in site.status)


def test_a_ring_that_cannot_be_read_closes_the_mesh_until_it_can(site: sites.Site, shared_grid: sites.Grid) -> None:
    site.want(tls={**site.spec["tls"], **RING})
    stores.wait_until("it is closed", lambda: site.condition("MeshHealthy")[1] == "Closed")
    assert "Secret ring is not there" in site.condition("MeshHealthy")[2]
    assert "budgetStatus" not in site.status
    assert sites.code(site.ask("closed")) == (503, "mesh_closed")
    ring = base64.b64encode(base64.b64encode(bytes(32)) + b"\n").decode()
    shared_grid.api.put(api.SECRETS, "ring", data={"keys": ring})
    stores.wait_until("it is open", lambda: site.condition("MeshHealthy")[1] == "Alone")
    site.spend(1)


def test_metrics_tell_of_refusals_by_their_code(site: sites.Site) -> None:
    assert site.operator
    before = site.operator.metric("grid_spends_total", outcome="unknown_tenant")
    site.ask("r", "nobody")
    assert site.operator.metric("grid_spends_total", outcome="unknown_tenant") == before + 1
    assert site.operator.metric("grid_mesh_open") == 1


def test_no_answer_tells_what_a_tenant_has_spent(site: sites.Site) -> None:
    assert site.operator
    for path in ("/v1/spend", "/v1/spend/acme"):
        assert site.operator.call("GET", path).status in (404, 405)
    answer = site.ask("told", cents=7).json()
    assert answer == {"requestId": "told", "tenantId": "acme", "cents": 7, "epoch": 1, "replayed": False}
    assert "7" not in site.ask("told", cents=8).json()["error"]["message"]


def test_a_network_that_is_removed_is_left_and_taken_up_again(site: sites.Site, shared_grid: sites.Grid) -> None:
    before = site.total()
    shared_grid.api.delete(api.NETWORKS, site.network)
    stores.wait_until("the mesh is closed", lambda: "there is no GridNetwork" in site.state()["closed"])
    assert site.operator
    assert site.operator.call("GET", "/readyz").status == 200
    site.want()
    stores.wait_until("it is shown again", site.shows(before / 100))
