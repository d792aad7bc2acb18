"""Operators as processes: three of them agree on what was spent, whoever is killed, leaves, or has lost its database."""

from __future__ import annotations

from typing import Any

from tests import stores
from tests.grid_operator import api, sites

NEXT = {**sites.POLICY, "epoch": 2}


def started(grid: sites.Grid, *names: str) -> list[sites.Site]:
    """Sites that seed the first one and have met."""
    made = list(grid.make(*names))
    made[0].start()
    for site in made[1:]:
        site.start()
    for site in made:
        stores.wait_until("all have met", lambda site=site: len(site.state()["members"]) == len(made) - 1)  # type: ignore[misc]
    return made


def all_show(made: list[sites.Site], usd: float) -> None:
    for site in made:
        stores.wait_until(f"{site.name} shows {usd}", site.shows(usd))


def shown_over_time(site: sites.Site, server: api.ApiServer) -> list[float]:
    """What each version of the site's GridNetwork says that acme has spent; nothing for one that says nothing."""
    path = f"{api.NETWORKS}/{site.network}"
    statuses: list[dict[str, Any]] = [found.get("status") or {} for at, found in server.history() if at == path]
    rows = [row for status in statuses for row in status.get("budgetStatus", ())]
    return [row["spendUsd"] for row in rows if row["tenantId"] == "acme"]


def test_three_sites_show_the_sum_of_what_each_took(grid: sites.Grid) -> None:
    made = started(grid, "a", "b", "c")
    for cents, site in enumerate(made, start=1):
        site.spend(cents * 100)
    all_show(made, 6.0)
    for site in made:
        stores.wait_until("it is connected", lambda site=site: site.status["connectedSites"] == 2)  # type: ignore[misc]
        assert site.status["budgetStatus"] == [
            {"tenantId": "acme", "spendUsd": 6.0, "capUsd": 10.0, "spendRatio": 0.6},
            {"tenantId": "none", "spendUsd": 0.0, "capUsd": 0.0, "spendRatio": 0.0},
        ]
        assert (site.status["phase"], site.status["publicKey"]) == ("Active", site.public)


def test_a_killed_site_is_named_and_its_return_lowers_no_number_and_begins_a_later_life(grid: sites.Grid) -> None:
    a, b, c = made = started(grid, "a", "b", "c")
    for site in made:
        site.spend(100)
    all_show(made, 3.0)
    request = b.spend(20)
    generation = b.state()["generation"]
    b.kill()
    stores.wait_until("a misses it", lambda: a.condition("MeshHealthy")[0] == "False")
    assert a.condition("MeshHealthy")[1:] == ("MembersUnreachable", 'members that do not answer: "b"')
    assert a.status["phase"] == "Degraded"
    c.spend(5)
    b.start()
    assert b.state()["generation"] > generation
    assert b.ask(request, cents=20).json()["replayed"] is True
    all_show(made, 3.25)
    stores.wait_until("a reaches it again", lambda: a.condition("MeshHealthy")[0] == "True")
    for site in made:
        history = shown_over_time(site, grid.api)
        assert history == sorted(history), f"{site.name} showed a total that fell"


def test_a_site_that_lost_its_database_acknowledges_nothing_before_it_has_heard_others(grid: sites.Grid) -> None:
    a, b = started(grid, "a", "b")
    a.spend(9, "none")
    for site in (a, b):
        site.kill()
    for table in ("grid_sites", "grid_slots", "grid_requests"):
        grid.execute(f"DELETE FROM {table} WHERE network = %s AND site = 'b'", grid.id)
    b.start(state="generation")
    assert sites.code(b.ask("early")) == (503, "not_joined")
    a.start(state="generation")
    stores.wait_until("b has heard a", lambda: bool(b.state()["joined"]))
    assert b.total("none") == 9
    b.spend(1)


def test_what_peers_kept_of_a_site_that_lost_its_database_comes_back_below_what_it_takes_then(
    grid: sites.Grid,
) -> None:
    a, b = started(grid, "a", "b")
    b.spend(100)
    all_show([a, b], 1.0)
    b.kill()
    for table in ("grid_sites", "grid_slots", "grid_requests"):
        grid.execute(f"DELETE FROM {table} WHERE network = %s AND site = 'b'", grid.id)
    b.start()
    b.spend(20)
    all_show([a, b], 1.2)
    stores.wait_until("it is written", lambda: grid.execute(*written(grid)) == [(120,)])
    b.kill()
    a.kill()
    b.start(state="generation")
    assert b.total() == 120


def written(grid: sites.Grid) -> tuple[str, str]:
    """The question what the database has of b's spend."""
    return "SELECT cents + relearned_cents FROM grid_slots WHERE network = %s AND site = 'b'", grid.id


def test_a_tenant_too_many_is_refused_and_those_that_are_known_go_on(grid: sites.Grid) -> None:
    (site,) = grid.make("a")
    site.start()
    site.kill()
    grid.execute(
        "INSERT INTO grid_slots (network, site, epoch, tenant, cents, spends)"
        " SELECT %s, 'a', 1, 't' || number, 5, 1 FROM generate_series(1, 1024) AS number",
        grid.id,
    )
    site.want(budgetPolicy={"tenants": [{"tenantId": "acme", "capUsd": 1}, {"tenantId": "t7", "capUsd": 1}]})
    site.start()
    assert sites.code(site.ask("r", "acme")) == (409, "tenant_cap")
    site.spend(1, "t7")
    assert (site.total("t7"), site.total("acme")) == (6, 0)
    assert site.operator
    assert site.operator.metric("grid_ledger_tenants") == 1024


def test_a_site_that_is_told_to_stop_says_good_bye(grid: sites.Grid) -> None:
    a, b = started(grid, "a", "b")
    stores.wait_until("b is active", lambda: grid.api.status(api.SITES, f"{a.network}-b").get("phase") == "Active")
    assert grid.api.status(api.SITES, f"{a.network}-b")["address"] == b.address
    stores.wait_until("a reaches it", lambda: a.condition("MeshHealthy")[0] == "True")
    b.leave()
    stores.wait_until("b has left", lambda: grid.api.status(api.SITES, f"{a.network}-b")["phase"] == "Left")
    assert a.condition("MeshHealthy")[0] == "True"


def test_a_new_epoch_begins_at_zero_everywhere_and_an_old_one_does_not_come_back(grid: sites.Grid) -> None:
    a, b = made = started(grid, "a", "b")
    a.spend(100)
    all_show(made, 1.0)
    a.want(budgetPolicy=NEXT)
    stores.wait_until("a begins the epoch", lambda: a.status.get("budgetEpoch") == 2)
    a.spend(30)
    assert (a.total(), b.shown()) == (30, 1.0)
    b.want(budgetPolicy=NEXT)
    all_show(made, 0.3)
    a.want(budgetPolicy=sites.POLICY)
    stores.wait_until("a says so", lambda: a.condition("BudgetPolicyValid")[0] == "False")
    assert "epoch 2 has begun" in a.condition("BudgetPolicyValid")[2]
    assert "budgetStatus" not in a.status
    a.kill()
    a.want(budgetPolicy=NEXT)
    a.start()
    all_show(made, 0.3)


def test_providers_are_told_to_all_sites_and_taken_back(grid: sites.Grid) -> None:
    a, b = started(grid, "a", "b")
    wanted = {"endpoint": "http://models", "models": ["m"], "gridNetworkRef": {"name": a.network}}
    grid.api.put(api.PROVIDERS, "large", spec=wanted)
    entry = {"site": "a", "name": "large", "endpoint": "http://models", "models": ["m"]}
    for site in (a, b):
        stores.wait_until("it is shown", lambda site=site: site.status.get("providers") == [entry])  # type: ignore[misc]
    available = {"phase": "Available", "observedGeneration": 1}
    stores.wait_until("its status says so", lambda: grid.api.status(api.PROVIDERS, "large") == available)
    a.spend(100)
    stores.wait_until("b shows spend", b.shows(1.0))
    assert b.status["providers"] == [entry]
    grid.api.delete(api.PROVIDERS, "large")
    stores.wait_until("it is gone", lambda: b.status["distributedProviderCount"] == 0 and "providers" not in b.status)
