"""The one wait. It is driven by watches, says what it waits for, fails early on states that will not pass, and when its
time is up it raises with the last state seen: a timeout is never success.

A Deployment or StatefulSet is rolled out only when its generation was observed, the new replicas are ready, the old pods are
*gone* and the endpoints name exactly the new ones: until then a request may still be answered by a pod with yesterday's settings.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.model import objects

_HOPELESS = (
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CrashLoopBackOff",
)
_FINAL = (401, 403)
_RECHECK_S = 1.0  # a watch can be late or broken without saying so

# Mutation for the harness itself: a rollout counts as complete while old pods still serve. Proves that scenarios notice.
IGNORE_OLD_PODS = "rollout-ignores-old-pods"


@dataclass(frozen=True, slots=True)
class State:
    """`done`, or why not, in words. `hopeless`: waiting longer will not help."""

    done: bool
    words: str
    hopeless: bool = False
    thing: objects.Object | None = None


def until(
    cluster: kube.Kube,
    saying: str,
    look: Callable[[], State],
    *,
    watching: Iterable[tuple[str, str, str]],
    timeout_s: float,
    emit: Callable[..., Any] = lambda *_a, **_k: None,
) -> State:
    """Looks now and at every change of what is `watching` (apiVersion, kind, namespace), until done.

    Raises WaitFailed when hopeless or out of time, with the last state. A read that fails is tried again at the next
    change; 401 and 403 are final.
    """
    emit("wait-started", saying=saying)
    started = time.monotonic()
    changed, stop = threading.Event(), threading.Event()
    for api_version, kind, namespace in watching:
        arguments = (api_version, kind, namespace, changed.set, stop)
        threading.Thread(target=cluster.watch, args=arguments, daemon=True).start()
    state = State(False, "nothing was seen yet")
    try:
        while True:
            changed.clear()
            state = _glance(look, state)
            left_s = timeout_s - (time.monotonic() - started)
            if state.done or state.hopeless or left_s <= 0:
                break
            changed.wait(min(_RECHECK_S, left_s))
    finally:
        stop.set()
    seconds = round(time.monotonic() - started, 3)
    emit("wait-ended", saying=saying, ok=state.done, last=state.words, seconds=seconds)
    if state.done:
        return state
    why = "will not come" if state.hopeless else f"had not come after {timeout_s:.0f} s"
    raise errors.WaitFailed(f"waiting for {saying}: it {why}; last seen: {state.words}", last=state.words)


def pace(until_s: float, clock: Callable[[], float], stop: threading.Event) -> bool:
    """Waits until the clock shows `until_s`; False when stopped before. For loads that keep a rate, never for a state."""
    left_s = until_s - clock()
    return not (stop.wait(left_s) if left_s > 0 else stop.is_set())


def rollout(
    cluster: kube.Kube, ref: objects.Ref, *, timeout_s: float, emit: Callable[..., Any] = lambda *_a, **_k: None
) -> objects.Object:
    """Waits until a workload is what its spec says, in the strict sense above; returns it as last read."""
    ignore_old = IGNORE_OLD_PODS in os.environ.get("SPACE_SMOKE_MUTATION", "").split(",")
    state = until(
        cluster,
        f"{ref} in {ref.namespace} to be rolled out, old pods gone, endpoints drained",
        lambda: workload_state(cluster, ref, ignore_old=ignore_old),
        watching=watching(ref),
        timeout_s=timeout_s,
        emit=emit,
    )
    assert state.thing is not None  # done carries the object
    return state.thing


def watching(ref: objects.Ref) -> Sequence[tuple[str, str, str]]:
    """What to watch while a workload is waited for: (apiVersion, kind, namespace)."""
    pods, slices = ("v1", "Pod", ref.namespace), ("discovery.k8s.io/v1", "EndpointSlice", ref.namespace)
    return (ref.api_version, ref.kind, ref.namespace), pods, slices


def workload_state(cluster: kube.Kube, ref: objects.Ref, *, ignore_old: bool = False) -> State:
    """Whether a Deployment or StatefulSet is what its spec says; `thing` is the workload, once it is."""
    thing = cluster.read(ref)
    wanted = int(objects.dig(thing, "spec", "replicas") or 0)
    status = thing.get("status") or {}
    if status.get("observedGeneration", 0) < thing["metadata"]["generation"]:
        return State(False, "its new spec was not observed yet")
    for condition in status.get("conditions") or ():
        if condition.get("reason") in ("ProgressDeadlineExceeded", "FailedCreate"):
            return State(False, f"{condition['reason']}: {condition.get('message', '')}", hopeless=True)
    counts = {key: int(status.get(key) or 0) for key in ("replicas", "updatedReplicas", "readyReplicas")}
    pods = pods_of(cluster, thing)
    # An old pod that cannot start is no reason to give up: the rollout takes it away.
    coming = (pod for pod in pods if pod.current and not pod.terminating)
    stuck = next((words for pod in coming if (words := hopeless(pod.thing))), "")
    if stuck:
        return State(False, stuck, hopeless=True)
    words = f"{counts['readyReplicas']} of {wanted} ready, {counts['updatedReplicas']} updated"
    if any(count != wanted for key, count in counts.items() if not (ignore_old and key == "replicas")):
        return State(False, f"{words}, {counts['replicas']} in all")
    old = [pod.name for pod in pods if pod.terminating or not pod.current]
    if ignore_old:
        return State(True, words, thing=thing)
    if old:
        return State(False, f"{words}; old pods are still there: {', '.join(old)}")
    if len(pods) != wanted or not all(pod.ready for pod in pods):
        return State(False, f"{words}; its pods are {', '.join(f'{p.name} ready={p.ready}' for p in pods) or 'none'}")
    return _endpoints(cluster, ref, pods, words, thing)


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a workload, fresh from the API. `current`: it is of the newest template."""

    name: str
    node: str
    address: str
    ready: bool
    terminating: bool
    current: bool
    thing: Mapping[str, Any]

    def shown(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in ("name", "node", "ready", "terminating", "current")}


def pods_of(cluster: kube.Kube, workload: objects.Object) -> list[Pod]:
    """All pods of a Deployment or StatefulSet, old and terminating ones too, by name."""
    namespace = workload["metadata"]["namespace"]
    selector = ",".join(f"{key}={value}" for key, value in sorted(workload["spec"]["selector"]["matchLabels"].items()))
    label, newest = _newest(cluster, workload, namespace, selector)
    found = []
    for pod in cluster.listed("v1", "Pod", namespace, selector):
        terminating = "deletionTimestamp" in pod["metadata"]
        # One that ended by itself (an eviction, say) stays until somebody collects it; a deleted one is about to be gone.
        if not terminating and (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            continue
        conditions = {c["type"]: c["status"] for c in objects.dig(pod, "status", "conditions") or ()}
        found.append(
            Pod(
                name=pod["metadata"]["name"],
                node=pod["spec"].get("nodeName", ""),
                address=str(objects.dig(pod, "status", "podIP") or ""),
                ready=conditions.get("Ready") == "True",
                terminating=terminating,
                current=objects.labels_of(pod).get(label) == newest,
                thing=pod,
            )
        )
    return sorted(found, key=lambda pod: pod.name)


def hopeless(pod: Mapping[str, Any]) -> str:
    """Why a pod will not become ready by waiting, or ""."""
    for status in objects.dig(pod, "status", "containerStatuses") or ():
        waiting = objects.dig(status, "state", "waiting") or {}
        if waiting.get("reason") in _HOPELESS:
            return f"pod {pod['metadata']['name']}: {waiting['reason']}: {waiting.get('message', '')[:300]}"
    return ""


def _newest(cluster: kube.Kube, workload: objects.Object, namespace: str, selector: str) -> tuple[str, str]:
    """The label by which the controller tells the pods of one template, and its value for the newest."""
    if workload.get("kind") == "StatefulSet":
        return "controller-revision-hash", str(objects.dig(workload, "status", "updateRevision"))
    return "pod-template-hash", _newest_hash(cluster, workload, namespace, selector)


def _newest_hash(cluster: kube.Kube, deployment: objects.Object, namespace: str, selector: str) -> str:
    revision = objects.annotations_of(deployment).get("deployment.kubernetes.io/revision")
    for item in cluster.listed("apps/v1", "ReplicaSet", namespace, selector):
        if objects.annotations_of(item).get("deployment.kubernetes.io/revision") == revision:
            return objects.labels_of(item).get("pod-template-hash", "")
    return ""


def _endpoints(cluster: kube.Kube, ref: objects.Ref, pods: list[Pod], words: str, thing: objects.Object) -> State:
    """Every Service that selects these pods names exactly them."""
    wanted = {pod.name for pod in pods}
    labels = objects.dig(thing, "spec", "template", "metadata", "labels") or {}
    for service in cluster.listed("v1", "Service", ref.namespace):
        selector = objects.dig(service, "spec", "selector") or {}
        if not selector or any(labels.get(key) != value for key, value in selector.items()):
            continue
        name = service["metadata"]["name"]
        named = set()
        for piece in cluster.listed(
            "discovery.k8s.io/v1", "EndpointSlice", ref.namespace, f"kubernetes.io/service-name={name}"
        ):
            named |= {str(objects.dig(end, "targetRef", "name")) for end in piece.get("endpoints") or ()}
        if named != wanted:
            return State(False, f"{words}; Service {name} still names {sorted(named - wanted) or 'too few'}")
    return State(True, words, thing=thing)


def _glance(look: Callable[[], State], before: State) -> State:
    try:
        return look()
    except errors.ApiError as error:
        if error.status in _FINAL:
            return State(False, error.message, hopeless=True)
        return State(False, f"{before.words} (then: {error.message})")
