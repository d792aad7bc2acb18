"""What holds at every moment of every simulated run, and what holds when all is quiet again."""

from __future__ import annotations

from swim import events
from swim.simulator.site import Site
from swim.simulator.world import World


class Watch:
    """Looks at each merge at each site; `violations` are sentences, empty as long as all is well.

    While a site lives no total of an epoch falls, and no total is above what was acknowledged for its tenant and epoch.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: dict[tuple[str, int, str, int], int] = {}  # (site, generation, tenant, epoch) -> cents
        self.violations: list[str] = []
        self.merges = 0
        world.observers.append(self._look)

    def settled(self) -> list[str]:
        """Totals that are not, at some living site, what was acknowledged in that site's epoch."""
        told = []
        for site in self._world.living():
            assert site.node
            expected = {
                tenant: cents for (tenant, epoch), cents in self._world.acknowledged.items() if epoch == site.epoch
            }
            if (totals := site.node.ledger.totals()) != expected:
                wrong = {key for key in totals.keys() | expected.keys() if totals.get(key) != expected.get(key)}
                told += [
                    f"{site.name} counts {totals.get(tenant)} for {tenant}, acknowledged are {expected.get(tenant)}"
                    for tenant in sorted(wrong)
                ]
        return told

    def look_at_all(self) -> None:
        """Every total of every living site now; for what changes without a merge."""
        for site in self._world.living():
            assert site.node
            for tenant in {tenant for tenant, _ in self._world.acknowledged}:
                self._compare(site, tenant)

    def _look(self, _: float, site: Site, effect: events.Effect) -> None:
        if isinstance(effect, events.SpendChanged):
            self.merges += 1
            self._compare(site, effect.record.tenant)

    def _compare(self, site: Site, tenant: str) -> None:
        assert site.node
        epoch, total = site.node.ledger.epoch, site.node.ledger.total(tenant)
        key = site.name, site.generation, tenant, epoch
        if total < self._seen.get(key, 0):
            self._violated(site, f"total of {tenant} fell from {self._seen[key]} to {total}")
        if total > (limit := self._world.acknowledged[tenant, epoch]):
            self._violated(site, f"total of {tenant} is {total}, acknowledged are {limit}")
        self._seen[key] = total

    def _violated(self, site: Site, what: str) -> None:
        self.violations.append(f"{self._world.now:.3f} s, {site.name}: {what}")
