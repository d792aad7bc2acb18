"""`kill-container`: every process of one container of a workload's pod is ended by SIGKILL, at once: nothing is said to anybody, as
when a machine loses its power. The kubelet starts the container again, in the same pod and with the same address.

It cannot be taken back: putting it back is waiting until the workload has all its pods again, Ready. Where nobody is to be told
of an end, `delete-pod` will not do: the kubelet sends SIGTERM first, whatever the grace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.faults import delete_pod
from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "which": delete_pod.SCHEMA["properties"]["which"],
        "container": {"type": "string", "minLength": 1, "description": "its name; may be left out where there is one"},
    },
}


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """{"which": oldest | newest, "container": name}. The pod, its node and the very container are added when it is sensed:
    `done` means that this one does not run any more. Raises Unfit where the container cannot be told."""
    present = [str(one["name"]) for one in objects.dig(target, "spec", "template", "spec", "containers") or ()]
    name = arguments.get("container")
    if name is None and len(present) != 1:
        raise kinds.Unfit(f"{objects.ref_of(target)} has containers {present}: say which one with `container:`")
    if name is not None and name not in present:
        raise kinds.Unfit(f"{objects.ref_of(target)} has no container {name!r}, only {present}")
    return {"which": arguments.get("which", "oldest"), "container": name or present[0]}


KIND = kinds.once(
    name="kill-container",
    summary="a container of a Deployment's or StatefulSet's pod is ended by SIGKILL",
    domain=kinds.PUBLIC_API,
    targets=("deployment", "statefulset"),
    schema=SCHEMA,
    address=address,
    done="container killed",
    before="container runs",
    waits_for="the workload has all its pods again, Ready",
)
