"""The published formulae: what a node computes with, and the deadlines that follow from it.

SWIM: A. Das, I. Gupta, A. Motivala, "SWIM: Scalable Weakly-consistent Infection-style Process Group Membership
Protocol", DSN 2002. Lifeguard: A. Dadgar, J. Phillips, J. Currey, "Lifeguard: Local Health Awareness for More Accurate
Failure Detection", 2017. `members` counts the whole group, the observer included.
"""

from __future__ import annotations

import functools
import math

from swim.parameters import Parameters


@functools.lru_cache(maxsize=1024)
def retransmissions(members: int, multiplier: int) -> int:
    """How often one node sends one item: multiplier * ceil(log10(members + 1)) (memberlist; SWIM 4.1: lambda log n)."""
    return multiplier * math.ceil(math.log10(members + 1))


def suspicion_limits(members: int, parameters: Parameters) -> tuple[float, float]:
    """The least and the most seconds of a suspicion: alpha * log10(n) * interval, and beta times that (Lifeguard IV-B).

    `suspicion_timeout` is alpha * interval; the logarithm counts as 1 up to ten members, as in memberlist.
    """
    least = parameters.suspicion_timeout * max(1.0, math.log10(max(1, members)))
    return least, least * parameters.suspicion_maximum


def expected_confirmations(members: int, parameters: Parameters) -> int:
    """K of Lifeguard IV-B, at most the members that are neither the suspect nor the one who suspects."""
    return max(0, min(parameters.suspicion_confirmations, members - 2))


def suspicion_timeout(least: float, most: float, confirmations: int, expected: int) -> float:
    """max(least, most - (most - least) * log(c + 1) / log(k + 1)) (Lifeguard IV-B); the least when nobody can confirm."""
    if expected < 1:
        return least
    return max(least, most - (most - least) * math.log(confirmations + 1) / math.log(expected + 1))


def first_suspicion(members: int, parameters: Parameters) -> float:
    """Seconds until a member that stops answering is suspected by each healthy member that is not told before.

    Targets are shuffled and taken in turn, so that a member waits at most 2n - 1 protocol periods (SWIM 4.3).
    """
    return (2 * members - 1) * parameters.probe_interval


def gossip_rounds(members: int, fanout: int, loss: float = 0.0, missed: float = 0.01) -> int:
    """Rounds until fewer than `missed` members are expected not to know an item (the epidemic of SWIM 4.1).

    In a round each of `knowing` sends to `fanout` others, and a packet is lost with probability `loss`:
    unaware' = unaware * (1 - (1 - loss) * min(1, fanout / (n - 1))) ** knowing. Raises ValueError when nothing arrives.
    """
    if not 0 <= loss < 1:
        raise ValueError(f"loss={loss} must be from 0 to below 1")
    unaware, rounds = float(members - 1), 0
    while unaware >= missed:
        reached = (1 - loss) * min(1.0, fanout / (members - 1))
        unaware *= (1 - reached) ** (members - unaware)
        rounds += 1
    return rounds


def gossip(members: int, parameters: Parameters, loss: float = 0.0) -> float:
    """Seconds in which an item usually reaches all: three gossip intervals for each round, for phase and delay."""
    return 3 * parameters.gossip_interval * gossip_rounds(members, parameters.gossip_fanout, loss)


def detection(members: int, parameters: Parameters, loss: float = 0.0) -> float:
    """Seconds until every healthy member holds a stopped member for dead."""
    _, most = suspicion_limits(members, parameters)
    return first_suspicion(members, parameters) + most + gossip(members, parameters, loss)


def convergence(members: int, parameters: Parameters) -> float:
    """Seconds until all living members know what one of them knows, though every datagram of it were lost.

    Partners of push/pull are shuffled and taken in turn too: each pair meets within 2(n - 1) - 1 intervals, after a
    first phase of up to one, and an exchange takes at most `stream_timeout`.
    """
    return max(1, 2 * members - 2) * parameters.push_pull_interval + parameters.stream_timeout


def healing(members: int, parameters: Parameters) -> float:
    """Seconds after the end of a partition until all agree, when each side has a seed on the other.

    A try that began before may hang for `stream_timeout`; the next comes within `join_interval` and tells both what the
    other believes, also that they are dead; the one after it tells that they are not.
    """
    retry = parameters.stream_timeout + 2 * parameters.join_interval
    return retry + gossip(members, parameters) + convergence(members, parameters)
