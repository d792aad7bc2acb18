"""The order of `status.providers`, by what a GridNetwork says of routing and scoring."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_NEAREST, _NEAR, _FAR = range(3)


class Offer(NamedTuple):
    """A provider as its site tells of it. `cost` is the sum of both costs in USD, None when none is told."""

    site: str
    name: str
    endpoint: str
    models: tuple[str, ...]
    region: str = ""
    zone: str = ""
    cost: float | None = None

    def entry(self) -> dict[str, Any]:
        """As it stands in `status.providers`; what is empty is left out."""
        found = {**self._asdict(), "models": list(self.models)}
        del found["cost"]
        return {name: value for name, value in found.items() if value}


def ordered(offers: Iterable[Offer], spec: Mapping[str, Any]) -> list[Offer]:
    """The offers in the order of `spec`, a GridNetwork's; those that are alike stand by site and name."""
    score_first = spec.get("routingPolicy") == "scoreFirst"
    by_cost = (spec.get("scoringPolicy") or {}).get("strategy") == "lowestCost"

    def rank(offer: Offer) -> tuple[float, float, str, str]:
        far, cost = _distance(offer, spec), _cost(offer) if by_cost else 0.0
        return (cost, far, offer.site, offer.name) if score_first else (far, cost, offer.site, offer.name)

    return sorted(offers, key=rank)


def _cost(offer: Offer) -> float:
    return math.inf if offer.cost is None else offer.cost


def _distance(offer: Offer, spec: Mapping[str, Any]) -> int:
    """A place that is not told is far from everywhere, and a zone means something within its region only."""
    region, zone = spec.get("region"), spec.get("zone")
    if not region or offer.region != region:
        return _FAR
    return _NEAREST if zone and offer.zone == zone else _NEAR
