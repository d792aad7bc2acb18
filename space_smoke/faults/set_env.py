"""`set-env`: environment variables of one container of a Deployment or StatefulSet get other values; the rollout that follows
is part of the fault. The record holds each named variable's whole entry, so a variable that came from a Secret returns to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

_CONTAINERS = ("spec", "template", "spec", "containers")

SCHEMA: kinds.Schema = {
    "type": "object",
    "required": ["env"],
    "additionalProperties": False,
    "properties": {
        "container": {"type": "string", "minLength": 1, "description": "its name; may be left out where there is one"},
        "env": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": "string"},
            "description": "variable: value; values are strings",
        },
    },
}


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """{"container": name, "names": [variables, sorted]}; Unfit where the container cannot be told."""
    present = [str(entry["name"]) for entry in objects.dig(target, *_CONTAINERS) or ()]
    name = arguments.get("container")
    if name is None and len(present) != 1:
        raise kinds.Unfit(f"set-env: {_named(target)} has containers {present}: say which one with `container:`")
    if name is not None and name not in present:
        raise kinds.Unfit(f"set-env: {_named(target)} has no container {name!r}, only {present}")
    return {"container": name or present[0], "names": sorted(arguments["env"])}


def read(target: objects.Object, field: Mapping[str, Any]) -> objects.Json:
    """{variable: {"entry": the list entry} | {"absent": true}} for each named variable; {} if the container is gone."""
    found = _container(target, field)
    if found is None:
        return {}
    entries = {entry["name"]: _stored(entry) for entry in found[1].get("env") or ()}
    return {name: {"entry": entries[name]} if name in entries else {"absent": True} for name in field["names"]}


def wanted(arguments: scenario.Arguments, field: Mapping[str, Any]) -> objects.Json:
    return {name: {"entry": _stored({"name": name, "value": arguments["env"][name]})} for name in field["names"]}


def write(target: objects.Object, field: Mapping[str, Any], value: objects.Json) -> list[objects.Operation]:
    """Replaces the container's list of variables, if the container is still what was read.

    The test compares the whole container, because RFC 6902 cannot test that a variable is absent. Variables keep their
    place; new ones go to the end, so putting them back leaves the list as it was.
    """
    found = _container(target, field)
    if found is None:
        raise kinds.Unfit(f"set-env: {_named(target)} has no container {field['container']!r} any more")
    index, container = found
    entries = []
    for entry in container.get("env") or ():
        change = value.get(entry["name"])
        if change is None:
            entries.append(dict(entry))
        elif "entry" in change:
            entries.append(change["entry"])
    present = {entry["name"] for entry in entries}
    entries += [change["entry"] for name, change in value.items() if "entry" in change and name not in present]
    return [objects.test(container, *_CONTAINERS, index), objects.put(entries, *_CONTAINERS, index, "env")]


def describe(value: objects.Json) -> str:
    return ", ".join(f"{name}={_shown(change)}" for name, change in sorted(value.items())) or "container gone"


def _shown(change: Mapping[str, Any]) -> str:
    if "entry" not in change:
        return "(unset)"
    entry = change["entry"]
    return "(from a reference)" if "valueFrom" in entry else repr(entry.get("value", ""))


def _stored(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry as the API server keeps it: an empty value is left out (`value` is omitempty in core/v1 EnvVar)."""
    return {key: content for key, content in entry.items() if not (key == "value" and content == "")}


def _container(target: objects.Object, field: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
    containers = objects.dig(target, *_CONTAINERS) or []
    index = objects.index_of(containers, field["container"])
    return None if index is None else (index, containers[index])


def _named(target: objects.Object) -> str:
    return str(objects.ref_of(target))


KIND = kinds.FaultKind(
    name="set-env",
    summary="environment variables of a container of a Deployment or StatefulSet get other values",
    domain="public-api-mutation",
    targets=("deployment", "statefulset"),
    schema=SCHEMA,
    address=address,
    read=read,
    wanted=wanted,
    write=write,
    describe=describe,
)
