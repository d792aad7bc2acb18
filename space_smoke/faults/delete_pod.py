"""`delete-pod`: one pod of a workload is deleted. It cannot be taken back: putting it back is waiting until the workload has
made another one and all its pods are Ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "which": {
            "enum": ["oldest", "newest"],
            "description": "of its pods, by when they were made; oldest unless said",
        },
        "grace": {
            "type": "string",
            "format": "duration",
            "description": "how long its containers have to end, in whole seconds; what the pod itself says unless said; "
            "the kubelet sends SIGTERM even at 0s: for SIGKILL there is kill-container",
        },
    },
}


def address(arguments: scenario.Arguments, _target: objects.Object) -> Mapping[str, Any]:
    """{"which": oldest | newest, "grace_s": whole seconds, if said}. The chosen pod's name and uid are added when it is
    sensed: `done` means that this very pod is gone or on its way."""
    field = {"which": arguments.get("which", "oldest")}
    return field | ({"grace_s": int(arguments["grace_s"])} if "grace_s" in arguments else {})


KIND = kinds.once(
    name="delete-pod",
    summary="a pod of a Deployment or StatefulSet is deleted",
    domain="public-api-mutation",
    targets=("deployment", "statefulset"),
    schema=SCHEMA,
    address=address,
    done="pod deleted",
    before="pod there",
    waits_for="the workload has all its pods again, Ready",
)
