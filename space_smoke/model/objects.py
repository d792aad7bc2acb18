"""References into Kubernetes objects, and the JSON Patch that changes one field of one.

A patch is a list of RFC 6902 operations. The API server evaluates all of them against the object as it is at the moment
of the write (and again at each storage retry), so a `test` in front of a change is a guard and not a check beforehand.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
Object = Mapping[str, Any]
Operation = Mapping[str, Any]
Patch = tuple[Operation, ...]


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Names one object. `uid` is "" for whoever bears the name now."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"

    def where(self) -> tuple[str, str, str, str]:
        """The reference without its uid: the name under which a successor may have been created."""
        return (self.api_version, self.kind, self.namespace, self.name)

    def as_json(self) -> dict[str, str]:
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }


def ref_of(thing: Object) -> Ref:
    """The reference of an object as the API server returned it, uid included."""
    meta = thing["metadata"]
    return Ref(thing["apiVersion"], thing["kind"], meta.get("namespace", ""), meta["name"], meta.get("uid", ""))


@functools.lru_cache(maxsize=4096)
def pointer(*keys: str | int) -> str:
    """An RFC 6901 pointer: each key escaped (`~` as ~0, `/` as ~1)."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def test(value: Json, *path: str | int) -> Operation:
    return {"op": "test", "path": pointer(*path), "value": value}


def put(value: Json, *path: str | int) -> Operation:
    """RFC 6902 `add`: sets a map's key whether it was there or not."""
    return {"op": "add", "path": pointer(*path), "value": value}


def drop(*path: str | int) -> Operation:
    return {"op": "remove", "path": pointer(*path)}


def annotations_of(thing: Object) -> Mapping[str, str]:
    return thing["metadata"].get("annotations") or {}


def labels_of(thing: Object) -> Mapping[str, str]:
    return thing["metadata"].get("labels") or {}


def put_metadata(thing: Object, group: str, changes: Mapping[str, str | None]) -> list[Operation]:
    """Operations that set (value) or remove (None) keys of metadata.annotations or metadata.labels (`group`).

    Made for the object as it was read: where the map is missing it is created whole, which a guard on the
    resourceVersion must make safe; a key that is already absent is not removed again (RFC 6902 would fail).
    """
    present = thing["metadata"].get(group)
    kept = {key: value for key, value in changes.items() if value is not None}
    if not present:  # the API server does not store an empty map
        return [put(kept, "metadata", group)] if kept else []
    operations = [put(value, "metadata", group, key) for key, value in kept.items()]
    operations += [drop("metadata", group, key) for key, value in changes.items() if value is None and key in present]
    return operations


def dig(thing: Json, *path: str) -> Json:
    """The value under nested maps, or None where the way ends early."""
    for key in path:
        if not isinstance(thing, Mapping) or key not in thing:
            return None
        thing = thing[key]
    return thing


def index_of(entries: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """Where the entry with merge key `name` stands in a list, or None. Positions are never recorded, only looked up."""
    return next((i for i, entry in enumerate(entries) if entry.get("name") == name), None)


def size_of(pairs: Mapping[str, str]) -> int:
    """Bytes that annotations take: keys and values, as the API server counts them against its limit of 262,144."""
    return sum(len(key.encode()) + len(value.encode()) for key, value in pairs.items())
