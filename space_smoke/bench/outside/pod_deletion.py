"""delete-pod: the deletion of one pod, chosen when the fault is planned and known by its uid from then on.

The fence is an annotation of that pod. The deletion carries the pod's uid and the resourceVersion at which the fence was
read as preconditions, which the API server compares in the step that deletes: a successor's claim has moved the version, so
a deletion that comes late is answered 409. A pod whose deletion was accepted cannot be saved any more: that counts as done.
"""

from __future__ import annotations

from typing import Any

from space_smoke import errors
from space_smoke.bench import kube, wait
from space_smoke.bench.outside import fence_note, place, workload
from space_smoke.model import kinds, objects

_ATTEMPTS = 4
DONE, NOT_DONE = {"done": True}, {"done": False}


class PodDeletion:
    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        """Chooses the pod, if that was not done yet. Pods that are on their way out already are no choice."""
        if "uid" in field:
            return field, self._value(ref, field)
        there = [pod for pod in workload.pods(self._cluster, self._cluster.read(ref)) if not pod.terminating]
        if not there:
            raise place.Refusal(422, f"{ref} has no pod that could be deleted")
        chosen = there[0] if field["which"] == "oldest" else there[-1]
        return {**field, "pod": chosen.name, "uid": chosen.thing["metadata"]["uid"]}, NOT_DONE

    def claim(self, ref: objects.Ref, field: place.Field, domain: str, fence: int, timeout_s: float) -> objects.Json:
        return _value(fence_note.raised(self._cluster, _pod(ref, field), domain, fence, timeout_s, uid=field["uid"]))

    def alter(
        self,
        ref: objects.Ref,
        field: place.Field,
        domain: str,
        fence: int,
        before: objects.Json,
        after: objects.Json,
        timeout_s: float,
    ) -> objects.Json:
        """The kubelet's reports move a pod's version too: a deletion that was refused for it looks at the fence again."""
        last = ""
        for _ in range(_ATTEMPTS):
            pod = self._read(ref, field)
            if _value(pod) != before or after != DONE:
                raise place.Refusal(412, f"pod {field['pod']} is gone or on its way out")
            assert pod is not None  # a pod that is gone counts as deleted
            fence_note.must_be(pod, domain, fence)
            body = options(pod, field)
            status, answer = self._cluster.send(
                "DELETE", kube.path_of(_pod(ref, field)), body=body, timeout_s=timeout_s
            )
            if status < 300 or status == 404:
                return DONE
            last = f"{status} {answer.get('message', '')[:200]}"
            if status != 409:
                break
        raise errors.ApiError(f"pod {field['pod']} could not be deleted: {last}", status=0)

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        """Up: no object with that uid is left, nor its containers. Put back: the workload has all its pods again."""
        if expect == NOT_DONE:
            state = wait.workload_state(self._cluster, ref)
            return wait.State(state.done, state.words, state.hopeless, _with(state.thing, NOT_DONE))
        if self._read(ref, field) is not None:
            return wait.State(False, f"pod {field['pod']} is still there")
        return wait.State(True, f"pod {field['pod']} is gone", thing=_with(self._cluster.read(ref), DONE))

    def watching(self, ref: objects.Ref) -> place.Watched:
        return wait.watching(ref)

    def _read(self, ref: objects.Ref, field: place.Field) -> dict[str, Any] | None:
        """The chosen pod, or None when it is gone: one of a StatefulSet has a successor of the same name."""
        try:
            thing = self._cluster.read(_pod(ref, field))
        except errors.ApiError as error:
            if error.status == 404:
                return None
            raise
        return thing if thing["metadata"]["uid"] == field["uid"] else None

    def _value(self, ref: objects.Ref, field: place.Field) -> objects.Json:
        return _value(self._read(ref, field))


def _value(pod: objects.Object | None) -> objects.Json:
    return DONE if pod is None or "deletionTimestamp" in pod["metadata"] else NOT_DONE


def _pod(ref: objects.Ref, field: place.Field) -> objects.Ref:
    return objects.Ref("v1", "Pod", ref.namespace, str(field["pod"]))


def options(pod: objects.Object, field: place.Field) -> dict[str, Any]:
    meta = pod["metadata"]
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
    }
    return options | ({"gracePeriodSeconds": field["grace_s"]} if "grace_s" in field else {})


def _with(thing: objects.Object | None, value: objects.Json) -> objects.Object | None:
    return None if thing is None else {**thing, kinds.OUTSIDE: value}
