"""Each knob of a GridNetwork has an effect: on the order of providers, on the gossip's times, on the refresh."""

from __future__ import annotations

from typing import Any

import pytest

from grid_operator import routing, tuning
from grid_operator.model import KINDS
from swim import bounds, parameters
from tests.grid_operator import admission


def offer(site: str, region: str = "", zone: str = "", cost: float | None = None) -> routing.Offer:
    return routing.Offer(site, "p", "http://p", ("m",), region, zone, cost)


OFFERS = [
    offer("dear-here", "eu", "1", 9.0),
    offer("cheap-near", "eu", "2", 2.0),
    offer("unpriced-near", "eu", "2"),
    offer("cheapest-far", "us", "1", 1.0),
    offer("nowhere", "", "", 3.0),
]
HERE = {"region": "eu", "zone": "1"}
BY_COST = {"scoringPolicy": {"strategy": "lowestCost"}}


@pytest.mark.parametrize(
    ("spec", "sites"),
    [
        ({}, ["cheap-near", "cheapest-far", "dear-here", "nowhere", "unpriced-near"]),
        (HERE, ["dear-here", "cheap-near", "unpriced-near", "cheapest-far", "nowhere"]),
        ({"region": "us", "zone": "1"}, ["cheapest-far", "cheap-near", "dear-here", "nowhere", "unpriced-near"]),
        ({"zone": "1"}, ["cheap-near", "cheapest-far", "dear-here", "nowhere", "unpriced-near"]),
        ({**HERE, **BY_COST}, ["dear-here", "cheap-near", "unpriced-near", "cheapest-far", "nowhere"]),
        (
            {**HERE, **BY_COST, "routingPolicy": "scoreFirst"},
            ["cheapest-far", "cheap-near", "nowhere", "dear-here", "unpriced-near"],
        ),
        (
            {**HERE, "routingPolicy": "scoreFirst", "scoringPolicy": {"strategy": "noMetrics"}},
            ["dear-here", "cheap-near", "unpriced-near", "cheapest-far", "nowhere"],
        ),
        ({"region": "eu", **BY_COST}, ["cheap-near", "dear-here", "unpriced-near", "cheapest-far", "nowhere"]),
    ],
)
def test_providers_stand_by_distance_and_score(spec: dict[str, Any], sites: list[str]) -> None:
    for offers in (OFFERS, OFFERS[::-1]):
        assert [one.site for one in routing.ordered(offers, spec)] == sites


def test_an_offer_is_an_entry_of_the_status() -> None:
    entries = [one.entry() for one in OFFERS]
    assert entries[0] == {
        "site": "dear-here",
        "name": "p",
        "endpoint": "http://p",
        "models": ["m"],
        "region": "eu",
        "zone": "1",
    }
    assert admission.refusals(KINDS[0], "status", {"providers": entries}) == []


@pytest.mark.parametrize(("text", "expected"), [("5s", 5.0), ("500ms", 0.5), ("9999999ms", 9999.999), ("60s", 60.0)])
def test_a_duration_is_seconds(text: str, expected: float) -> None:
    assert tuning.seconds(text) == expected


@pytest.mark.parametrize("text", ["", "s", "ms", "5", "5m", "1.5s", "-1s", " 5s", "\u0665s", "5sms"])
def test_what_is_no_duration_is_refused_with_the_rule(text: str) -> None:
    with pytest.raises(ValueError, match="must be whole seconds or milliseconds, such as 5s or 500ms"):
        tuning.seconds(text)


def test_each_knob_of_the_gossip_changes_how_soon_something_is_known() -> None:
    base = parameters.LAN
    quick = tuning.parameters(base, {"probeInterval": "500ms", "suspicionTimeout": "1s"})
    assert bounds.detection(3, quick) < bounds.detection(3, base)
    assert (quick.probe_timeout, quick.gossip_fanout) == (0.2, base.gossip_fanout)
    wide = tuning.parameters(base, {"gossipNodes": 8})
    assert bounds.gossip(20, wide) < bounds.gossip(20, base)


@pytest.mark.parametrize("nothing", [None, {}])
def test_what_is_not_given_is_the_profiles(nothing: dict[str, Any] | None) -> None:
    assert tuning.parameters(parameters.WAN, nothing) == parameters.WAN


@pytest.mark.parametrize("interval", ["100ms", "60s"])
def test_the_gossip_takes_all_that_admission_does(interval: str) -> None:
    swim = {"probeInterval": interval, "suspicionTimeout": "600s", "gossipNodes": 16}
    assert tuning.parameters(parameters.KIND, swim).probe_interval == tuning.seconds(interval)


def test_the_refresh_is_the_specs_or_five_minutes() -> None:
    assert (tuning.refresh_s({"metricsRefreshInterval": "45s"}), tuning.refresh_s({})) == (45.0, 300.0)
