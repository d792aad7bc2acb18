"""Claims about what operators keep apart, keep to themselves and leave alone; as in `surviving`."""

from __future__ import annotations

import base64

from tests import stores
from tests.grid_operator import api, sites

RING = {"swimKeyRef": {"name": "ring", "key": "keys"}}


def rows_go_with_the_policy(grid: sites.Grid, mutation: str = "") -> None:
    (site,) = grid.make("a")
    site.start(SPACE_MUTATION=mutation)
    site.spend(100)
    stores.wait_until("spend is shown", site.shows(1.0))
    site.want(budgetPolicy=None)
    stores.wait_until("it was looked at", lambda: site.status["observedGeneration"] == 2)
    assert site.condition("BudgetPolicyValid")[:2] == ("True", "NoPolicy")
    assert not site.status.keys() & {"budgetStatus", "budgetEpoch"}
    site.want(budgetPolicy=sites.POLICY)
    stores.wait_until("the spend it had is shown again", site.shows(1.0))


def nothing_is_written_while_nothing_changes(grid: sites.Grid, mutation: str = "") -> None:
    (site,) = grid.make("a")
    site.want(metricsRefreshInterval="1s")
    operator = site.start(SPACE_MUTATION=mutation)
    stores.wait_until("it is current", lambda: site.status.get("phase") == "Active")

    def done() -> float:
        return operator.metric("grid_reconciles_total", outcome="done")

    settled = done() + 1  # what the start itself still brings
    stores.wait_until("it has settled", lambda: done() >= settled)
    version, asked, looks = grid.api.version(api.NETWORKS, site.network), dict(grid.api.asked), done()
    stores.wait_until("it was reconciled again", lambda: done() >= looks + 2)
    assert grid.api.version(api.NETWORKS, site.network) == version
    assert grid.api.asked == asked


def two_networks_do_not_mix(grid: sites.Grid, mutation: str = "") -> None:
    a, b, other = made = grid.make("a", "b", "c")
    other.want(gridId=f"{grid.id}-other")
    for site in made:
        site.start(state="generation", SPACE_MUTATION=mutation)
    stores.wait_until("a and b have met", lambda: "b" in a.state()["members"] and bool(b.state()["joined"]))
    a.spend(100)
    b.spend(20)
    stores.wait_until("b shows the sum", b.shows(1.2))
    _has_tried(other, a, "other_network")
    assert (other.total(), other.state()["members"]) == (0, [])
    assert a.state()["members"] == ["b"]


def who_lacks_the_key_does_not_join(grid: sites.Grid, mutation: str = "") -> None:
    for name, fill in (("ring", 1), ("wrong", 2)):
        key = base64.b64encode(base64.b64encode(bytes([fill]) * 32) + b"\n").decode()
        grid.api.put(api.SECRETS, name, data={"keys": key})
    a, b, stranger = made = grid.make("a", "b", "c")
    for site, name in zip(made, ("ring", "ring", "wrong"), strict=True):
        site.want(tls={**site.spec["tls"], "swimKeyRef": {"name": name, "key": "keys"}})
    for site in made:
        site.start(state="generation", SPACE_MUTATION=mutation)
    stores.wait_until("a and b have met", lambda: "b" in a.state()["members"] and bool(b.state()["joined"]))
    b.spend(100)
    stores.wait_until("a shows it", a.shows(1.0))
    _has_tried(stranger, a, "undecryptable")
    assert a.state()["members"] == ["b"]
    assert (stranger.total(), stranger.state()["members"]) == (0, [])


def metrics_never_tell_of_a_tenant(grid: sites.Grid, mutation: str = "") -> None:
    (site,) = grid.make("a")
    operator = site.start(SPACE_MUTATION=mutation)
    site.spend(100)
    site.ask("r", "secret-tenant")
    text = operator.call("GET", "/metrics").data.decode()
    assert "grid_ledger_tenants 1.0" in text
    assert "acme" not in text
    assert "secret-tenant" not in text


def _has_tried(stranger: sites.Site, site: sites.Site, why: str) -> None:
    """Wait until the site has refused an exchange for this reason, or has let the stranger in."""
    operator = site.operator
    assert operator

    def tried() -> bool:
        refused = operator.metric("grid_gossip_events_total", what="exchange", which=why)
        return refused > 0 or stranger.name in site.state()["members"]

    stores.wait_until("the stranger has tried", tried)
