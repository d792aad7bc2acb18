"""The one JSON Schema of scenario files, built from the tables of kinds: editors complete from it, `load` checks with it.

The checked-in scenario.schema.json is `text(tables)`. Each kind's own schema is closed and gets the words that every
item of its sort has. The formats `duration` and `rate` become patterns, because JSON Schema's own `duration` is another
notation. `patternErrorMessage` is the rule in words: editors show it, and so does `load`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from space_smoke.model import scenario
from space_smoke.spec import units

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
SLUG_RULE = "use lowercase letters, digits and single dashes, as in store-lost"
NAME = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"
NAME_RULE = "use lowercase letters, digits and single underscores, as in sandbox_info"

NAMESPACE = (
    "namespace"  # a word of every fault whose target is in one; a kind in a node may have an argument of this name
)

_LONGEST_NAMESPACE = 63  # RFC 1123: a label
_LONGEST_NAME = 40  # a fault's name is part of a record's id, which has this limit


class Declared(Protocol):
    """What every kind declares; the dataclasses of model.kinds fit."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def schema(self) -> Mapping[str, Any]: ...


class DeclaredFault(Declared, Protocol):
    @property
    def targets(self) -> tuple[str, ...]: ...


class DeclaredCheck(Declared, Protocol):
    @property
    def looks_at(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Tables:
    """Every kind that scenarios may name, by its name; and the namespaces that a bench has, if they are known."""

    faults: Mapping[str, DeclaredFault]
    loads: Mapping[str, Declared]
    checks: Mapping[str, DeclaredCheck]
    namespaces: tuple[str, ...] = ()


def text(tables: Tables) -> str:
    """The content of scenario.schema.json: the same bytes for the same tables."""
    return json.dumps(build(tables), indent=2, ensure_ascii=False) + "\n"


def build(tables: Tables) -> dict[str, Any]:
    """The whole schema. Raises ValueError where a kind's own schema cannot be used here: a defect, not a user's mistake."""
    slug = {"$ref": "#/$defs/slug"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "space_smoke scenario",
        "description": "One claim with all that is needed to try it. The file is scenarios/<area>/<name>.yaml.",
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "claim", "budget", "phases", "checks"],
        "properties": {
            "name": {"description": "the file's name without .yaml", **_pattern(NAME, NAME_RULE)},
            "claim": {"description": "one sentence that this run can prove wrong", "type": "string", "minLength": 1},
            "labels": _list(slug, "words to choose scenarios by", uniqueItems=True),
            "budget": {
                "description": "how long it may take before it counts as hung; at most 1h",
                **_pattern(units.DURATION, units.DURATION_RULE),
            },
            "bench": {
                "description": "what must be installed",
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "charts": _list(slug, "charts, in the order in which they are installed", uniqueItems=True),
                    "replicas": {
                        "description": "chart: number of replicas",
                        "type": "object",
                        "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 50},
                    },
                },
            },
            "faults": _list({"$ref": "#/$defs/fault"}, "each declared once, with the phases it holds in"),
            "phases": _list({"$ref": "#/$defs/phase"}, "named stretches, in order", minItems=1),
            "checks": _list({"$ref": "#/$defs/check"}, "judged from the history after the last phase", minItems=1),
        },
        "$defs": dict(_definitions(tables)),
    }


def _definitions(tables: Tables) -> Iterator[tuple[str, Any]]:
    slug = {"$ref": "#/$defs/slug"}
    yield "slug", _pattern(SLUG, SLUG_RULE) | {"maxLength": _LONGEST_NAME}
    held = _list(slug, "the phases it holds in: neighbours, in order", minItems=1, uniqueItems=True)
    fault = {"name": slug, "kind": {}, "target": {"type": "string"}, "phases": held}
    load = {"name": slug, "kind": {}}
    yield (
        "phase",
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {"name": slug, "loads": _list({"$ref": "#/$defs/load"}, "traffic, one load after another")},
        },
    )
    yield "fault", _choice("fault", tables.faults, fault)
    yield "load", _choice("load", tables.loads, load)
    yield "check", _choice("check", tables.checks, {"kind": {}})
    for name, kind in sorted(tables.faults.items()):
        target = {"target": {"description": "what it breaks", **_target(kind)}}
        if not set(kind.targets) <= set(scenario.CLUSTER_WIDE):
            where = {"description": "where its target is; space unless said", "maxLength": _LONGEST_NAMESPACE}
            target[NAMESPACE] = where | _pattern(SLUG, SLUG_RULE)
        yield f"fault.{name}", _closed(kind, dict.fromkeys(fault, True) | target)
    for name, declared in sorted(tables.loads.items()):
        yield f"load.{name}", _closed(declared, dict.fromkeys(load, True))
    for name, declared in sorted(tables.checks.items()):
        yield f"check.{name}", _closed(declared, {"kind": True})


def _choice(sort: str, table: Mapping[str, Declared], words: Mapping[str, Any]) -> dict[str, Any]:
    """An item of one sort: the common words are checked once, the rest by its kind, so that a wrong kind is one mistake."""
    names = sorted(table)
    kind = {
        "description": f"which {sort}",
        "enum": names,
        "enumDescriptions": [table[name].summary for name in names],
    }
    return {
        "type": "object",
        "required": list(words),
        "properties": {**words, "kind": kind},
        "allOf": [
            {
                "if": {"required": ["kind"], "properties": {"kind": {"const": name}}},
                "then": {"$ref": f"#/$defs/{sort}.{name}"},
            }
            for name in names
        ],
    }


def _closed(kind: Declared, words: Mapping[str, Any]) -> dict[str, Any]:
    own = kind.schema.get("properties", {})
    if kind.schema.get("type") != "object" or kind.schema.get("additionalProperties") is not False:
        raise ValueError(f"kind {kind.name}: its schema must be a closed object (additionalProperties: false)")
    if taken := sorted(set(own) & set(words)):
        raise ValueError(f"kind {kind.name}: {', '.join(taken)} is already a word of every item of its sort")
    spelled: dict[str, Any] = _spelled(kind.name, kind.schema)
    return spelled | {"description": kind.summary, "properties": {**words, **spelled.get("properties", {})}}


def _spelled(name: str, schema: Any) -> Any:
    """The same schema with its formats as patterns. A reference would point somewhere else once it is in here."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            raise ValueError(f"kind {name}: its schema may not use $ref")
        spelled = {key: _spelled(name, value) for key, value in schema.items()}
        form = spelled.get("format")
        if form in ("duration", "rate"):
            del spelled["format"]
            duration = form == "duration"
            spelled |= _pattern(
                units.DURATION if duration else units.RATE, units.DURATION_RULE if duration else units.RATE_RULE
            )
        return spelled
    if isinstance(schema, list | tuple):
        return [_spelled(name, entry) for entry in schema]
    return schema


def _target(kind: DeclaredFault) -> dict[str, Any]:
    words = " or ".join(f"{word}/NAME" for word in kind.targets)
    return _pattern(
        rf"^({'|'.join(kind.targets)})/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", f"fault kind {kind.name} takes {words}"
    )


def _pattern(pattern: str, rule: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, "patternErrorMessage": rule}


def _list(items: Mapping[str, Any], description: str, **rules: Any) -> dict[str, Any]:
    return {"description": description, "type": "array", "items": items, **rules}
