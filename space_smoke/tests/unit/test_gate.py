"""The health gate: a suite begins on a bench that is at rest, and at once on one that has long been."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.engine import bearings, gate
from space_smoke.tests.unit import bench_objects as made


class Clock:
    """Goes on by `step_s` whenever it is looked at."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.at_s, self.step_s = 100.0, step_s

    def __call__(self) -> float:
        self.at_s += self.step_s
        return self.at_s

    def now(self) -> datetime:
        return made.NOW + timedelta(seconds=self.at_s - 100.0)


def gated(cluster: made.Cluster, clock: Clock, told: list[tuple[str, dict[str, Any]]], **more: Any) -> gate.Gate:
    def emit(kind: str, **data: Any) -> None:
        told.append((kind, data))

    return gate.Gate(cast(kube.Kube, cluster), made.SPACE, emit, clock, clock.now, **more)


def judge(found: bearings.Bearings) -> tuple[bool, str]:
    state = gated(made.Cluster(), Clock(), []).judge(found)
    return state.done, state.words


def test_a_bench_at_rest_is_quiet() -> None:
    assert judge(made.standing()) == (True, "quiet: 1 nodes Ready, 1 rollouts ended, 1 pods at rest")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": [made.node(ready="False")]}, "node dev-worker is not Ready"),
        ({"nodes": [made.node(ready="Unknown")]}, "node dev-worker is not Ready"),
        ({"nodes": []}, "there is no node"),
        ({"deployments": [made.deployment(wanted=2)]}, "deployment/space-api: 1 of 2 ready, 2 updated, 2 in all"),
        ({"deployments": [made.deployment(observedGeneration=0)]}, "its new spec was not observed yet"),
        ({"deployments": [made.deployment(replicas=2)]}, "1 of 1 ready, 1 updated, 2 in all"),
        ({"stateful_sets": [made.deployment("postgres", ready=0)]}, "postgres: 0 of 1 ready"),
        ({"pods": [made.pod(ready_s=None)]}, "pod space-api-7c4-a is not Ready"),
        ({"pods": [made.pod(going=True)]}, "pod space-api-7c4-a is on its way out"),
        (
            {"pods": [made.pod(restarts=1, ended_s=12)]},
            "container api of pod space-api-7c4-a restarted less than 30 s ago",
        ),
        (
            {"replica_sets": [made.replica_set(age_s=40)], "pods": [made.pod(ready_s=12)]},
            "ReplicaSet space-api-7c4 is young, and its pods have been Ready for 12 of 30 s; nothing else moves",
        ),
        ({"replica_sets": [made.replica_set(age_s=40)], "pods": []}, "Ready for 0 of 30 s"),
    ],
)
def test_a_bench_that_moves_is_not_quiet_and_says_what_moves(changes: dict[str, Any], words: str) -> None:
    quiet, said = judge(made.standing(**changes))
    assert not quiet
    assert words in said


@pytest.mark.parametrize(
    "changes",
    [
        {"replica_sets": [made.replica_set(age_s=40)], "pods": [made.pod(ready_s=31)]},
        {"replica_sets": [made.replica_set(age_s=181)], "pods": [made.pod(ready_s=2)]},
        {"replica_sets": [made.replica_set(), made.replica_set("space-api-old", age_s=5, replicas=0)]},
        {"pods": [made.pod(), made.pod("lived-through-it", restarts=3, ended_s=31)]},
    ],
    ids=["young but long ready", "old with new pods", "young without pods", "restarted a while ago"],
)
def test_what_is_young_but_has_rested_is_quiet(changes: dict[str, Any]) -> None:
    assert judge(made.standing(**changes))[0]


def test_sandboxes_and_jobs_are_not_looked_at() -> None:
    cluster = made.Cluster(
        Pod=[made.pod(), made.pod("sandbox-1", owner=None, ready_s=None), made.pod("m", owner=("Job", "m"))]
    )
    found = bearings.read(cast(kube.Kube, cluster), made.SPACE)
    assert [pod["metadata"]["name"] for pod in found.pods] == ["space-api-7c4-a"]


def test_a_grid_site_that_moves_in_its_own_namespace_keeps_the_gate_closed() -> None:
    def said(**lists: Any) -> tuple[bool, str]:
        cluster = made.Cluster(**lists)
        return judge(bearings.read(cast(kube.Kube, cluster), made.SPACE))

    pod = made.pod("grid-a-0", owner=("StatefulSet", "grid-a"), namespace="grid-a")
    waits = made.pod("grid-a-0", owner=("StatefulSet", "grid-a"), namespace="grid-a", ready_s=None)
    foreign = made.pod("other-0", owner=("StatefulSet", "other"), namespace="elsewhere", ready_s=None)
    quiet, words = said(StatefulSet=[made.site()], Pod=[made.pod(), pod, foreign])
    assert (quiet, words) == (True, "quiet: 1 nodes Ready, 2 rollouts ended, 2 pods at rest")
    assert said(StatefulSet=[made.site(ready=0)]) == (False, "statefulset/grid-a: 0 of 1 ready, 1 updated, 1 in all")
    assert said(StatefulSet=[made.site()], Pod=[waits]) == (False, "pod grid-a-0 is not Ready")


def test_a_quiet_bench_is_looked_at_once_and_never_again() -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    cluster = made.Cluster()
    opened = gated(cluster, Clock(), told)
    opened.once()
    asked = len(cluster.asked)
    opened.once()
    assert [kind for kind, _ in told] == ["gate"]
    assert asked == len(cluster.asked) == 7
    assert told[0][1]["quiet"] is True


def test_a_fresh_bench_is_waited_for_until_its_pods_have_rested_and_the_wait_is_told() -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    young = made.Cluster(ReplicaSet=[made.replica_set(age_s=20)], Pod=[made.pod(ready_s=5)])
    clock = Clock(step_s=2.0)
    gated(young, clock, told).once()
    kinds = [kind for kind, _ in told]
    assert kinds[0] == "wait-started"
    assert kinds[-2:] == ["wait-ended", "gate"]
    assert set(kinds[1:-2]) == {"progress"}
    assert "Ready for" in told[1][1]["saying"]
    assert clock.at_s - 100.0 <= 25.0 + 12.0  # 25 s were missing; each look takes some of this clock's steps


def test_a_clock_that_is_behind_the_clusters_makes_nobody_wait_longer_than_the_rest_takes() -> None:
    behind = made.Cluster(ReplicaSet=[made.replica_set(age_s=-7200)], Pod=[made.pod(ready_s=-7200)])
    clock = Clock(step_s=1.0)
    gated(behind, clock, []).once()
    assert 30.0 <= clock.at_s - 100.0 <= 60.0


def test_a_bench_that_never_rests_ends_the_wait_with_what_moves() -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    moving = made.Cluster(Deployment=[made.deployment(wanted=2)])
    with pytest.raises(errors.WaitFailed, match="1 of 2 ready"):
        gated(moving, Clock(), told, timeout_s=0.05).once()
    assert told[-1] == ("wait-ended", told[-1][1] | {"ok": False})


def test_another_rest_than_the_rules_is_told() -> None:
    fresh = made.standing(replica_sets=[made.replica_set(age_s=9)], pods=[made.pod(ready_s=4)])
    assert not gated(made.Cluster(), Clock(), []).judge(fresh).done
    state = gated(made.Cluster(), Clock(), [], rest_s=3.0).judge(fresh)
    assert (state.done, state.words.endswith("1 pods at rest for 3 s, as asked for")) == (True, True)
