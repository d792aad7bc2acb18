"""pause-node and stop-node: the container that a Kind node is, on the Docker engine of this machine.

The fence is a file per node and domain in the cache folder (fences/), so it guards among runners that share that folder,
which whoever has the bench's kubeconfig does. The change is made by a script in a session of its own: it goes on to its
end when its runner is killed or stopped, and holds the lock until then, so the next claim waits for what was begun.
"""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from space_smoke import errors
from space_smoke.bench import cache, engine, kube, proc, ready, wait
from space_smoke.bench.outside import node_script, place, scripted
from space_smoke.model import kinds, objects

_GRACE_S = 3  # a node that fails gives no notice; this is for its file systems
_SILENT_S = 2.0
_HEARTBEAT_S = 20.0  # the kubelet renews its Lease every 10 s
_UNREACHED = (502, 503, 504)  # the API server's own answers when it could not reach a kubelet


class Containers(scripted.Scripted):
    """The value is {"state": Docker's word: running, paused, exited, ...}."""

    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        if "id" in field:
            return field, _value(inspected(field["id"]))
        seen = running(self._cluster, ref, field["container"])
        return {**field, "id": seen["Id"]}, _value(seen)

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        thing = self._cluster.read(ref)  # the API server answers: silence is the kubelet's
        seen = inspected(field["id"])
        value = _value(seen)
        if value != expect:
            return wait.State(False, f"container {field['container']} is {value['state']}", hopeless=True)
        words = kubelet(self._cluster, ref.name)
        if expect["state"] == "running":
            started = ready.moment(seen["State"]["StartedAt"])
            state = returned(self._cluster, thing, started) if words == "answers" else wait.State(False, words)
            state = routed(ref.name, self._cluster.listed("v1", "Node")) if state.done else state
        else:
            state = wait.State(words == "silent", f"the kubelet {words}")
        return wait.State(state.done, state.words, thing={**thing, kinds.OUTSIDE: value})

    def watching(self, ref: objects.Ref) -> place.Watched:
        return (("v1", "Node", ""), ("v1", "Pod", ""))

    def _asked(
        self, verb: str, field: place.Field, domain: str, fence: int, before: str, after: str, timeout_s: float
    ) -> objects.Json:
        file = cache.folder() / "fences" / f"{field['container']}.{field['id'][:12]}.{domain}"
        file.parent.mkdir(exist_ok=True)
        told = scripted.asking(verb, str(file), fence, before, after, timeout_s)
        # The session that setsid makes is not ended with ours, nor by a timeout: see above.
        alone = [
            "setsid",
            "--fork",
            "--wait",
            "sh",
            "-c",
            node_script.CONTAINER,
            "sh",
            *told,
            field["id"],
            str(_GRACE_S),
        ]
        return {"state": scripted.answered(proc.run(alone, timeout_s=timeout_s).stdout)}

    def _word(self, value: objects.Json) -> str:
        return str(value["state"])


def running(cluster: kube.Kube, ref: objects.Ref, container: str) -> dict[str, Any]:
    """The node's container as the engine shows it, once it is known to be this very node. Raises Refusal(422)."""
    thing = cluster.read(ref)
    try:
        seen = inspected(container)
        state = seen["State"]["Status"]
        if state != "running":
            raise place.Refusal(422, f"node container {container} is {state} already: start it first (docker start)")
        machine = engine.docker("exec", seen["Id"], "cat", "/etc/machine-id").stdout.strip()
    except errors.CommandFailed as error:
        raise place.Refusal(
            422, f"the Docker engine of this machine does not have node container {container}, or none answers here"
        ) from error
    said = objects.dig(thing, "status", "nodeInfo", "machineID")
    if machine != said:
        raise place.Refusal(
            422,
            f"container {container} of this machine's Docker engine is not {ref} of this cluster: machine ids differ",
        )
    return seen


def inspected(container: str) -> dict[str, Any]:
    """`docker inspect`. Raises CommandFailed when there is no such container, or no engine."""
    return engine.inspect([container])[0]


def kubelet(cluster: kube.Kube, node: str) -> str:
    """What the API server hears of a node's kubelet: "answers", "silent", or another answer in words."""
    try:
        status, answer = cluster.send("GET", f"/api/v1/nodes/{node}/proxy/healthz", timeout_s=_SILENT_S)
    except errors.ApiError:
        return "silent"
    if status == 200:
        return "answers"
    return "silent" if status in _UNREACHED else f"{status} {str(answer.get('message', ''))[:100]}"


def returned(cluster: kube.Kube, node: objects.Object, started: datetime) -> wait.State:
    """Whether a node is back: Ready with a fresh heartbeat, and each of its pods Ready by news from after `started`.

    A node that does not report is called Ready for 40 s more, and its pods with it: old news is told by its time.
    """
    name = node["metadata"]["name"]
    if ready.condition(node, "Ready") != "True":
        return wait.State(False, f"{name} is not Ready")
    lease = cluster.read(objects.Ref("coordination.k8s.io/v1", "Lease", "kube-node-lease", name))
    since = max(started, datetime.now(UTC) - timedelta(seconds=_HEARTBEAT_S))
    if ready.moment(lease["spec"]["renewTime"]) < since:
        return wait.State(False, f"the kubelet of {name} has not reported yet")
    for pod in cluster.listed("v1", "Pod"):
        status = pod.get("status") or {}
        if pod["spec"].get("nodeName") != name or status.get("phase") in ("Succeeded", "Failed"):
            continue
        told = f"pod {pod['metadata']['name']}"
        if "deletionTimestamp" in pod["metadata"]:
            return wait.State(False, f"{told} is being removed")
        if ready.older(pod, started):
            return wait.State(False, f"{told} is as it was before its node was started")
        if ready.condition(pod, "Ready") != "True":
            return wait.State(False, f"{told} is not Ready")
    return wait.State(True, f"{name} and its pods are Ready")


def routed(name: str, nodes: Sequence[objects.Object]) -> wait.State:
    """Whether the node and each other one send packets for each other's pods to each other.

    A pod that sets routes is Ready before it has set them, and the kubelet's probes never leave their node.
    """
    ends = {node["metadata"]["name"]: (objects.dig(node, "spec", "podCIDR"), _address(node)) for node in nodes}
    for sender, receiver in [pair for other in ends if other != name for pair in ((name, other), (other, name))]:
        pods, address = ends[receiver]
        if not pods or not address:
            continue
        first = str(next(ipaddress.ip_network(pods).hosts()))
        said = engine.docker("exec", sender, "ip", "-o", "route", "get", first, check=False).stdout
        if not leads(said, address):
            return wait.State(False, f"{sender} has no route to the pods of {receiver}")
    return wait.State(True, f"{name} and its pods are Ready, and reach the others")


def leads(said: str, address: str) -> bool:
    """Whether what `ip route get` printed leads to a node's address; a network plugin may use devices of its own."""
    words = said.split()
    after = dict(itertools.pairwise(words))
    return "dev" in after and (after["dev"] != "eth0" or after.get("via") == address)


def _address(node: objects.Object) -> str:
    addresses = objects.dig(node, "status", "addresses") or ()
    return next((str(one["address"]) for one in addresses if one["type"] == "InternalIP"), "")


def _value(seen: dict[str, Any]) -> dict[str, str]:
    return {"state": str(seen["State"]["Status"])}
