"""Before every scenario: one read of all Leases. Nothing recorded: that read is all it costs. Something recorded: take the
domain, put it back, go on. A live holder with a fault up, or one not provably dead: refuse, and write nothing at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from space_smoke import errors
from space_smoke.engine import tenure
from space_smoke.lease import acquire, protocol

_MAY_TAKE = ("none", "dead", "expired")


def preflight(leases: tenure.Tenure, tell: Callable[..., Any], *, free: bool = False) -> int:
    """Repairs what dead runs left; returns how many faults there were. Raises Refused or RestoreIncomplete.

    A dead run that had nothing up still bears the Lease: the next one to take it finds out. `free` releases those too, and
    looks through the targets for records that somebody removed from their Lease, which any acquisition finds.
    """
    recorded = [
        standing
        for standing in leases.look(sweep=free)
        if standing.view.records or standing.view.unreadable or (free and standing.life in ("dead", "expired"))
    ]
    for standing in recorded:
        acquire.refuse_unreadable(standing.view.domain, standing.view.unreadable)
    blocked = [standing for standing in recorded if standing.life not in _MAY_TAKE]
    if blocked:
        raise refusal(blocked[0], tell)
    if recorded:
        try:
            leases.take(standing.view.domain for standing in recorded)
        finally:
            leases.give_back()
    return sum(len(standing.view.records) for standing in recorded)


def refusal(standing: protocol.Standing, tell: Callable[..., Any]) -> errors.Refused:
    """Names holder, faults and age. The refusal is told as an event too."""
    seen = standing.view
    faults = ", ".join(f"{item.name} on {item.target}" for item in seen.records)
    sentence = (
        f"{faults} is up under the Lease of {seen.domain}, held by {acquire.described(seen)}: {standing.reason}. "
        "Refused to run against it; nothing was written"
    )
    tell("refused", domain=seen.domain, holder=seen.holder, fault=faults, sentence=sentence)
    return errors.Refused(sentence, next_step="wait for that run to end, or: space_smoke status")


def open_faults(leases: tenure.Tenure, *, sweep: bool = False) -> list[str]:
    """What is up now, from a fresh read."""
    return [f"{item.name} on {item.target}" for standing in leases.look(sweep=sweep) for item in standing.view.records]
