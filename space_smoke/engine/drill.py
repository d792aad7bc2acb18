"""Drills: the harness is broken on purpose, at a step that it reached, and the bench must be put right by the next command.

Each drill is one function (engine.drills) that breaks runners and adds what was not right afterwards to its score. They run
on light targets (`ground`) through the same protocol code as a run. `DRILLS` is the whole list. On a Kind bench of ours the
API server's audit log is replayed after each of them: what was really written has the last word.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from space_smoke import errors
from space_smoke.engine import drilling, ground
from space_smoke.engine.drills import bringup, held, holders, kills, runs, server
from space_smoke.engine.drills import score as scoring

DRILLS: Mapping[str, scoring.Drill] = {
    "killed-at-each-step": kills.killed_at_each_step,
    "killed-twice": kills.killed_twice,
    "stale-runner": holders.stale_runner,
    "held-request": held.held_request,
    "restore-fails": holders.restore_fails,
    "live-holder": holders.live_holder,
    "orphaned-child": holders.orphaned_child,
    "clock-jump": holders.clock_jump,
    "lease-deleted": holders.lease_deleted,
    "target-recreated": holders.target_recreated,
    "two-successors": holders.two_successors,
    "api-server-restarted": server.api_server_restarted,
    "killed-during-up": bringup.killed_bring_up,
}
# Not on a cluster of the user's; and, for their length, only by name.
KIND_ONLY = frozenset({"api-server-restarted", "killed-during-up"})
BY_NAME = frozenset({"killed-during-up"})
ALL = tuple(name for name in DRILLS if name not in BY_NAME)

_CLAIMS = {"random-kills": kills.random_kills.__doc__, "killed-runs": runs.killed_runs.__doc__}


def touches(name: str, on: ground.Ground, killing: runs.Killing | None = None) -> str:
    """What the drill changes, for whoever lends their cluster to it."""
    light = (
        f"namespace {drilling.NAMESPACE} with Deployments {', '.join(ref.name for ref in ground.REPLICAS)}, and "
        f"Lease {ground.LEASE.namespace}/{drilling.DOMAIN}"
    )
    more = {
        "api-server-restarted": f"{light}; it kills the container of the API server",
        "killed-during-up": f"bench {bringup.beside(on.bench)}, which it makes and removes",
    }
    if killing is not None and name == "killed-runs":
        return (
            f"whatever {killing.scenario} breaks in namespace {killing.namespace}: space_smoke plan {killing.scenario}"
        )
    return more.get(name, light)


@dataclass(slots=True)
class Outcome:
    """`not_possible` are drills that this bench cannot be put through: they are not passed. `left` is what is broken still."""

    drills: list[str] = field(default_factory=list)
    not_possible: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    cycles: int = 0
    kills: int = 0
    seconds: float = 0.0
    reached: Counter[str] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)
    audit: Mapping[str, Any] | None = None

    def add(self, name: str, score: scoring.Score, seconds: float) -> None:
        self.drills.append(name)
        self.problems += [f"{name}: {problem}" for problem in score.problems]
        self.cycles += score.cycles
        self.kills += score.kills
        self.seconds = round(self.seconds + seconds, 2)
        self.reached += score.reached

    def as_json(self) -> dict[str, Any]:
        """{"problems", "drills", "not_possible", "kills", "cycles", "seconds", "seconds_per_cycle", "reached", "faults_left",
        "audit": null | {"entries", "committed", "refused", "violations", "stale_writes"}}"""
        return {
            "problems": self.problems,
            "drills": self.drills,
            "not_possible": self.not_possible,
            "kills": self.kills,
            "cycles": self.cycles,
            "seconds": self.seconds,
            "seconds_per_cycle": round(self.seconds / self.cycles, 3) if self.cycles else None,
            "reached": dict(sorted(self.reached.items())),
            "faults_left": self.left,
            "audit": self.audit,
        }


def run(
    names: Iterable[str],
    on: ground.Ground,
    emit: Callable[..., Any],
    *,
    wanted: int = 0,
    seed: int = 0,
    killing: runs.Killing | None = None,
) -> Outcome:
    """Runs drills by name, then `wanted` random kills, of whole runs where `killing` names a scenario.

    Raises Refused when the ground is in use, BenchError.
    """
    outcome, todo = Outcome(), _possible(names, on, emit)
    outcome.not_possible = [name for name in names if name not in todo]
    if killing is not None:
        todo["killed-runs"] = lambda where, score: runs.killed_runs(where, score, killing)
    elif wanted:
        todo["random-kills"] = lambda where, score: kills.random_kills(where, score, wanted, seed)
    for place, drills in _places(todo, on, killing).items():
        emit("note", sentence=f"{', '.join(drills)} will write to: {place}")
    on.prepare()
    try:
        for name, drill in todo.items():
            _one(name, drill, on, emit, outcome)
        outcome.left = on.problems()
    finally:
        on.remove()
    if on.bench:
        outcome.audit = _audit(on)
        if set(todo) - {"killed-during-up"} and not on.replay.committed:
            outcome.problems.append("the audit log has no write of any drill: nothing was judged by it")
        emit("note", sentence=_judged(outcome.audit))
    return outcome


def _possible(names: Iterable[str], on: ground.Ground, emit: Callable[..., Any]) -> dict[str, scoring.Drill]:
    todo = {}
    for name in names:
        if name in KIND_ONLY and not on.bench:
            emit("note", sentence=f"{name} is not possible on a cluster that is not a Kind bench of ours: not run")
        else:
            todo[name] = DRILLS[name]
    return todo


def _places(names: Iterable[str], on: ground.Ground, killing: runs.Killing | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(touches(name, on, killing), []).append(name)
    return found


def _one(name: str, drill: scoring.Drill, on: ground.Ground, emit: Callable[..., Any], outcome: Outcome) -> None:
    claim = " ".join((drill.__doc__ or _CLAIMS[name] or name).split())
    emit("drill-started", drill=name, claim=claim)
    score, started = scoring.Score(), time.monotonic()
    try:
        drill(on, score)
    except errors.SpaceSmokeError as error:
        score.problems.append(f"{name} could not go on: {error.message}")
        if on.end_all():  # the drills after this one begin where nothing is held
            score.ended_well(on.go("repair"), "the repair after it")
    score.problems += on.audited()
    seconds = time.monotonic() - started
    outcome.add(name, score, seconds)
    emit(
        "drill-ended",
        drill=name,
        ok=not score.problems,
        cycles=score.cycles,
        seconds=round(seconds, 2),
        problems=score.problems,
        reached=dict(score.reached),
    )


def _audit(on: ground.Ground) -> dict[str, Any]:
    return {
        "entries": on.entries,
        "committed": dict(sorted(on.replay.committed.items())),
        "refused": dict(sorted(on.replay.refused.items())),
        "violations": on.replay.violations,
        "stale_writes": on.replay.stale_writes,
    }


def _judged(seen: Mapping[str, Any]) -> str:
    return (
        f"by the API server's audit log: {sum(seen['committed'].values())} writes committed, "
        f"{sum(seen['refused'].values())} refused, {len(seen['violations'])} violations, {seen['stale_writes']} stale writes"
    )
