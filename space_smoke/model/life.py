"""Whether a Lease's holder is dead: facts that one machine can gather, and the pure judgement on them.

The rule (design: proof of death): the same boot, the same pid namespace and the same user, and then either the flock
that the run and all of its children hold is free, or the process is gone (or its start time differs, or it is a zombie
without threads) and nobody is left in its process group. Anything else is unknown, never dead: host names lie, pids are
reused, and a child can outlive its parent. A stopped process is alive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Life = Literal["dead", "alive", "unknown"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found on this machine about a holder. None: could not be told."""

    same_boot: bool = False
    same_pid_namespace: bool = False
    same_user: bool = False
    lock_free: bool | None = None  # the run's flock could be taken, so no process of the run holds it
    pid_present: bool | None = None
    same_start: bool | None = None  # the process with that pid started when the holder says it did
    zombie: bool | None = None  # defunct, and none of its threads is left
    group_members: int | None = None  # live processes in the holder's process group


@dataclass(frozen=True, slots=True)
class Judgement:
    life: Life
    reason: str


def judge(facts: Facts) -> Judgement:
    """dead only on proof; `reason` is one clause for people."""
    if not facts.same_boot:
        return Judgement("unknown", "it ran on another machine, or before this one's last boot")
    if not facts.same_pid_namespace:
        return Judgement("unknown", "it ran in another pid namespace")
    if not facts.same_user:
        return Judgement("unknown", "it ran as another user")
    if facts.lock_free:
        return Judgement("dead", "its lock is free: no process of that run is left")
    if facts.pid_present is None:
        return Judgement("unknown", "its process could not be looked up")
    gone = _gone(facts)
    if not gone:
        return Judgement("alive", "its process runs" if facts.same_start else "its process may run")
    if facts.lock_free is False:
        return Judgement("alive", f"{gone}, but a child of that run still holds its lock")
    if facts.group_members is None:
        return Judgement("unknown", f"{gone}, but its process group could not be looked up")
    if facts.group_members > 0:
        return Judgement("unknown", f"{gone}, but {facts.group_members} processes are left in its group")
    return Judgement("dead", f"{gone}, and nobody is left in its process group")


def _gone(facts: Facts) -> str:
    if not facts.pid_present:
        return "its process is gone"
    if facts.same_start is False:
        return "its process id belongs to another process now"
    if facts.zombie:
        return "its process is a zombie"
    return ""
