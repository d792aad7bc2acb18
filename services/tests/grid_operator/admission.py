"""What an API server would say to an instance by its CRD's schema: unknown fields are refused, as strict validation does.

CEL rules are not run here: they are for a real API server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema

from grid_operator.model.kind import Kind


def refusals(kind: Kind, part: str, instance: object) -> list[str]:
    """Sentences about what in `instance`, a `spec` or a `status`, its schema refuses; [] when it is taken."""
    schema = kind.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][part]
    validator = jsonschema.Draft202012Validator(_closed(schema))
    found = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(instance)]
    return found + list(_twice(schema, instance, "$"))


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    found = dict(schema)
    if "pattern" in found:
        found["pattern"] = (
            found["pattern"].removesuffix("$") + r"\Z"
        )  # Go's $ is the end, Python's also a newline before it
    if "properties" in found:
        found["properties"] = {name: _closed(inner) for name, inner in found["properties"].items()}
        found["additionalProperties"] = False
    if "items" in found:
        found["items"] = _closed(found["items"])
    return found


def _twice(schema: dict[str, Any], instance: Any, place: str) -> Iterator[str]:
    """The items of map and set lists that are there already."""
    for name, inner in schema.get("properties", {}).items():
        if isinstance(instance, dict) and name in instance:
            yield from _twice(inner, instance[name], f"{place}.{name}")
    if isinstance(instance, list):
        keys = schema.get("x-kubernetes-list-map-keys", [])
        seen: list[Any] = []
        for index, item in enumerate(instance):
            key = [item.get(name) for name in keys] if keys and isinstance(item, dict) else item
            if schema.get("x-kubernetes-list-type") != "atomic" and key in seen:
                yield f"{place}[{index}]: there already"
            seen.append(key)
