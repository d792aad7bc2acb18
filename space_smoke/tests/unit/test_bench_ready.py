"""One look at a bench's parts: what counts as ready, and what only looks like it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from space_smoke.bench import kube, ready
from space_smoke.model import objects

SINCE = datetime(2026, 1, 1, 12, 0, 0, 500000, tzinfo=UTC)
BEFORE, SAME_SECOND, AFTER = "2026-01-01T11:59:59Z", "2026-01-01T12:00:00Z", "2026-01-01T12:00:04.1Z"


def node(name: str, status: str = "True") -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": status}]}}


def pod(on: str, begun: str) -> dict[str, Any]:
    running = {"state": {"running": {"startedAt": begun}}}
    return {"metadata": {"name": "p"}, "spec": {"nodeName": on}, "status": {"containerStatuses": [running]}}


class Cluster:
    """Answers from fixed objects, as `kube.Kube` would."""

    def __init__(self, nodes: Any, pods: Any = (), renewed: str = AFTER, sets: Any = (), status: int = 200) -> None:
        self.lists = {"Node": list(nodes), "Pod": list(pods)}
        self.renewed, self.sets, self.status = renewed, list(sets), status

    def listed(self, _api: str, kind: str, *_: str) -> list[dict[str, Any]]:
        return self.lists[kind]

    def read(self, _ref: objects.Ref) -> dict[str, Any]:
        return {"spec": {"renewTime": self.renewed}}

    def send(self, _method: str, path: str) -> tuple[int, dict[str, Any]]:
        return self.status, {"items": self.sets} if "statefulsets" in path else (self.sets or [{}])[0]


def as_kube(cluster: Cluster) -> kube.Kube:
    return cast(kube.Kube, cluster)


THREE = [node("a"), node("b"), node("c")]


@pytest.mark.parametrize(
    ("found", "done"),
    [(THREE, True), (THREE[:2], False), ([*THREE[:2], node("c", "Unknown")], False), ([*THREE, node("d")], False)],
    ids=["all Ready", "one missing", "one Unknown", "one too many"],
)
def test_nodes_are_ready_when_each_of_the_shape_is_there_and_no_other(found: Any, done: bool) -> None:
    assert ready.nodes(as_kube(Cluster(found))).done is done


@pytest.mark.parametrize(
    ("cluster", "done"),
    [
        (Cluster(THREE, [pod("b", AFTER)]), True),
        (Cluster(THREE, [pod("b", SAME_SECOND)]), True),
        (Cluster(THREE, [pod("b", AFTER)], renewed=BEFORE), False),
        (Cluster(THREE, [pod("b", BEFORE)]), False),
        (Cluster(THREE, [pod("a", BEFORE)]), True),
        (Cluster(THREE[:2], [pod("b", AFTER)]), False),
    ],
    ids=["all new", "Kubernetes cuts fractions off", "kubelet silent", "old pod news", "pod elsewhere", "no node"],
)
def test_a_started_node_has_returned_when_what_is_said_of_it_is_news(cluster: Cluster, done: bool) -> None:
    assert ready.returned(as_kube(cluster), ["b"], [], SINCE).done is done


def test_a_paused_nodes_pods_need_not_be_new_but_its_kubelet_must_report() -> None:
    pods = [pod("b", BEFORE)]
    assert ready.returned(as_kube(Cluster(THREE, pods)), [], ["b"], SINCE).done
    assert not ready.returned(as_kube(Cluster(THREE, pods, renewed=BEFORE)), [], ["b"], SINCE).done


def workload(generation: int, **status: int) -> dict[str, Any]:
    return {"metadata": {"name": "postgres", "generation": generation}, "spec": {"replicas": 1}, "status": status}


FULL = {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1}


@pytest.mark.parametrize(
    ("thing", "done"),
    [
        (workload(2, observedGeneration=2, **FULL), True),
        (workload(2, observedGeneration=1, **FULL), False),
        (workload(2, observedGeneration=2, **{**FULL, "readyReplicas": 0}), False),
        (workload(2, observedGeneration=2, **{**FULL, "updatedReplicas": 0}), False),
        (workload(2, observedGeneration=2, **{**FULL, "replicas": 2}), False),
    ],
    ids=["as its spec says", "spec not seen yet", "not ready", "old pod", "one too many"],
)
def test_a_stateful_set_is_rolled_out_when_it_is_what_its_spec_says(thing: Any, done: bool) -> None:
    assert ready.stateful(as_kube(Cluster([], sets=[thing])), "space", "a=b").done is done


def test_a_release_without_stateful_sets_does_not_wait_for_one() -> None:
    assert ready.stateful(as_kube(Cluster([])), "space", "a=b").done


@pytest.mark.parametrize(("owner", "ends"), [("StatefulSet", True), ("ReplicaSet", False)])
def test_a_stateful_sets_own_pod_that_cannot_start_ends_the_wait(owner: str, ends: bool) -> None:
    stuck = {
        "metadata": {"name": "p", "ownerReferences": [{"kind": owner}]},
        "spec": {},
        "status": {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]},
    }
    state = ready.stateful(as_kube(Cluster([], pods=[stuck])), "space", "a=b")
    assert (state.done, state.hopeless) == (not ends, ends)


@pytest.mark.parametrize(("status", "hopeless"), [(500, False), (403, True)])
def test_a_list_that_is_refused_is_not_taken_for_empty(status: int, hopeless: bool) -> None:
    state = ready.stateful(as_kube(Cluster([], status=status)), "space", "a=b")
    assert (state.done, state.hopeless) == (False, hopeless)


@pytest.mark.parametrize(
    ("status", "done"),
    [
        ({"numberReady": 3, "observedGeneration": 1}, True),
        ({"numberReady": 2, "observedGeneration": 1}, False),
        ({"numberReady": 3, "observedGeneration": 0}, False),
    ],
)
def test_a_daemon_set_is_ready_on_every_node_of_the_shape(status: dict[str, int], done: bool) -> None:
    thing = {"metadata": {"generation": 1}, "status": status}
    assert ready.daemons(as_kube(Cluster([], sets=[thing])), "pod-routes").done is done


def test_a_daemon_set_that_is_missing_is_not_ready() -> None:
    assert not ready.daemons(as_kube(Cluster([], status=404)), "pod-routes").done
