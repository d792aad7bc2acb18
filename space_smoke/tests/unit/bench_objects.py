"""Kubernetes objects of a small bench, as the API server would list them, for tests of the gate and of provenance."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from space_smoke.engine import bearings

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
SPACE = "space"
_CHART = "app.kubernetes.io/name="


def stamp(age_s: float) -> str:
    return (NOW - timedelta(seconds=age_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(name: str = "dev-worker", ready: str = "True", boot: str = "boot-1") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "nodeInfo": {"bootID": boot, "kubeletVersion": "v1.34.4", "containerRuntimeVersion": "containerd://1.7"},
        },
    }


def deployment(name: str = "space-api", wanted: int = 1, ready: int = 1, **status: Any) -> dict[str, Any]:
    counts = {"observedGeneration": 1, "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": ready}
    meta = {"name": name, "namespace": SPACE, "generation": 1}
    return {"kind": "Deployment", "metadata": meta, "spec": {"replicas": wanted}, "status": {**counts, **status}}


def site(name: str = "grid-a", ready: int = 1) -> dict[str, Any]:
    """The StatefulSet of a grid site, in the namespace of the same name."""
    found = deployment(name, ready=ready)
    found["metadata"] |= {"namespace": name, "labels": {"app.kubernetes.io/name": "grid-operator"}}
    return {**found, "apiVersion": "apps/v1", "kind": "StatefulSet"}


def replica_set(name: str = "space-api-7c4", age_s: float = 3600, replicas: int = 1) -> dict[str, Any]:
    meta = {"name": name, "uid": f"uid-{name}", "creationTimestamp": stamp(age_s)}
    return {"kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": replicas}}


def pod(
    name: str = "space-api-7c4-a",
    *,
    owner: tuple[str, str] | None = ("ReplicaSet", "space-api-7c4"),
    namespace: str = SPACE,
    ready_s: float | None = 3600,
    restarts: int = 0,
    ended_s: float | None = None,
    image: str = "sha256:aa",
    uid: str = "",
    going: bool = False,
    where: str = "dev-worker",
) -> dict[str, Any]:
    """`ready_s`: for how long it has been Ready, None: it is not; `ended_s`: how long ago a container of it ended."""
    meta: dict[str, Any] = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}"}
    meta["labels"] = {"pod-template-hash": "7c4"}
    if owner:
        meta["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "uid": f"uid-{owner[1]}"}]
    if going:
        meta["deletionTimestamp"] = stamp(1)
    condition = {
        "type": "Ready",
        "status": "False" if ready_s is None else "True",
        "lastTransitionTime": stamp(ready_s or 0),
    }
    container: dict[str, Any] = {"name": "api", "restartCount": restarts, "imageID": image}
    if ended_s is not None:
        container["lastState"] = {"terminated": {"finishedAt": stamp(ended_s)}}
    status = {"conditions": [condition], "containerStatuses": [container]}
    return {"metadata": meta, "spec": {"nodeName": where}, "status": status}


def release(name: str = "space-api", revision: int = 1, **config: Any) -> dict[str, Any]:
    raw = {
        "version": revision,
        "info": {"status": "deployed"},
        "config": config,
        "chart": {"metadata": {"name": name, "version": "0.1.0"}, "templates": []},
    }
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(raw).encode()))).decode()
    return {"metadata": {"name": f"sh.{name}.v{revision}", "labels": {"name": name}}, "data": {"release": packed}}


def standing(**changes: Any) -> bearings.Bearings:
    """A bench at rest; `changes` replace whole lists."""
    lists: dict[str, Any] = {
        "namespaces": [SPACE],
        "nodes": [node()],
        "deployments": [deployment()],
        "replica_sets": [replica_set()],
        "stateful_sets": [],
        "pods": [pod()],
        **changes,
    }
    return bearings.Bearings(**lists)


class Cluster:
    """Answers every list with what `lists` holds for its kind, its namespace and the chart that is asked for by a label."""

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        self.lists = {
            "Node": [node()],
            "Deployment": [deployment()],
            "ReplicaSet": [replica_set()],
            "StatefulSet": [],
            "Pod": [pod()],
            "Secret": [release()],
            **lists,
        }
        self.asked: list[str] = []

    def listed(self, _api_version: str, kind: str, namespace: str = "", selector: str = "") -> list[dict[str, Any]]:
        self.asked.append(kind)
        found = self.lists[kind]
        if namespace:
            found = [one for one in found if one["metadata"].get("namespace", SPACE) == namespace]
        if selector.startswith(_CHART):
            found = [
                one for one in found if f"{_CHART}{one['metadata'].get('labels', {}).get(_CHART[:-1])}" == selector
            ]
        return found

    def send(self, _method: str, _path: str) -> tuple[int, dict[str, Any]]:
        self.asked.append("version")
        return 200, {"gitVersion": "v1.34.4"}

    def watch(self, *_arguments: Any) -> None:
        """Nothing ever changes by itself here."""
