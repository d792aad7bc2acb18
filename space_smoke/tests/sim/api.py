"""A fake API server: what a guarded write really meets there, and nothing more.

Copied from the real one, and held against it by the contract tests: uid and name are immutable; resourceVersion grows
with each write over all objects and stays when a write changes nothing; JSON Patch is evaluated against the object as
it is at the commit, any failed operation is 422, a different resourceVersion in the result is 409; generation of a
Deployment grows with its spec and its annotations; an object under deletion lives on until its last finalizer goes and
takes no new ones; annotations are limited; empty maps and lists are not stored; Leases and Deployments are validated and
defaulted as far as we write them. Objects are shared, never changed in place: a fork costs one small dict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.model import effect, objects
from space_smoke.tests.sim import patching

Key = tuple[str, str, str, str]
Thing = Mapping[str, Any]

ANNOTATION_BYTES = 262_144
_COUNTED = ("Deployment", "CustomResourceDefinition")  # whose generation is told
_MICRO_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(?!000000)\d{6}Z$")


@dataclass(frozen=True, slots=True)
class Commit:
    """One change of the store. `after` is None when the object went away. `sender` is a runner's name or "" for others."""

    sender: str
    purpose: str
    key: Key
    before: Thing | None
    after: Thing | None
    operations: objects.Patch


class Api:
    """`committed` hears of every change, after it was made; `claimed` of every claim that a place outside granted."""

    __slots__ = ("claimed", "committed", "made", "things", "version")

    def __init__(self) -> None:
        self.things: dict[Key, Thing] = {}
        self.version = 100
        self.made = 0
        self.committed: Callable[[Commit], None] = lambda _commit: None
        self.claimed: Callable[[str, Key], None] = lambda _sender, _key: None

    def fork(self) -> Api:
        copy = Api()
        copy.things, copy.version, copy.made = dict(self.things), self.version, self.made
        return copy

    def get(self, key: Key) -> effect.Done | effect.No:
        thing = self.things.get(key)
        return _missing(key) if thing is None else effect.Done(thing)

    def listed(self, api_version: str, kind: str, namespace: str, selector: str) -> effect.Found:
        label, _, value = selector.partition("=")
        return effect.Found(
            tuple(
                thing
                for key, thing in sorted(self.things.items())
                if key[:2] == (api_version, kind)
                and namespace in ("", key[2])
                and (not selector or (thing["metadata"].get("labels") or {}).get(label) == value)
            )
        )

    def create(self, body: Thing, sender: str = "", purpose: str = "create") -> effect.Done | effect.No:
        meta = body["metadata"]
        key = (body["apiVersion"], body["kind"], meta.get("namespace", ""), meta["name"])
        place = self.things.get(("v1", "Namespace", "", key[2]))
        if key[2] and place is None:
            return effect.No(404, f"namespaces {key[2]!r} not found")
        if place is not None and "deletionTimestamp" in place["metadata"]:
            return effect.No(403, f"namespace {key[2]} is being terminated")
        if key in self.things:
            return effect.No(409, f"{key[1].lower()}s {key[3]!r} already exists")
        self.made += 1
        thing = _stored({**body, "metadata": {**meta, "uid": f"uid-{self.made}", "generation": 1}})
        problem = _invalid(thing)
        if problem:
            return effect.No(422, problem)
        return effect.Done(self._commit(sender, purpose, key, None, thing, ()))

    def patch(
        self, key: Key, operations: objects.Patch, sender: str = "", purpose: str = ""
    ) -> effect.Done | effect.No:
        before = self.things.get(key)
        if before is None:
            return _missing(key)
        try:
            after = patching.apply(before, operations)
        except patching.Failed as error:
            return effect.No(422, f"the server rejected our request due to an error in our request: {error}")
        return self._update(key, before, _stored(after), operations, sender, purpose)

    def place(self, key: Key, value: Any) -> None:
        """A place outside of the API server: a value, which is also what its configuration says, and no fence yet (0).
        Its generation counts the changes of the value."""
        meta = {"name": key[3], "namespace": key[2], "uid": "", "generation": 1, "resourceVersion": "0"}
        self.things[key] = {
            "apiVersion": key[0],
            "kind": key[1],
            "metadata": meta,
            "fence": 0,
            "value": value,
            "configured": value,
        }

    def claim(self, key: Key, field: Mapping[str, Any], fence: int, sender: str) -> effect.Done | effect.No:
        before = self.things[key]
        if before["fence"] > fence:
            return effect.No(409, str(before["fence"]))
        if before["fence"] < fence:
            self._commit(sender, "claim", key, before, {**before, "fence": fence}, ())
        self.claimed(sender, key)
        return effect.Done({"value": value_of(before, field)})

    def alter(
        self, key: Key, field: Mapping[str, Any], fence: int, value: Any, after: Any, sender: str, purpose: str
    ) -> effect.Done | effect.No:
        before = self.things[key]
        if before["fence"] != fence:
            return effect.No(409, str(before["fence"]))
        if value_of(before, field) != value:
            return effect.No(412, "the value is another")
        self._commit(sender, purpose, key, before, _changed(before, value=after), ())
        return effect.Done({"value": after})

    def restart(self, key: Key, volatile: bool) -> None:
        """The store behind a place restarts: its fence is gone, and so is a volatile value. What cannot be taken back
        has happened by that (a server that was to be restarted was)."""
        before = self.things[key]
        value = before["configured"] if volatile else before["value"]
        self.version += 1
        self.things[key] = _changed(before, fence=0, value=value)

    def delete(self, key: Key, uid: str = "", version: str = "", sender: str = "") -> effect.Done | effect.No:
        """`uid` and `version` are preconditions. With finalizers the object only gets its deletionTimestamp."""
        before = self.things.get(key)
        if before is None:
            return _missing(key)
        meta = before["metadata"]
        if (uid and uid != meta["uid"]) or (version and version != meta["resourceVersion"]):
            return effect.No(409, "the precondition failed")
        if meta.get("finalizers"):
            stamp = meta.get("deletionTimestamp", "2026-01-01T00:00:00Z")
            after = {**before, "metadata": {**meta, "deletionTimestamp": stamp}}
            return self._update(key, before, after, (), sender, "delete")
        self._commit(sender, "delete", key, before, None, ())
        return effect.Done(before)

    def _update(
        self, key: Key, before: Thing, after: Thing, operations: objects.Patch, sender: str, purpose: str
    ) -> effect.Done | effect.No:
        old, new = before["metadata"], after["metadata"]
        if new.get("resourceVersion") != old["resourceVersion"]:
            return effect.No(409, "the object has been modified; please apply your changes to the latest version")
        if any(new.get(field) != old.get(field) for field in ("uid", "name", "namespace", "generation")):
            return effect.No(422, "metadata: Invalid value: field is immutable")
        if after == before:
            return effect.Done(before)
        added = set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())
        if "deletionTimestamp" in old and added:
            return effect.No(422, "metadata.finalizers: Forbidden: no new finalizers can be added while being deleted")
        problem = _invalid(after)
        if problem:
            return effect.No(422, problem)
        if "deletionTimestamp" in new and not new.get("finalizers"):
            self._commit(sender, purpose, key, before, None, operations)
            return effect.Done(after)
        noted = new.get("annotations") != old.get("annotations")
        noted = noted and after["kind"] == "Deployment"
        if after["kind"] in _COUNTED and (noted or after["spec"] != before["spec"]):
            after = {**after, "metadata": {**new, "generation": old["generation"] + 1}}
        return effect.Done(self._commit(sender, purpose, key, before, after, operations))

    def _commit(
        self, sender: str, purpose: str, key: Key, before: Thing | None, after: Thing | None, operations: objects.Patch
    ) -> Thing:
        self.version += 1
        if after is None:
            del self.things[key]
            self.committed(Commit(sender, purpose, key, before, None, operations))
            return before or {}
        after = {**after, "metadata": {**after["metadata"], "resourceVersion": str(self.version)}}
        self.things[key] = after
        self.committed(Commit(sender, purpose, key, before, after, operations))
        return after


def _changed(place: Thing, **changes: Any) -> Thing:
    meta = {**place["metadata"], "generation": place["metadata"]["generation"] + 1}
    return {**place, "metadata": meta, **changes}


def value_of(place: Thing, field: Mapping[str, Any]) -> Any:
    """What cannot be taken back is a count of how often it was done; a record says what the count was before."""
    return {"done": place["metadata"]["generation"] != field["seen"]} if "seen" in field else place["value"]


def _missing(key: Key) -> effect.No:
    return effect.No(404, f"{key[1].lower()}s {key[3]!r} not found")


def _stored(thing: Thing) -> Thing:
    """Without empty maps and lists (they are `omitempty`), and with the defaults of what we write."""
    meta = thing["metadata"]
    empty = [field for field in ("annotations", "labels", "finalizers") if field in meta and not meta[field]]
    if empty:
        thing = {**thing, "metadata": {key: value for key, value in meta.items() if key not in empty}}
    if thing["kind"] != "Deployment":
        return thing
    spec = thing["spec"]
    if spec.get("replicas") is None:
        spec = {**spec, "replicas": 1}
    containers = spec["template"]["spec"]["containers"]
    if any("env" in container and _leaves_out(container["env"]) for container in containers):
        containers = [_container(entry) for entry in containers]
        template = spec["template"]
        spec = {**spec, "template": {**template, "spec": {**template["spec"], "containers": containers}}}
    return thing if spec is thing["spec"] else {**thing, "spec": spec}


def _leaves_out(env: list[Mapping[str, Any]]) -> bool:
    return not env or any(entry.get("value") == "" for entry in env)


def _container(entry: Mapping[str, Any]) -> dict[str, Any]:
    kept = [{k: v for k, v in one.items() if k != "value" or v != ""} for one in entry.get("env") or ()]
    return {k: (kept if k == "env" else v) for k, v in entry.items() if k != "env" or kept}


def _invalid(thing: Thing) -> str:
    """What the API server would not take, in a sentence; "" when it would."""
    notes = thing["metadata"].get("annotations") or {}
    if not all(isinstance(value, str) for value in notes.values()):
        return "metadata.annotations: values must be strings"
    signs = sum(len(key) + len(value) for key, value in notes.items())  # a sign is four bytes at the most
    if signs * 4 > ANNOTATION_BYTES and objects.size_of(notes) > ANNOTATION_BYTES:
        return f"metadata.annotations: Too long: must have at most {ANNOTATION_BYTES} bytes"
    if thing["kind"] == "Lease":
        return _invalid_lease(thing.get("spec") or {})
    if thing["kind"] == "Deployment":
        return _invalid_deployment(thing["spec"])
    return ""


def _invalid_lease(spec: Mapping[str, Any]) -> str:
    if spec.get("leaseDurationSeconds", 1) <= 0:
        return "spec.leaseDurationSeconds: Invalid value: must be greater than 0"
    if spec.get("leaseTransitions", 0) < 0:
        return "spec.leaseTransitions: Invalid value: must be greater than or equal to 0"
    for field in ("acquireTime", "renewTime"):
        if field in spec and not _MICRO_TIME.match(str(spec[field])):
            return f"spec.{field}: Invalid value: {spec[field]!r}"
    return ""


def _invalid_deployment(spec: Mapping[str, Any]) -> str:
    if not isinstance(spec["replicas"], int) or spec["replicas"] < 0:
        return "spec.replicas: Invalid value: must be greater than or equal to 0"
    entries: Iterable[Mapping[str, Any]] = (
        entry for container in spec["template"]["spec"]["containers"] for entry in container.get("env") or ()
    )
    if any(not entry.get("name") or (entry.get("value") and "valueFrom" in entry) for entry in entries):
        return "spec.template.spec.containers: Invalid value: env"
    return ""
