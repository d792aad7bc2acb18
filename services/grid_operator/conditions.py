"""Conditions of a GridNetwork, in the shape of meta/v1: each says in a word and in a sentence why it holds or not.

A message holds nothing that changes while nothing happens, such as a count or a time: each change is a write.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from grid_operator import policy, wording

POLICY_VALID, SPEND_PERSISTED, MESH_HEALTHY = "BudgetPolicyValid", "SpendPersisted", "MeshHealthy"
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
_NAMED = 5


class Condition(NamedTuple):
    """`status` is True, False or Unknown."""

    type: str
    status: str
    reason: str
    message: str


class Mesh(NamedTuple):
    """What the site sees of the others: names of members, and seeds as they are written. `closed` is why it does not gossip
    at all, "" when it does."""

    alive: Sequence[str] = ()
    unreachable: Sequence[str] = ()
    unresolved: Sequence[str] = ()
    seeds: int = 0
    closed: str = ""


def of_policy(taken: policy.Taken) -> Condition:
    if isinstance(taken, policy.Invalid):
        return Condition(POLICY_VALID, FALSE, "Invalid", str(taken))
    if taken is None:
        return Condition(POLICY_VALID, TRUE, "NoPolicy", "there is no budgetPolicy")
    return Condition(POLICY_VALID, TRUE, "Valid", f"epoch {taken.epoch} is in force")


def of_persistence(trouble: str | None) -> Condition:
    """`trouble` is what kept the last spend from being written, "" for nothing, None when nothing was tried yet."""
    if trouble is None:
        return Condition(SPEND_PERSISTED, UNKNOWN, "NotTried", "the database was not asked yet")
    if trouble:
        return Condition(SPEND_PERSISTED, FALSE, "DatabaseFailed", f"no spend is acknowledged: {trouble}")
    return Condition(SPEND_PERSISTED, TRUE, "Persisted", "spend is in the database before it is acknowledged")


def of_mesh(mesh: Mesh) -> Condition:
    if mesh.closed:
        return Condition(MESH_HEALTHY, FALSE, "Closed", f"this site does not gossip: {mesh.closed}")
    if mesh.unreachable:
        said = f"members that do not answer: {_names(mesh.unreachable)}"
        return Condition(MESH_HEALTHY, FALSE, "MembersUnreachable", said)
    if mesh.unresolved:
        said = f"seeds without an address: {_names(mesh.unresolved)}"
        return Condition(MESH_HEALTHY, FALSE, "SeedsUnresolved", said)
    if mesh.alive:
        return Condition(MESH_HEALTHY, TRUE, "Reached", "every known member answers")
    if mesh.seeds:
        return Condition(MESH_HEALTHY, UNKNOWN, "NotJoined", "no seed has answered yet")
    return Condition(MESH_HEALTHY, TRUE, "Alone", "no seeds are named and no member is known")


def merged(
    wanted: Sequence[Condition], before: object, generation: int, now: datetime.datetime
) -> list[dict[str, Any]]:
    """`status.conditions`, sorted by type. The time of one changes with its status only; `before` is what was there.

    `now` is in UTC. What is there and no condition counts as nothing.
    """
    known = _by_type(before)
    entries = []
    for one in sorted(wanted):
        past = known.get(one.type, {})
        stays = past.get("status") == one.status and isinstance(past.get("lastTransitionTime"), str)
        since = past["lastTransitionTime"] if stays else f"{now:%Y-%m-%dT%H:%M:%SZ}"
        entries.append({**one._asdict(), "lastTransitionTime": since, "observedGeneration": generation})
    return entries


def _by_type(before: object) -> dict[str, Mapping[str, Any]]:
    found = before if isinstance(before, list) else []
    return {str(entry.get("type")): entry for entry in found if isinstance(entry, Mapping)}


def _names(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    shown = ", ".join(wording.quoted(name) for name in sorted(names)[:_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
