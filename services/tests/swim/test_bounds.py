"""The published formulae: their values, and that simulated runs stay within them."""

from __future__ import annotations

import dataclasses

import pytest

from swim import bounds
from swim.parameters import KIND, LAN, WAN, Parameters
from swim.simulator import measure


@pytest.mark.parametrize(("members", "expected"), [(1, 4), (3, 4), (9, 4), (10, 8), (99, 8), (100, 12)])
def test_retransmissions_follow_the_ceiling_of_the_logarithm(members: int, expected: int) -> None:
    assert bounds.retransmissions(members, 4) == expected


def test_a_suspicion_shrinks_with_the_logarithm_of_its_confirmations() -> None:
    timeouts = [bounds.suspicion_timeout(2.0, 12.0, confirmations, 3) for confirmations in range(5)]
    assert timeouts == pytest.approx([12.0, 7.0, 4.075, 2.0, 2.0], abs=0.001)
    assert bounds.suspicion_timeout(2.0, 12.0, 0, 0) == 2.0


def test_as_many_confirmations_are_expected_as_there_are_others_to_confirm() -> None:
    assert [bounds.expected_confirmations(members, KIND) for members in (1, 2, 3, 4, 5, 50)] == [0, 0, 1, 2, 3, 3]


def test_suspicions_grow_with_the_group() -> None:
    assert bounds.suspicion_limits(3, KIND) == (2.0, 12.0)
    assert bounds.suspicion_limits(100, KIND) == (4.0, 24.0)


def test_gossip_takes_more_rounds_with_loss_and_with_members() -> None:
    assert bounds.gossip_rounds(3, 3) == 1
    assert bounds.gossip_rounds(3, 3, loss=0.3) == 3
    assert bounds.gossip_rounds(100, 3) > bounds.gossip_rounds(10, 3) > 1
    with pytest.raises(ValueError, match="loss=1"):
        bounds.gossip_rounds(3, 3, loss=1.0)


@pytest.mark.parametrize("parameters", [KIND, LAN, WAN])
def test_the_bounds_of_every_profile_are_in_order(parameters: Parameters) -> None:
    for members in (2, 3, 10, 100):
        assert 0 < bounds.first_suspicion(members, parameters) < bounds.detection(members, parameters)
        assert 0 < bounds.convergence(members, parameters) < bounds.healing(members, parameters)


def test_wrong_parameters_are_all_named_at_once() -> None:
    with pytest.raises(ValueError) as raised:
        Parameters(probe_interval=-1, gossip_fanout=0, packet_bytes=100, indirect_probes=-2)
    for name in ("probe_interval", "gossip_fanout", "packet_bytes", "indirect_probes"):
        assert f"{name}=" in str(raised.value)


@pytest.mark.parametrize("sites", [2, 3, 5])
def test_a_death_is_seen_by_all_within_the_published_time(sites: int) -> None:
    bound = bounds.detection(sites, KIND)
    assert all(measure.detection(sites, seed) <= bound for seed in range(20))


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_a_spend_reaches_all_within_the_published_time(loss: float) -> None:
    taken = sorted(measure.convergence(3, seed, loss) for seed in range(40))
    assert taken[-1] <= bounds.convergence(3, KIND)
    assert taken[-1] <= (1.0 if loss == 0 else 5.0)


def test_a_longer_probe_interval_and_suspicion_are_seen_in_the_time_of_detection() -> None:
    slow = dataclasses.replace(KIND, probe_interval=2.0, suspicion_timeout=8.0)
    quick = max(measure.detection(3, seed) for seed in range(5))
    assert min(measure.detection(3, seed, parameters=slow) for seed in range(5)) > quick
