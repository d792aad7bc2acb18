"""What a reader wants to see when something went wrong, gathered before anything is put back: events, pods, logs of the
containers (of the previous ones too), and the Leases with their targets as they were. Secrets are never read.

Each piece is capped. A piece that cannot be had says why; collecting never raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import urllib3

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.model import objects

_CAP = 12_000  # characters of one piece; its end is kept, where the reason usually stands
_LINES = 120


def gather(cluster: kube.Kube, namespaces: Sequence[str], lease_namespace: str) -> Iterator[tuple[str, str]]:
    """(what, text) pairs: pods and events of the namespaces, logs of their containers, Leases."""
    for namespace in namespaces:
        yield from _of_namespace(cluster, namespace)
    yield "leases", _said(lambda: _leases(cluster, lease_namespace))


def _of_namespace(cluster: kube.Kube, namespace: str) -> Iterator[tuple[str, str]]:
    yield f"pods in {namespace}", _said(lambda: _pods(cluster, namespace))
    yield f"events in {namespace}", _said(lambda: _events(cluster, namespace))
    try:
        pods = cluster.listed("v1", "Pod", namespace)
    except errors.ApiError as error:
        yield f"logs in {namespace}", f"(not to be had: {error.message})"
        return
    for pod in pods:
        for status in objects.dig(pod, "status", "containerStatuses") or ():
            name, container = pod["metadata"]["name"], status["name"]
            yield f"log of {name}/{container}", _log(cluster, namespace, name, container, previous=False)
            if status.get("restartCount"):
                yield f"previous log of {name}/{container}", _log(cluster, namespace, name, container, previous=True)


def _pods(cluster: kube.Kube, namespace: str) -> str:
    lines = []
    for pod in cluster.listed("v1", "Pod", namespace):
        states = [
            f"{s['name']} ready={s['ready']} restarts={s['restartCount']} {json.dumps(s.get('state', {}))}"
            for s in objects.dig(pod, "status", "containerStatuses") or ()
        ]
        going = " terminating" if "deletionTimestamp" in pod["metadata"] else ""
        lines.append(
            f"{pod['metadata']['name']} on {pod['spec'].get('nodeName', '(no node)')}: "
            f"{objects.dig(pod, 'status', 'phase')}{going}; {'; '.join(states)}"
        )
    return "\n".join(lines)


def _events(cluster: kube.Kube, namespace: str) -> str:
    found = cluster.listed("v1", "Event", namespace)
    found.sort(key=lambda e: str(e.get("lastTimestamp") or e.get("eventTime") or ""))
    return "\n".join(
        f"{e.get('lastTimestamp') or e.get('eventTime')} {e.get('type')} {e.get('reason')} "
        f"{objects.dig(e, 'involvedObject', 'kind')}/{objects.dig(e, 'involvedObject', 'name')}: {e.get('message')}"
        for e in found[-_LINES:]
    )


def _leases(cluster: kube.Kube, namespace: str) -> str:
    return "\n".join(
        json.dumps({"metadata": _without_fields(thing["metadata"]), "spec": thing.get("spec")}, sort_keys=True)
        for thing in cluster.listed("coordination.k8s.io/v1", "Lease", namespace)
    )


def _without_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key != "managedFields"}


def _log(cluster: kube.Kube, namespace: str, pod: str, container: str, *, previous: bool) -> str:
    path = (
        f"/api/v1/namespaces/{quote(namespace)}/pods/{quote(pod)}/log?container={quote(container)}&tailLines={_LINES}"
        + ("&previous=true" if previous else "")
    )
    try:
        response = cluster.open("GET", path)
        text = response.read().decode(errors="replace")
        response.release_conn()
    except (urllib3.exceptions.HTTPError, OSError) as error:
        return f"(not to be had: {error})"
    return text[-_CAP:]


def _said(make: Callable[[], str]) -> str:
    try:
        return make()[-_CAP:]
    except errors.ApiError as error:
        return f"(not to be had: {error.message})"
