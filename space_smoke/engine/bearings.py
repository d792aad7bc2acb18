"""What the health gate and the provenance look at: nodes, workloads and pods of a bench, read in one go and side by side.

Sandboxes come and go with the scenarios, and so do the pods of Jobs: `pods` leaves both out.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke.bench import kube
from space_smoke.model import objects

SYSTEM = "kube-system"
GRID_OPERATOR = "grid-operator"  # the chart of a grid site
_KEPT = ("ReplicaSet", "StatefulSet", "DaemonSet", "Node")  # owners of pods that are there to stay


@dataclass(frozen=True, slots=True)
class Bearings:
    """Raw objects. `namespaces` are the bench's own; `pods` are those of these and of kube-system."""

    namespaces: Sequence[str]
    nodes: Sequence[objects.Object]
    deployments: Sequence[objects.Object]
    replica_sets: Sequence[objects.Object]
    stateful_sets: Sequence[objects.Object]
    pods: Sequence[objects.Object]


def read(cluster: kube.Kube, namespace: str) -> Bearings:
    """All lists at once. Raises ApiError."""
    own = namespaces(cluster, namespace)
    kinds = ("Deployment", "ReplicaSet", "StatefulSet")
    asked: list[tuple[str, str, str]] = [("v1", "Node", "")]
    asked += [("apps/v1", kind, where) for kind in kinds for where in own]
    asked += [("v1", "Pod", where) for where in (*own, SYSTEM)]
    lists = side_by_side([lambda one=one: cluster.listed(*one) for one in asked])  # type: ignore[misc]
    by_kind: dict[str, list[objects.Object]] = {kind: [] for _, kind, _ in asked}
    for (_, kind, _), found in zip(asked, lists, strict=True):
        by_kind[kind] += found
    deployments, replica_sets, stateful_sets = (by_kind[kind] for kind in kinds)
    return Bearings(own, by_kind["Node"], deployments, replica_sets, stateful_sets, kept(by_kind["Pod"]))


def namespaces(cluster: kube.Kube, namespace: str) -> tuple[str, ...]:
    """A bench's own namespaces: this one, and those of the grid sites that it may have. Raises ApiError."""
    sites = cluster.listed("apps/v1", "StatefulSet", "", f"app.kubernetes.io/name={GRID_OPERATOR}")
    return tuple(dict.fromkeys((namespace, *sorted(one["metadata"]["namespace"] for one in sites))))


def side_by_side(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results in order; the first error is raised."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [one.result() for one in [pool.submit(call) for call in calls]]


def kept(pods: Iterable[objects.Object]) -> list[objects.Object]:
    """The pods that a workload or a node keeps there."""
    return [pod for pod in pods if owner(pod) is not None]


def owner(pod: objects.Object) -> str | None:
    """`deployment/NAME`, `statefulset/NAME`, `daemonset/NAME` or, for a static pod, `node/NAME`; None for others."""
    found = next((one for one in pod["metadata"].get("ownerReferences") or () if one.get("kind") in _KEPT), None)
    if found is None:
        return None
    kind, name = str(found["kind"]), str(found["name"])
    if kind == "ReplicaSet":  # named after its Deployment and the hash of the pods' template
        return f"deployment/{name.removesuffix('-' + objects.labels_of(pod).get('pod-template-hash', ''))}"
    return f"{kind.lower()}/{name}"


def restarts(pod: objects.Object) -> int:
    return sum(int(status.get("restartCount") or 0) for status in containers(pod))


def containers(pod: objects.Object) -> Sequence[Mapping[str, Any]]:
    """The statuses of a pod's containers, those that begin it included."""
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
