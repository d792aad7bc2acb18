"""`crd-read-back`: compares the definitions of a chart with those that the cluster has, and puts objects that use every field
through the API server: made, read back, compared, and deleted. What a stale definition does not know it drops without a word.

One event `read-back` each. Of a definition: {crd, differs: [{path, chart, cluster}]}. Of an object: {object, missing: fields of
the chart's definition that it does not use, pruned: fields that came back otherwise or not at all, refused: why it was}.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from space_smoke import errors
from space_smoke.bench import cache, crds
from space_smoke.loads import traffic
from space_smoke.model import kinds, objects

CHARTS = cache.PROJECT / "charts"
_MOST = 20  # differences of one thing that are worth keeping
_EXACT = "openAPIV3Schema"  # the API server adds nothing below it; elsewhere it fills in what a definition leaves out

KIND = kinds.LoadKind(
    name="crd-read-back",
    summary="compares a chart's definitions with the cluster's, and reads objects with every field back",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["chart", "objects"],
        "properties": {
            "chart": {"type": "string", "pattern": "^[a-z0-9-]+$", "description": "a folder of charts/ with crds/"},
            "objects": {
                "type": "array",
                "description": "each made and deleted: of names that nobody else uses, and cluster-scoped",
                "items": {
                    "type": "object",
                    "required": ["apiVersion", "kind", "metadata", "spec"],
                    "additionalProperties": False,
                    "properties": {
                        "apiVersion": {"type": "string"},
                        "kind": {"type": "string"},
                        "metadata": {
                            "type": "object",
                            "required": ["name"],
                            "additionalProperties": False,
                            "properties": {"name": {"type": "string", "pattern": "^smoke-[a-z0-9-]+$"}},
                        },
                        "spec": {"type": "object"},
                    },
                },
            },
        },
    },
)


def drive(load: traffic.Traffic, charts: pathlib.Path = CHARTS) -> None:
    load.be_there()
    definitions = list(crds.of_charts([charts / load.argument("chart")]))
    for definition in definitions:
        _compare(load, definition)
    schemas = {one["spec"]["names"]["kind"]: schema_of(one) for one in definitions}
    for thing in load.argument("objects"):
        _read_back(load, thing, schemas.get(thing["kind"], {}))


def _compare(load: traffic.Traffic, definition: Mapping[str, Any]) -> None:
    name = definition["metadata"]["name"]
    try:
        there = load.door.cluster.read(objects.Ref(crds.API_VERSION, crds.KIND, "", name))
        found = list(differences(definition["spec"], there["spec"], "spec"))
    except errors.ApiError as error:
        if error.status != 404:
            raise
        found = [{"path": "(the definition)", "chart": name, "cluster": "not there"}]
    load.emit("read-back", load=load.load.name, crd=name, differs=found[:_MOST])


def _read_back(load: traffic.Traffic, thing: objects.Object, schema: Mapping[str, Any]) -> None:
    ref = objects.Ref(thing["apiVersion"], thing["kind"], "", thing["metadata"]["name"])
    cluster, refused, pruned = load.door.cluster, "", list[str]()
    cluster.delete(ref)  # what a run that was killed may have left
    try:
        cluster.create(thing, fieldValidation="Ignore")
        back = cluster.read(ref)
        pruned = [one["path"] for one in differences(thing["spec"], back.get("spec"), "spec", exact=True)]
    except errors.ApiError as error:
        if error.status == 0 or error.status >= 500:
            raise
        refused = error.message
    finally:
        cluster.delete(ref)
    missing = sorted(set(unused(schema, thing["spec"], "spec")))
    load.emit(
        "read-back",
        load=load.load.name,
        object=f"{thing['kind']} {ref.name}",
        missing=missing,
        pruned=pruned[:_MOST],
        refused=refused,
    )


def schema_of(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of the spec, in the version that is stored."""
    stored = next(one for one in definition["spec"]["versions"] if one["storage"])
    found: Mapping[str, Any] = stored["schema"][_EXACT]["properties"]["spec"]
    return found


def differences(wanted: Any, seen: Any, path: str, *, exact: bool = False) -> Iterator[dict[str, Any]]:
    """Where `seen` is not as `wanted`; `exact`: it may have nothing more either. Lists are compared entry by entry."""
    if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
        keys = [*wanted, *(key for key in seen if exact and key not in wanted)]
        for key in keys:
            yield from differences(wanted.get(key), seen.get(key), f"{path}.{key}", exact=exact or key == _EXACT)
    elif isinstance(wanted, list) and isinstance(seen, list) and len(wanted) == len(seen):
        for number, (one, other) in enumerate(zip(wanted, seen, strict=True)):
            yield from differences(one, other, f"{path}[{number}]", exact=exact)
    elif wanted != seen or isinstance(wanted, bool) != isinstance(seen, bool):
        yield {"path": path, "chart": _short(wanted), "cluster": _short(seen)}


def unused(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    """The fields of a schema that a value does not use; of a list, those that none of its entries uses."""
    if isinstance(value, list):
        inner = schema.get("items") or {}
        of_each = [set(unused(inner, one, f"{path}[]")) for one in value]
        yield from sorted(set.intersection(*of_each)) if of_each else [f"{path}[]"]
        return
    for name, rule in (schema.get("properties") or {}).items():
        if not isinstance(value, Mapping) or name not in value:
            yield f"{path}.{name}"
        else:
            yield from unused(rule, value[name], f"{path}.{name}")


def _short(value: Any) -> str:
    words = "(nothing)" if value is None else repr(value)
    return words if len(words) <= 200 else f"{words[:197]}..."
