"""`listing`: which objects there are, so that a later listing shows what was made in between.

One event `listed`: {uids: {"apiVersion Kind namespace/name": uid} of every kind that can be listed, in all namespaces;
versions: the same with the resourceVersion, for one namespace}. Events and Leases are left out: they come and go by
themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from space_smoke import errors
from space_smoke.bench import discovery, kube
from space_smoke.loads import traffic
from space_smoke.model import kinds

_RESTLESS = ("Event", "Lease")

KIND = kinds.LoadKind(
    name="listing",
    summary="notes which objects there are in the cluster, by their uid",
    schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "namespace": {
                "type": "string",
                "pattern": "^[a-z0-9-]+$",
                "default": "default",
                "description": "in this one each object's resourceVersion is noted as well",
            }
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    load.be_there()
    namespace, uids, versions = load.argument("namespace", "default"), dict[str, str](), dict[str, str]()
    for key, meta in _objects(load.door.cluster):
        uids[key] = meta["uid"]
        if meta.get("namespace") == namespace:
            versions[key] = meta["resourceVersion"]
    load.emit("listed", load=load.load.name, uids=uids, versions=versions)


def _objects(cluster: kube.Kube) -> Iterator[tuple[str, kube.Json]]:
    """The key and the metadata of each object that is not on its way out. Raises ApiError."""
    for served in discovery.all_kinds(cluster):
        if "list" not in served.verbs or served.kind in _RESTLESS:
            continue
        status, answer = cluster.send("GET", served.everywhere)
        if status >= 300:
            message = f"{served.kind} could not be listed: {answer.get('message', '')}"
            raise errors.ApiError(message, status=status)
        for item in answer.get("items") or ():
            meta = item["metadata"]
            # What has no uid is no stored object, such as the state of a component.
            if "uid" in meta and "deletionTimestamp" not in meta:
                yield f"{served.api_version} {served.kind} {meta.get('namespace', '')}/{meta['name']}", meta
