"""`placement`: makes sandboxes (or none) and looks where their pods are, and those of the services; then removes what it made.

One event `placed` holds what was seen: {sandboxes: [pod], services: [pod], groups: {node: group}}, a pod being {name, node,
group, phase, reason, message, selector, owner}. `reason` and `message` are the scheduler's, as long as it has found no
node. With `until: pending` it waits for pods that cannot be placed, which somebody else's creates make.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke import errors
from space_smoke.bench import kind as kinds_of_bench
from space_smoke.bench import wait
from space_smoke.loads import ecw_create, traffic
from space_smoke.model import kinds, objects

SANDBOX = "space-smoke.dev/sandbox"  # the label of a sandbox's pod, with its id

KIND = kinds.LoadKind(
    name="placement",
    summary="makes sandboxes and looks on which nodes they and the services are, or why they are on none",
    schema={
        "type": "object",
        "additionalProperties": False,
        "dependentRequired": {"until": ["within"], "within": ["until"]},
        "properties": {
            "requests": {"type": "integer", "minimum": 0, "maximum": 100, "default": 0},
            "concurrency": {"type": "integer", "minimum": 1, "maximum": 50, "default": 4},
            "until": {"enum": ["pending"], "description": "wait until a sandbox's pod is refused by the scheduler"},
            "within": {"type": "string", "format": "duration", "description": "how long to wait for it"},
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    made: list[str] = []

    def one(number: int) -> None:
        sandbox = ecw_create.make(load, number)
        if sandbox:
            made.append(sandbox)

    load.be_there()
    load.fan_out(load.argument("requests", 0), load.argument("concurrency", 4), None, one)
    if load.argument("until"):
        _await_pending(load)
    load.emit("placed", load=load.load.name, **_look(load))
    ecw_create.remove(load, made)


def _await_pending(load: traffic.Traffic) -> None:
    def look() -> wait.State:
        refused = [pod for pod in _look(load)["sandboxes"] if pod["reason"]]
        return wait.State(bool(refused), f"{len(refused)} are refused by the scheduler")

    try:
        wait.until(
            load.door.cluster,
            "a sandbox's pod to be pending",
            look,
            watching=[("v1", "Pod", load.namespace)],
            timeout_s=float(load.argument("within_s")),
            emit=load.emit,
        )
    except errors.WaitFailed:
        return  # the check says what was seen instead


def _look(load: traffic.Traffic) -> dict[str, Any]:
    """Raises ApiError."""
    cluster = load.door.cluster
    groups = {
        node["metadata"]["name"]: objects.labels_of(node).get(kinds_of_bench.GROUP, "")
        for node in cluster.listed("v1", "Node")
    }
    pods = [pod for pod in cluster.listed("v1", "Pod", load.namespace) if "deletionTimestamp" not in pod["metadata"]]
    sandboxes = [_pod(pod, groups) for pod in pods if SANDBOX in objects.labels_of(pod)]
    services = [_pod(pod, groups) for pod in pods if SANDBOX not in objects.labels_of(pod)]
    return {"sandboxes": sandboxes, "services": [pod for pod in services if pod["owner"]], "groups": groups}


def _pod(pod: objects.Object, groups: Mapping[str, str]) -> dict[str, Any]:
    node = str(pod["spec"].get("nodeName", ""))
    conditions = objects.dig(pod, "status", "conditions") or ()
    refused: Mapping[str, Any] = next(
        (one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"), {}
    )
    return {
        "name": pod["metadata"]["name"],
        "node": node,
        "group": groups.get(node, ""),
        "phase": str(objects.dig(pod, "status", "phase")),
        "reason": str(refused.get("reason", "")),
        "message": str(refused.get("message", "")),
        "selector": dict(pod["spec"].get("nodeSelector") or {}),
        "owner": next(
            (str(one["kind"]) for one in pod["metadata"].get("ownerReferences") or () if one["kind"] != "Job"), ""
        ),
    }
