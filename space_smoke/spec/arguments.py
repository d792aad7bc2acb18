"""Arguments of a kind, as written -> as the kind gets them: defaults set, durations in seconds, rates per second.

Both walk a value along its schema. Defaults are taken from `properties` and `items` only, never from the branches of a
choice, since which branch holds is not settled before validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from space_smoke.spec import units

Schema = Mapping[str, Any]

_FORMS: Mapping[str, tuple[str, Callable[[Any], float]]] = {
    "duration": ("_s", units.duration),
    "rate": ("_rps", units.rate),
}


def filled(schema: Schema, value: Any) -> Any:
    """The value with the schema's defaults where a key is absent. A value of the wrong shape comes back as it is."""
    if isinstance(value, Mapping):
        own: Mapping[str, Any] = schema.get("properties", {})
        absent = {key: rule["default"] for key, rule in own.items() if key not in value and _has_default(rule)}
        present = {key: filled(own[key], inner) if key in own else inner for key, inner in value.items()}
        return {**present, **absent}
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [filled(schema["items"], inner) for inner in value]
    return value


def arrived(schema: Schema, value: Mapping[str, Any]) -> dict[str, Any]:
    """`hold: 3s` -> `hold_s: 3.0`, `rate: 90/m` -> `rate_rps: 1.5`, at any depth, for a value that the schema accepts."""
    return dict(_mapping([schema], value))


def _mapping(schemas: Sequence[Schema], value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        rules = list(_of_property(schemas, key))
        form = next((_FORMS[rule["format"]] for rule in rules if rule.get("format") in _FORMS), None)
        if form is not None and isinstance(inner, str):
            suffix, read = form
            yield key + suffix, read(inner)
        else:
            yield key, _converted(rules, inner)


def _converted(schemas: Sequence[Schema], value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(_mapping(schemas, value))
    if isinstance(value, list):
        rules = [rule["items"] for rule in _flat(schemas) if isinstance(rule.get("items"), Mapping)]
        return [_converted(rules, inner) for inner in value]
    return value


def _of_property(schemas: Iterable[Schema], key: str) -> Iterator[Schema]:
    for schema in _flat(schemas):
        rule = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
        if isinstance(rule, Mapping):
            yield from _flat([rule])


def _flat(schemas: Iterable[Schema]) -> Iterator[Schema]:
    """Each schema and those inside it that speak about the same value."""
    for schema in schemas:
        yield schema
        inside = [schema[word] for word in ("then", "else") if word in schema]
        for word in ("allOf", "anyOf", "oneOf"):
            inside += schema.get(word, ())
        yield from _flat(entry for entry in inside if isinstance(entry, Mapping))


def _has_default(rule: Any) -> bool:
    return isinstance(rule, Mapping) and "default" in rule
