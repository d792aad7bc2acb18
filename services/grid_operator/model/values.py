"""The values schema of chart grid-site: each field of a spec that the chart does not set itself, under the same name.

A field that may be left out of GridNetwork's spec is also not given when it is null or empty, so that the chart's own
values name every field.
"""

from __future__ import annotations

from typing import Any

from grid_operator.model import KINDS, shared
from grid_operator.model.fields import Field, Group, Schema, values_schema

SET_BY_CHART = {"gridNetworkRef": "the chart's own GridNetwork"}
MOST_SITES = 255  # besides this one; the ledger takes 256 origins
MOST_PROVIDERS = 256


def schema() -> Schema:
    """Draft 07 of JSON Schema, closed at every level but `global`."""
    network, provider, site = (_fields(index) for index in (0, 2, 1))
    names = {
        "network": "Name of the GridNetwork, which its operator is told as network.name; empty: the release's.",
        "site": "Name of the GridSite; empty: the network's name and the site's.",
        "provider": "Name of the InferenceProvider, below the network's name.",
    }
    listed = {
        "sites": ("Sites whose records are believed, this one among them.", names["site"], site, MOST_SITES + 1),
        "providers": ("What this site offers.", names["provider"], provider, MOST_PROVIDERS),
    }
    properties: Schema = {
        "global": {"description": "shared by the charts of an umbrella", "type": "object"},
        "gridNetwork": _closed(
            {"name": _emptiable(shared.object_name(names["network"]))}
            | {name: _emptiable(field) for name, field in network.items()},
            ["gridId"],
        ),
    }
    for key, (text, name_text, fields, most) in listed.items():
        named = shared.object_name(name_text, required=key == "providers")
        entry = {"name": values_schema(named) if named.required else _emptiable(named)}
        entry |= {name: values_schema(field) for name, field in fields.items()}
        required = [name for name, field in {"name": named, **fields}.items() if field.required]
        properties[key] = {"description": text, "type": "array", "maxItems": most, "items": _closed(entry, required)}
    root = _closed(properties, ["gridNetwork", "sites", "providers"])
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of grid-site", **root}


def _fields(index: int) -> dict[str, Field]:
    return {name: field for name, field in KINDS[index].spec.fields.items() if name not in SET_BY_CHART}


def _closed(properties: dict[str, Any], required: list[str]) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": required}


def _emptiable(field: Field) -> Schema:
    """The field's schema, in which null, "", [] and {} say that it is not given."""
    found = values_schema(field)
    if "enum" in found:
        found["enum"] = ["", *found["enum"]]
    found.pop("minLength", None)
    if "pattern" in found:
        found["pattern"] = f"^({found['pattern'].removeprefix('^').removesuffix('$')})?$"
    if isinstance(field, Group) and "required" in found:
        found["if"] = {"minProperties": 1}
        found["then"] = {"required": found.pop("required")}
    if "enum" not in found:
        found["type"] = [found["type"], "null"]
    return found
