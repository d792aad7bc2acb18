"""The fence as an annotation of any Kubernetes object: what a place uses whose change goes through the API server, though not
as a patch of the target. One JSON Patch that tests the object's uid and the old fence raises it; nothing lowers it."""

from __future__ import annotations

from urllib.parse import urlencode

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.bench.outside import place
from space_smoke.model import fence as fences
from space_smoke.model import objects

_PATCH = "application/json-patch+json"
_ATTEMPTS = 4


def raised(
    cluster: kube.Kube, ref: objects.Ref, domain: str, fence: int, timeout_s: float, uid: str = ""
) -> objects.Object | None:
    """The object with the fence on it; None when it is gone (or is another than `uid` by now). Raises Refusal(409, the
    higher fence) and ApiError.

    A first stamp has no older one to test and is tied to the version that was read, so a late one lands nowhere.
    """
    last = ""
    for _ in range(_ATTEMPTS):
        status, thing = cluster.send("GET", kube.path_of(ref), timeout_s=timeout_s)
        if status == 404 or (status == 200 and uid and thing["metadata"]["uid"] != uid):
            return None
        if status != 200:
            raise errors.ApiError(f"{ref} could not be read: {thing.get('message', '')[:200]}", status=status)
        there = fences.on(thing, domain)
        if there is not None and there > fence:
            raise place.Refusal(409, str(there))
        if there == fence:
            return thing
        query = urlencode({"fieldManager": "space-smoke-stamp", "timeout": f"{max(1, int(timeout_s))}s"})
        status, answer = cluster.send(
            "PATCH",
            f"{kube.path_of(ref)}?{query}",
            body=_stamp(thing, domain, there, fence),
            content=_PATCH,
            timeout_s=timeout_s,
        )
        if status < 300:
            return answer
        last = f"{status} {answer.get('message', '')[:200]}"  # somebody else wrote: look again
    raise errors.ApiError(f"{ref} could not be stamped with fence {fence}: {last}", status=0)


def must_be(thing: objects.Object, domain: str, fence: int) -> None:
    """Raises Refusal(409) unless the object carries exactly this fence."""
    there = fences.on(thing, domain)
    if there != fence:
        raise place.Refusal(409, "" if there is None else str(there))


def _stamp(thing: objects.Object, domain: str, there: int | None, fence: int) -> list[objects.Operation]:
    key = fences.key(domain)
    if there is None:
        guard = objects.test(thing["metadata"]["resourceVersion"], "metadata", "resourceVersion")
    else:
        guard = objects.test(str(there), "metadata", "annotations", key)
    return [
        objects.test(thing["metadata"]["uid"], "metadata", "uid"),
        guard,
        *objects.put_metadata(thing, "annotations", {key: str(fence)}),
    ]
