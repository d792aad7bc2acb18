"""When a Deployment or StatefulSet counts as rolled out: one look at its counts, its pods and its Services' endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from space_smoke.bench import kube, wait
from space_smoke.model import objects

API = objects.Ref("apps/v1", "Deployment", "space", "api")
LABELS = {"app": "api"}


def pod(
    name: str, *, ready: str = "True", template: str = "new", phase: str = "Running", **meta: Any
) -> dict[str, Any]:
    labels = {**LABELS, "pod-template-hash": template, "controller-revision-hash": template}
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}
    return {"metadata": {"name": name, "labels": labels, **meta}, "spec": {}, "status": status}


class Cluster:
    """Answers from fixed objects, as `kube.Kube` would: two replicas, one Service."""

    def __init__(self) -> None:
        counts = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}
        revision = {"deployment.kubernetes.io/revision": "4"}
        self.deployment: dict[str, Any] = {
            "metadata": {"namespace": "space", "name": "api", "generation": 3, "annotations": revision},
            "spec": {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}}},
            "status": {"observedGeneration": 3, **counts},
        }
        self.pods = [pod("a"), pod("b")]
        self.named = ["a", "b"]

    def read(self, _ref: objects.Ref) -> dict[str, Any]:
        return self.deployment

    def listed(self, _api: str, kind: str, _namespace: str, _selector: str = "") -> list[dict[str, Any]]:
        newest = {"annotations": self.deployment["metadata"]["annotations"], "labels": {"pod-template-hash": "new"}}
        service = {"metadata": {"name": "api"}, "spec": {"selector": LABELS}}
        endpoints = [{"targetRef": {"name": name}} for name in self.named]
        everything = {
            "Pod": self.pods,
            "ReplicaSet": [{"metadata": newest}],
            "Service": [service],
            "EndpointSlice": [{"endpoints": endpoints}],
        }
        return everything[kind]


class Stateful(Cluster):
    """The same as a StatefulSet, which knows the newest template itself and has no ReplicaSets."""

    def __init__(self) -> None:
        super().__init__()
        self.deployment["kind"] = "StatefulSet"
        self.deployment["metadata"].pop("annotations")
        self.deployment["status"]["updateRevision"] = "new"

    def listed(self, api: str, kind: str, namespace: str, selector: str = "") -> list[dict[str, Any]]:
        assert kind != "ReplicaSet"
        self.deployment["metadata"]["annotations"] = {}
        return super().listed(api, kind, namespace, selector)


each = pytest.mark.parametrize("made", [Cluster, Stateful])


def look(cluster: Cluster, **options: bool) -> wait.State:
    return wait.workload_state(cast(kube.Kube, cluster), API, **options)


def spoiled(how: Callable[[Cluster], object], made: type[Cluster] = Cluster) -> Cluster:
    cluster = made()
    how(cluster)
    return cluster


@each
def test_a_workload_is_rolled_out_when_pods_and_endpoints_are_exactly_the_new_ones(made: type[Cluster]) -> None:
    assert look(made()).done


@each
@pytest.mark.parametrize(
    "how",
    [
        lambda c: c.deployment["metadata"].update(generation=4),
        lambda c: c.deployment["status"].update(readyReplicas=1),
        lambda c: c.pods.append(pod("c", template="old")),
        lambda c: c.pods.append(pod("c", deletionTimestamp="now")),
        lambda c: c.pods.append(pod("c", deletionTimestamp="now", phase="Succeeded")),
        lambda c: c.pods.__setitem__(1, pod("b", ready="False")),
        lambda c: c.named.append("c"),
        lambda c: c.named.remove("b"),
    ],
    ids=[
        "spec not observed",
        "one not ready in the counts",
        "an old pod runs",
        "a pod ends",
        "a pod has ended and is not gone",
        "a pod not Ready",
        "an endpoint too many",
        "an endpoint too few",
    ],
)
def test_it_is_not_rolled_out_before_all_of_that_is_so(how: Callable[[Cluster], object], made: type[Cluster]) -> None:
    assert not look(spoiled(how, made)).done


def test_a_pod_that_was_evicted_long_ago_does_not_hold_it_up() -> None:
    assert look(spoiled(lambda c: c.pods.append(pod("c", phase="Failed")))).done


def crashing(name: str, **more: Any) -> dict[str, Any]:
    broken = pod(name, ready="False", **more)
    broken["status"]["containerStatuses"] = [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]
    return broken


def test_a_pod_that_cannot_start_ends_the_wait() -> None:
    assert look(spoiled(lambda c: c.pods.__setitem__(1, crashing("b")))).hopeless


@pytest.mark.parametrize(
    "more", [{"template": "old"}, {"deletionTimestamp": "now"}], ids=["an old pod", "a pod that ends"]
)
@each
def test_one_that_is_about_to_go_does_not(more: dict[str, Any], made: type[Cluster]) -> None:
    state = look(spoiled(lambda c: c.pods.append(crashing("c", **more)), made))
    assert (state.done, state.hopeless) == (False, False)


def test_the_mutation_that_ignores_old_pods_ignores_them() -> None:
    assert look(spoiled(lambda c: c.pods.append(pod("c", template="old"))), ignore_old=True).done
