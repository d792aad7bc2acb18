"""Whether a bench's own parts are as they should be: one fresh look each, for `wait.until`.

Deployments have their own strict rule in `wait`; these are nodes, DaemonSets and StatefulSets. Called by engine.bringup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib import parse

from space_smoke.bench import kind, kube, wait
from space_smoke.model import objects


def nodes(access: kube.Kube) -> wait.State:
    found = access.listed("v1", "Node")
    ready = [node for node in found if condition(node, "Ready") == "True"]
    words = f"{len(ready)} of {len(kind.roles())} nodes Ready"
    return wait.State(len(ready) == len(kind.roles()) == len(found), words)


def returned(access: kube.Kube, started: Sequence[str], paused: Sequence[str], since: datetime) -> wait.State:
    """All nodes Ready, and of those started at `since`: the kubelet has reported again, and what it says of pods is new.

    A stopped node is still called Ready for 40 s, and its dead pods with it: old news is told from new by its time.
    """
    state = nodes(access)
    if not state.done:
        return state
    for node in (*started, *paused):
        lease = access.read(objects.Ref("coordination.k8s.io/v1", "Lease", "kube-node-lease", node))
        if moment(lease["spec"]["renewTime"]) < since:
            return wait.State(False, f"the kubelet of {node} has not reported yet")
    for pod in access.listed("v1", "Pod") if started else ():
        if pod["spec"].get("nodeName") in started and older(pod, since):
            return wait.State(False, f"pod {pod['metadata']['name']} is as it was before its node was started")
    return state


def older(pod: Mapping[str, Any], when: datetime) -> bool:
    """Whether what is told of a pod is from before a moment: one of its containers runs since earlier than that."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        begun = ((container.get("state") or {}).get("running") or {}).get("startedAt")
        if begun and moment(begun) < when.replace(microsecond=0):
            return True
    return False


def moment(text: str) -> datetime:
    """A time as Kubernetes or Docker writes it; Docker gives nanoseconds, of which microseconds are kept."""
    head, dot, rest = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{head}{dot}{rest[:6]}+00:00")


def condition(thing: objects.Object, name: str) -> str:
    """True, False or Unknown, as a node or pod says."""
    conditions = (thing.get("status") or {}).get("conditions") or ()
    return next((str(one["status"]) for one in conditions if one["type"] == name), "Unknown")


def daemons(access: kube.Kube, name: str) -> wait.State:
    status, thing = access.send("GET", f"/apis/apps/v1/namespaces/kube-system/daemonsets/{name}")
    if status != 200:
        return wait.State(False, f"{name}: {status}")
    reported = thing.get("status") or {}
    count, wanted = int(reported.get("numberReady") or 0), len(kind.roles())
    current = int(reported.get("observedGeneration") or 0) >= thing["metadata"]["generation"]
    return wait.State(count == wanted and current, f"{count} of {wanted} ready")


def stateful(access: kube.Kube, namespace: str, selector: str) -> wait.State:
    query = parse.urlencode({"labelSelector": selector})
    status, answer = access.send("GET", f"/apis/apps/v1/namespaces/{namespace}/statefulsets?{query}")
    if status != 200:
        return wait.State(False, f"the list was answered {status}", hopeless=status in (401, 403))
    for pod in access.listed("v1", "Pod", namespace, selector):
        owners = objects.dig(pod, "metadata", "ownerReferences") or ()
        if any(owner["kind"] == "StatefulSet" for owner in owners) and (words := wait.hopeless(pod)):
            return wait.State(False, words, hopeless=True)
    found = answer.get("items") or ()
    waiting = [f"{thing['metadata']['name']}: {words}" for thing in found if (words := behind(thing))]
    return wait.State(not waiting, "; ".join(waiting) or "all ready")


def behind(thing: Mapping[str, Any]) -> str:
    """Why a StatefulSet or Deployment is, by its own status, not yet what its spec says, or ""."""
    status, wanted = thing.get("status") or {}, int(thing["spec"].get("replicas", 1))
    if int(status.get("observedGeneration") or 0) < int(thing["metadata"].get("generation") or 0):
        return "its new spec was not observed yet"
    in_all, updated, ready = (int(status.get(key) or 0) for key in ("replicas", "updatedReplicas", "readyReplicas"))
    done = in_all == updated == ready == wanted
    return "" if done else f"{ready} of {wanted} ready, {updated} updated, {in_all} in all"
