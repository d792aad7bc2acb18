"""Fields of a resource: what may stand there and what it does.

A field knows its schema in two dialects: the structural OpenAPI schema of a CRD (Kubernetes: "Extend the Kubernetes API
with CustomResourceDefinitions", structural schemas), and draft 07 of JSON Schema, in which Helm checks a chart's values.
The second says what the first says, closes every object, and leaves out what only an API server can know: defaults, list
types and CEL rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule of admission: what must hold of `self`, and the sentence for whom it refuses."""

    expression: str
    message: str

    def entry(self) -> dict[str, str]:
        return {"rule": self.expression, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """`text` says what the field means and what changes with it. `required` is of the object that holds it."""

    text: str
    required: bool = False
    rules: tuple[Rule, ...] = ()

    def bounds(self) -> Schema:
        """Type and bounds, in both dialects, without what is inside."""
        raise NotImplementedError

    def of_server(self) -> Schema:
        """What only a CRD can say, its rules aside."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Field):
    """Lengths are in characters. `pattern` must mean the same to Go's regexp and Python's re."""

    longest: int = 0
    shortest: int = 0
    pattern: str = ""
    choices: tuple[str, ...] = ()
    form: str = ""

    def bounds(self) -> Schema:
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        found: Schema = {"type": "string"}
        if self.shortest:
            found["minLength"] = self.shortest
        if self.longest:
            found["maxLength"] = self.longest
        if self.pattern:
            found["pattern"] = self.pattern
        return found

    def of_server(self) -> Schema:
        return {"format": self.form} if self.form else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Field):
    """From `least` to `most`, whole when `whole`."""

    least: int
    most: int
    whole: bool = False
    default: int | None = None

    def bounds(self) -> Schema:
        return {"type": "integer" if self.whole else "number", "minimum": self.least, "maximum": self.most}

    def of_server(self) -> Schema:
        default = {} if self.default is None else {"default": self.default}
        return {"format": "int64" if self.whole else "double", **default}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Field):
    """At least `least` and at most `most` items. `key` names the field that tells items apart; `distinct` refuses an
    item that is there already."""

    items: Field
    most: int
    least: int = 0
    key: str = ""
    distinct: bool = False

    def bounds(self) -> Schema:
        found: Schema = {"type": "array", "maxItems": self.most}
        return {**found, "minItems": self.least} if self.least else found

    def of_server(self) -> Schema:
        if self.key:
            return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key]}
        return {"x-kubernetes-list-type": "set" if self.distinct else "atomic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Field):
    """An object with these fields and no others."""

    fields: Mapping[str, Field] = field(default_factory=dict)

    def bounds(self) -> Schema:
        required = [name for name, inner in self.fields.items() if inner.required]
        return {"type": "object", "required": required} if required else {"type": "object"}


def crd_schema(field: Field) -> Schema:
    """The field as a part of a CRD's schema."""
    found = {"description": field.text, **field.bounds(), **field.of_server()}
    if field.rules:
        found["x-kubernetes-validations"] = [rule.entry() for rule in field.rules]
    if isinstance(field, Listing):
        found["items"] = crd_schema(field.items)
    if isinstance(field, Group):
        found["properties"] = {name: crd_schema(inner) for name, inner in field.fields.items()}
    return found


def values_schema(field: Field) -> Schema:
    """The field as a part of a chart's values schema."""
    found = {"description": field.text, **field.bounds()}
    if isinstance(field, Listing):
        found["items"] = values_schema(field.items)
        if field.distinct:
            found["uniqueItems"] = True
    if isinstance(field, Group):
        found["additionalProperties"] = False
        found["properties"] = {name: values_schema(inner) for name, inner in field.fields.items()}
    return found
