"""The health gate in front of a suite: nothing is judged on a bench that is still moving.

The bench is quiet when each node is Ready, each rollout has ended, no container restarted lately, and each ReplicaSet is
older than `YOUNG_S` or has had all its pods Ready for `READY_S`. Times of the API server are compared with this machine's
clock, and what was seen here is counted by its own: where the two clocks differ, the wait is never longer than `READY_S`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from space_smoke import errors
from space_smoke.bench import kube, ready, wait
from space_smoke.engine import bearings
from space_smoke.model import objects

YOUNG_S = 180.0
READY_S = 30.0
_TIMEOUT_S = 240.0
_TELL_S = 5.0
_WATCHED = (("v1", "Pod"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))
_ONLY_TIME = "; nothing else moves"


@dataclass(slots=True)
class Gate:
    """One for each run. `clock` is monotonic; `now` is the time of day; another `rest_s` than the rule's is told."""

    cluster: kube.Kube
    namespace: str
    emit: Callable[..., Any]
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    timeout_s: float = _TIMEOUT_S
    rest_s: float = READY_S
    passed: bool = False
    _seen: dict[tuple[str, str], float] = field(default_factory=dict)

    def once(self) -> None:
        """Waits until the bench is quiet, unless this run has done so. Raises WaitFailed, with what was not quiet."""
        if self.passed:
            return
        began_s = self.clock()
        state = self._look()
        if not state.done:
            own = bearings.namespaces(self.cluster, self.namespace)
            watching = [(*kind, where) for kind in _WATCHED for where in own]
            told = _Progress(self.emit, self.clock)
            state = wait.until(
                self.cluster,
                "the bench to be quiet",
                lambda: told.of(self._look()),
                watching=watching,
                timeout_s=self.timeout_s,
                emit=self.emit,
            )
        self.passed = True
        self.emit("gate", quiet=True, saying=state.words, seconds=round(self.clock() - began_s, 3))

    def _look(self) -> wait.State:
        return self.judge(bearings.read(self.cluster, self.namespace))

    def judge(self, found: bearings.Bearings) -> wait.State:
        """Whether this is quiet, and all that is not."""
        moving = [*_nodes(found), *_rollouts(found), *self._pods(found)]
        resting = list(self._young(found))
        if moving or resting:
            words = "; ".join([*moving, *resting][:4]) + ("" if moving else _ONLY_TIME)
            return wait.State(False, words)
        workloads = len(found.deployments) + len(found.stateful_sets)
        words = f"quiet: {len(found.nodes)} nodes Ready, {workloads} rollouts ended, {len(found.pods)} pods at rest"
        return wait.State(True, words if self.rest_s == READY_S else f"{words} for {self.rest_s:g} s, as asked for")

    def _pods(self, found: bearings.Bearings) -> Iterator[str]:
        for pod in found.pods:
            name = pod["metadata"]["name"]
            if "deletionTimestamp" in pod["metadata"]:
                yield f"pod {name} is on its way out"
            elif ready.condition(pod, "Ready") != "True":
                yield f"pod {name} is not Ready"
            for status in bearings.containers(pod):
                ended = objects.dig(status, "lastState", "terminated", "finishedAt")
                if ended and self._since((name, f"restart {ended}"), ended) < self.rest_s:
                    yield f"container {status['name']} of pod {name} restarted less than {self.rest_s:.0f} s ago"

    def _young(self, found: bearings.Bearings) -> Iterator[str]:
        """ReplicaSets that are young and whose pods have not been Ready for long enough."""
        for one in found.replica_sets:
            name = one["metadata"]["name"]
            if not objects.dig(one, "spec", "replicas"):
                continue
            if self._since((name, "made"), one["metadata"]["creationTimestamp"]) >= YOUNG_S:
                continue
            mine = [pod for pod in found.pods if _owned(pod, one)]
            rested_s = min((self._ready_s(pod) for pod in mine), default=0.0)
            if rested_s < self.rest_s:
                yield f"ReplicaSet {name} is young, and its pods have been Ready for {rested_s:.0f} of {self.rest_s:.0f} s"

    def _ready_s(self, pod: objects.Object) -> float:
        conditions = objects.dig(pod, "status", "conditions") or ()
        since = next(
            (one.get("lastTransitionTime") for one in conditions if one["type"] == "Ready" and one["status"] == "True"),
            None,
        )
        return self._since((str(pod["metadata"].get("uid")), f"ready {since}"), since) if since else 0.0

    def _since(self, key: tuple[str, str], stamp: str) -> float:
        """Seconds since a stamp of the API server; at least those since it was first seen here."""
        first_s = self._seen.setdefault(key, self.clock())
        return max((self.now() - ready.moment(stamp)).total_seconds(), self.clock() - first_s)


@dataclass(slots=True)
class _Progress:
    """Tells a wait's words as they change, but not more often than every `_TELL_S`."""

    emit: Callable[..., Any]
    clock: Callable[[], float]
    _told: str = ""
    _at_s: float = float("-inf")

    def of(self, state: wait.State) -> wait.State:
        if not state.done and state.words != self._told and self.clock() - self._at_s >= _TELL_S:
            self.emit("progress", saying=f"not quiet yet: {state.words}")
            self._told, self._at_s = state.words, self.clock()
        return state


def _nodes(found: bearings.Bearings) -> Iterator[str]:
    if not found.nodes:
        yield "there is no node"
    for node in found.nodes:
        if ready.condition(node, "Ready") != "True":
            yield f"node {node['metadata']['name']} is not Ready"


def _rollouts(found: bearings.Bearings) -> Iterator[str]:
    for one in (*found.deployments, *found.stateful_sets):
        if words := ready.behind(one):
            yield f"{one['kind'].lower()}/{one['metadata']['name']}: {words}"


def _owned(pod: objects.Object, replica_set: objects.Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(one.get("uid") == replica_set["metadata"].get("uid") for one in owners)


def failed(error: errors.WaitFailed) -> str:
    """The sentence of a scenario that was not begun for it."""
    return f"the health gate did not open: {error.message}"
