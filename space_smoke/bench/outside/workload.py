"""The pods of a Deployment or StatefulSet, and whether all of it is as its spec says."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.bench import kube, wait
from space_smoke.model import objects


def pods(cluster: kube.Kube, thing: objects.Object) -> list[wait.Pod]:
    """All that its selector finds, by age, the oldest first; terminating ones too."""
    found = wait.pods_of(cluster, thing)
    return sorted(found, key=lambda pod: (pod.thing["metadata"].get("creationTimestamp", ""), pod.name))


def recovered(cluster: kube.Kube, ref: objects.Ref) -> wait.State:
    """Whether it has all its pods, Ready, and none that is on its way out. `thing` is the workload, once done."""
    if ref.kind == "Deployment":
        return wait.deployment_state(cluster, ref)
    thing = cluster.read(ref)
    status, wanted = thing.get("status") or {}, int(objects.dig(thing, "spec", "replicas") or 0)
    if int(status.get("observedGeneration") or 0) < thing["metadata"]["generation"]:
        return wait.State(False, "its new spec was not observed yet")
    found = pods(cluster, thing)
    stuck = next((words for pod in found if (words := wait.hopeless(pod.thing))), "")
    if stuck:
        return wait.State(False, stuck, hopeless=True)
    leaving = [pod.name for pod in found if pod.terminating]
    ready = sum(pod.ready for pod in found if not pod.terminating)
    # The status is written after the pods: one that still counts a deleted pod is old news.
    counts = [int(status.get(key) or 0) for key in ("replicas", "readyReplicas", "updatedReplicas")]
    words = f"{ready} of {wanted} pods ready" + (f"; {', '.join(leaving)} on its way out" if leaving else "")
    done = not leaving and len(found) == ready == wanted and counts == [wanted] * 3
    return wait.State(done, words, thing=thing)


def watching(ref: objects.Ref) -> Sequence[tuple[str, str, str]]:
    slices = ("discovery.k8s.io/v1", "EndpointSlice", ref.namespace)
    return [(ref.api_version, ref.kind, ref.namespace), ("v1", "Pod", ref.namespace), slices]
