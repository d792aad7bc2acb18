"""Copies of records that the Deployment controller made.

It copies a Deployment's annotations to the newest ReplicaSet and takes none of them off again. A record's copy on a target
would so stay on its ReplicaSets for ever; after some 430 faults on one Deployment they filled what Kubernetes allows for
annotations (256 KiB), and the Deployment could not be rolled out any more (Kubernetes 1.34.4).
"""

from __future__ import annotations

from collections.abc import Iterable

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.model import objects, record

PURPOSE = "forget"
_ATTEMPTS = 4


def held(cluster: kube.Kube, deployment: objects.Object) -> list[objects.Object]:
    """The ReplicaSets of a Deployment that hold copies of records."""
    labels = sorted(deployment["spec"]["selector"]["matchLabels"].items())
    selector = ",".join(f"{key}={value}" for key, value in labels)
    owner = deployment["metadata"]["uid"]
    return [
        thing
        for thing in cluster.listed("apps/v1", "ReplicaSet", deployment["metadata"]["namespace"], selector)
        if any(_records(thing)) and owner in [one["uid"] for one in thing["metadata"].get("ownerReferences") or ()]
    ]


def forget(cluster: kube.Kube, deployment: objects.Object) -> list[str]:
    """Takes the copies of records that the Deployment itself has no more off its ReplicaSets; returns the names of those.

    The Deployment is read after its ReplicaSets: a record that was on one of these and is not on the Deployment by then never
    comes back, since no id is used twice. So the write needs no fence. Raises ApiError.
    """
    done: list[str] = []
    for _ in range(_ATTEMPTS):
        found = held(cluster, deployment)
        if not found:
            return done
        kept = set(_records(cluster.read(objects.ref_of(deployment))))
        stale = [(thing, sorted(set(_records(thing)) - kept)) for thing in found]
        if not any(keys for _, keys in stale):
            return done
        last = ""
        for thing, keys in stale:
            if keys:
                name, problem = _take_off(cluster, thing, keys)
                done += [] if problem else [name]
                last = problem or last
        if not last:
            return done
    raise errors.ApiError(f"copies of records could not be taken off: {last}", status=0)


def _take_off(cluster: kube.Kube, thing: objects.Object, keys: Iterable[str]) -> tuple[str, str]:
    """The ReplicaSet's name, and why it could not be done, or ""."""
    ref = objects.ref_of(thing)
    operations = [objects.test(ref.uid, "metadata", "uid")]
    operations += [objects.drop("metadata", "annotations", key) for key in keys]
    path = f"{kube.path_of(ref)}?fieldManager=space-smoke-{PURPOSE}"
    status, answer = cluster.send("PATCH", path, body=operations, content="application/json-patch+json")
    gone = status == 404
    return ref.name, "" if status < 300 or gone else f"{ref}: {status} {answer.get('message', '')[:200]}"


def _records(thing: objects.Object) -> Iterable[str]:
    return (key for key in objects.annotations_of(thing) if key.startswith(record.PREFIX))
