"""How long the grid's gossip may take, by its published formulae. Seconds; `members` counts all sites.

They are those of `services/swim/bounds.py`, which names their sources (SWIM, DSN 2002, and memberlist), and the numbers are
those of `services/swim/parameters.py`; a test holds both together, since the harness imports no service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from space_smoke.model import scenario

# From a site's ledger to its GridNetwork (services/grid_operator/reconcile.py): 0.1 s for further changes to come, 0.25 s
# until what the gossip does not announce is noticed, and 1 s until a write that failed is tried again.
SHOWN_S = 1.35


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the formulae take, of one profile of the gossip."""

    gossip_interval_s: float
    gossip_fanout: int
    push_pull_interval_s: float
    join_interval_s: float
    stream_timeout_s: float


PROFILES: Mapping[str, Parameters] = {
    "kind": Parameters(0.1, 3, 2.0, 2.0, 5.0),
    "lan": Parameters(0.2, 3, 30.0, 10.0, 5.0),
    "wan": Parameters(0.5, 4, 60.0, 30.0, 10.0),
}
PROFILE = {
    "enum": sorted(PROFILES),
    "default": "kind",
    "description": "the profile of the sites' gossip, which the bound is made from",
}


def gossip_rounds(members: int, fanout: int) -> int:
    """Rounds until fewer than a hundredth of a member is expected not to know an item, without loss (SWIM 4.1)."""
    unaware, rounds = float(members - 1), 0
    while unaware >= 0.01:
        unaware *= (1 - min(1.0, fanout / (members - 1))) ** (members - unaware)
        rounds += 1
    return rounds


def convergence_s(members: int, the: Parameters) -> float:
    """Until all living members know what one of them knows, though every datagram of it were lost: each pair meets by
    push/pull within 2(n - 1) intervals, and an exchange takes at most `stream_timeout`."""
    return max(1, 2 * members - 2) * the.push_pull_interval_s + the.stream_timeout_s


def healing_s(members: int, the: Parameters) -> float:
    """After the end of a partition, or of a site's absence, until all agree: a try that hangs, two further ones, a round of
    gossip, and convergence."""
    retry_s = the.stream_timeout_s + 2 * the.join_interval_s
    gossip_s = 3 * the.gossip_interval_s * gossip_rounds(members, the.gossip_fanout)
    return retry_s + gossip_s + convergence_s(members, the)


def shown_s(check: scenario.Check, members: int, formula: Callable[[int, Parameters], float]) -> float:
    """Until a GridNetwork shows it, by one of the formulae, of the profile that a check names."""
    return formula(members, PROFILES[check.arguments.get("profile", "kind")]) + SHOWN_S
