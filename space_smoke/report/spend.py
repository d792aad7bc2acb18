"""What a scenario on the grid saw of spend over time, for the picture of it: one panel for each tenant. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from space_smoke.checks import spending
from space_smoke.model import history

Points = Sequence[tuple[float, int | None]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Seconds since the run began, and cents. `shown`: by site, each sample's sum, None where it showed no row; `told`: the sum
    of all that had been acknowledged anywhere from each moment on, empty where it is not known what there was before."""

    tenant: str
    shown: Mapping[str, Points]
    told: Points


def panels(events: Sequence[history.Event]) -> list[Panel]:
    """Of one scenario's events; none where no tenant's spend was seen."""
    seen = _samples(events)
    orders = spending.orders(events)
    first_s = orders[0].sent_s if orders else float("inf")
    before = [sample for sample in spending.baseline(seen, first_s).values() if sample]
    tenants = sorted({tenant for listed in seen.values() for one in listed for tenant in one.cents})
    return [
        Panel(
            tenant,
            {site: [(one.seen_s, one.cents.get(tenant)) for one in listed] for site, listed in sorted(seen.items())},
            list(_told(tenant, orders, [one for one in before if tenant in one.cents])),
        )
        for tenant in tenants
    ]


def _samples(events: Sequence[history.Event]) -> dict[str, list[spending.Sample]]:
    """Those of all watches together, by site, in order."""
    loads = dict.fromkeys(str(event.data.get("load")) for event in history.of_kind(events, "sample"))
    merged: dict[str, list[spending.Sample]] = {}
    for load in loads:
        for site, listed in spending.samples(events, load).items():
            merged.setdefault(site, []).extend(one for one in listed if one.shown is not None)
    for listed in merged.values():
        listed.sort(key=lambda one: one.seen_s)
    return merged


def _told(
    tenant: str, orders: Sequence[spending.Order], before: Sequence[spending.Sample]
) -> Iterator[tuple[float, int]]:
    if not before:
        return
    cents = max(one.cents[tenant] for one in before)
    yield min(one.seen_s for one in before), cents
    taken = [(one.taken_s, one.cents) for one in orders if one.tenant == tenant and one.taken_s is not None]
    for at_s, more in sorted(taken):
        cents += more
        yield at_s, cents
