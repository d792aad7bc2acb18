"""`crd-prune`: a CustomResourceDefinition is that of an older release, whose schema lacks a field: objects that are written with
it lose it without a word. One version of the definition is changed, that of the storage unless said.

What is read from the store while the field is unknown has lost it, and what is then written back, be it a status, has lost it
for good. So the fault is not raised where an object has the field (bench/outside/pruned.py): no record could give it back.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

SCHEMA: kinds.Schema = {
    "type": "object",
    "required": ["field"],
    "additionalProperties": False,
    "properties": {
        "field": {
            "type": "string",
            "pattern": r"^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$",
            "patternErrorMessage": "write the way to it with dots, as in spec.budgetPolicy",
            "description": "the way to it with dots, through lists without their numbers: spec.budgetPolicy.tenants.capUsd",
        },
        "version": {
            "type": "string",
            "minLength": 1,
            "description": "of the definition; that of the storage unless said",
        },
    },
}
_KEEPS = "x-kubernetes-preserve-unknown-fields"


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """{"version": name, "parent": keys of the schema that the field is in, below the version, "name": the field's own, "way":
    as written}; Unfit where there is no such version or field, or where the field would be kept all the same."""
    version = _version(arguments.get("version"), target)
    *above, name = str(arguments["field"]).split(".")
    parent, here = _inside(["schema", "openAPIV3Schema"], objects.dig(version, "schema", "openAPIV3Schema") or {})
    for part in above:
        _must_have(here, part, arguments["field"], target)
        parent, here = _inside([*parent, "properties", part], here["properties"][part])
    _must_have(here, name, arguments["field"], target)
    if here.get(_KEEPS):
        raise kinds.Unfit(f"crd-prune: {objects.ref_of(target)} keeps fields that it does not know beside {name}")
    return {"version": version["name"], "parent": parent, "name": name, "way": arguments["field"]}


def _inside(keys: list[str], schema: Mapping[str, Any]) -> tuple[list[str], Mapping[str, Any]]:
    """A list's fields are those of its entries."""
    while "items" in schema:
        keys, schema = [*keys, "items"], schema["items"]
    return keys, schema


def _version(name: str | None, target: objects.Object) -> Mapping[str, Any]:
    versions = objects.dig(target, "spec", "versions") or ()
    for version in versions:
        if version.get("storage") if name is None else version["name"] == name:
            return dict(version)
    have = [str(version["name"]) for version in versions]
    raise kinds.Unfit(f"crd-prune: {objects.ref_of(target)} has no version {name!r}, only {have}")


def _must_have(schema: Mapping[str, Any], name: str, way: str, target: objects.Object) -> None:
    known = sorted(schema.get("properties") or ())
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {known}"
        raise kinds.Unfit(
            f"crd-prune: {way}: the schema of {objects.ref_of(target)} has no field {name!r} there; {hint}"
        )


def read(target: objects.Object, field: Mapping[str, Any]) -> objects.Json:
    """{"schema": the field's own, "required": its place among those, if it is one}, {"absent": true}, or {} where the schema
    that it was in is gone."""
    parent = _parent(target, field)
    if parent is None:
        return {}
    if field["name"] not in (parent.get("properties") or {}):
        return {"absent": True}
    required = list(parent.get("required") or ())
    place = {"required": required.index(field["name"])} if field["name"] in required else {}
    return {"schema": parent["properties"][field["name"]], **place}


def wanted(_arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"absent": True}


def write(target: objects.Object, field: Mapping[str, Any], value: objects.Json) -> list[objects.Operation]:
    """Guarded by the version of the whole object: a schema is large, and its numbers may be spelled otherwise than they came."""
    parent = _parent(target, field)
    if parent is None:
        raise kinds.Unfit(f"crd-prune: {objects.ref_of(target)} has no schema any more that {field['way']} was in")
    name = field["name"]
    fields = {key: schema for key, schema in (parent.get("properties") or {}).items() if key != name}
    required = [key for key in parent.get("required") or () if key != name]
    if "schema" in value:
        fields[name] = value["schema"]
    if "required" in value:
        required.insert(value["required"], name)
    operations: list[objects.Operation] = [
        objects.test(target["metadata"]["resourceVersion"], "metadata", "resourceVersion")
    ]
    for key, content in (("properties", fields), ("required", required)):
        if content:
            operations.append(objects.put(content, *_way(target, field), key))
        elif key in parent:  # the API server stores no empty one
            operations.append(objects.drop(*_way(target, field), key))
    return operations


def describe(value: objects.Json) -> str:
    if "schema" in value:
        return "the field is in the schema"
    return "the field is not in the schema" if value else "no such schema"


def _way(target: objects.Object, field: Mapping[str, Any]) -> tuple[str | int, ...]:
    index = objects.index_of(objects.dig(target, "spec", "versions") or (), field["version"])
    return ("spec", "versions", -1 if index is None else index, *field["parent"])


def _parent(target: objects.Object, field: Mapping[str, Any]) -> Mapping[str, Any] | None:
    versions = objects.dig(target, "spec", "versions") or ()
    index = objects.index_of(versions, field["version"])
    found = None if index is None else objects.dig(versions[index], *field["parent"])
    return found if isinstance(found, Mapping) else None


KIND = kinds.FaultKind(
    name="crd-prune",
    summary="a CustomResourceDefinition lacks a field, as an older one does",
    domain=kinds.GRID,
    targets=("crd",),
    schema=SCHEMA,
    address=address,
    read=read,
    wanted=wanted,
    write=write,
    describe=describe,
)
