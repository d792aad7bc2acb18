"""Hand-written histories of the grid: what sites were told and what they showed, in a few lines each. Amounts in cents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.model import history
from space_smoke.tests.unit import histories

SITES = ("a", "b", "c")


def spent(site: str, cents: int, at_s: float, *, tenant: str = "acme", name: str = "", **more: Any) -> dict[str, Any]:
    """A request of spend that was acknowledged after 20 ms; another `status` or `code` says otherwise."""
    what = {"site": site, "tenant": tenant, "cents": cents, "request_id": name or f"{site}-{at_s}"}
    return histories.request("spend", at_s=at_s) | {"status": 200, "pod": f"grid-{site}-0"} | what | more


def shown(cents: Mapping[str, int] | None, **more: Any) -> dict[str, Any]:
    """What a sample has of a site whose tenants have spent so much; None: no rows."""
    rows = (
        None
        if cents is None
        else [
            {"tenantId": tenant, "spendUsd": spend / 100, "capUsd": 1000.0, "spendRatio": min(1.0, spend / 1e5)}
            for tenant, spend in sorted(cents.items())
        ]
    )
    plain = {
        "version": "1",
        "generation": 1,
        "observed": 1,
        "phase": "Active",
        "connected": 2,
        "epoch": 1,
        "count": 1,
        "providers": ["a/large"],
        "rows": rows,
        "conditions": {},
    }
    return plain | more


class Story(histories.Story):
    """A story with a watch named `seen` from its beginning on."""

    def watched(self) -> None:
        self.pods("seen", [f"grid-{site}-0" for site in SITES])
        self.add("load-started", load="seen", kind="grid-watch", phase="only", arguments={})
        for n, site in enumerate(SITES):
            asked = histories.request("healthz") | {"pod": f"grid-{site}-0", "site": site}
            self.add("request", **{"load": "seen", "n": n, **asked})

    def ended(self) -> None:
        self.add("load-ended", load="seen", phase="only", requests=len(SITES))

    def sample(self, site: str, at_s: float, cents: Mapping[str, int] | None, **more: Any) -> history.Event:
        """Taken in 10 ms."""
        return self.add(
            "sample",
            at_s + 0.01,
            load="seen",
            site=site,
            n=len(self.events),
            sent_s=at_s,
            seen_s=at_s + 0.01,
            error="",
            shown=shown(cents, **more),
            metrics=None,
            metrics_error="",
        )

    def all_show(self, at_s: float, cents: Mapping[str, int] | None, sites: Sequence[str] = SITES, **more: Any) -> None:
        for site in sites:
            self.sample(site, at_s, cents, **more)


def converging(lag_s: float = 1.0, until_s: float = 30.0, spends: Sequence[Mapping[str, Any]] = ()) -> Story:
    """100 cents were there before; a, b and c spend 10, 20 and 30 at 2 s, which every site shows `lag_s` after it. Sampled twice
    a second."""
    story = Story()
    story.watched()
    made = spends or [spent(site, cents, 2.0) for site, cents in zip(SITES, (10, 20, 30), strict=True)]
    at_s = 0.0
    told = False
    while at_s < until_s:
        if at_s >= 2.0 and not told:
            story.load("spend", made, kind="grid-spend")
            told = True
        story.all_show(at_s, {"acme": 160 if at_s >= 2.02 + lag_s else 100})
        at_s += 0.5
    story.ended()
    return story
