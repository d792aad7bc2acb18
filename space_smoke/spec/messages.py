"""A finding of the JSON Schema validator -> where it is and one sentence that quotes the value, the rule and the nearest
right word. jsonschema's own words never reach the user where a rule is listed here."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jsonschema

from space_smoke import errors
from space_smoke.spec import nodes, schema, units

_SORTS = {"faults": "fault", "phases": "phase", "loads": "load", "checks": "check"}
_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map of keys and values",
    "null": "null",
}
_MANY = 16  # words that a message lists before it stops


def nearest(word: object, known: Iterable[str]) -> str:
    """The end of a sentence that says what could have been meant."""
    words = sorted(set(known))
    close = difflib.get_close_matches(str(word), words, n=1)
    if close:
        return f"; did you mean {nodes.quoted(close[0])}?"
    if not words:
        return "; there is none"
    return f"; there is: {', '.join(words[:_MANY])}{', ...' if len(words) > _MANY else ''}"


def subject(data: Any, path: nodes.Path) -> str:
    """What a path leads to, for people: `fault "no-store": replicas`."""
    head, tail = "", ""
    for depth, step in enumerate(path):
        sort = _SORTS.get(str(path[depth - 1])) if depth == 1 or (depth == 3 and path[0] == "phases") else None
        if sort:
            item = _dig(data, path[: depth + 1])
            name = item.get("kind" if sort == "check" else "name") if isinstance(item, Mapping) else None
            head, tail = f"{sort} {nodes.quoted(name) if isinstance(name, str) else int(step) + 1}", ""
        elif isinstance(step, int):
            tail += f"[{step}]"
        else:
            tail += f".{step}" if tail else step
    return f"{head}: {tail}" if head and tail else head or tail or "a scenario"


def of(document: nodes.Document, tables: schema.Tables, error: jsonschema.ValidationError) -> Iterator[errors.Mistake]:
    """The mistakes that one error stands for: an error about unknown or missing keys is one mistake for each key."""
    path: nodes.Path = tuple(error.absolute_path)
    where = subject(document.data, path)
    value: Any = error.instance
    wanted: Any = error.validator_value
    if error.validator == "additionalProperties" and wanted is False:
        known = _schema(error).get("properties", {})
        for key in value:
            if key not in known:
                message = f"{where} has no key {nodes.quoted(key)}{nearest(key, known)}"
                yield errors.Mistake(document.at_key(*path, key), message)
    elif error.validator == "required":
        for key in wanted:
            if key not in value:
                yield errors.Mistake(document.at(*path), f"{where} lacks the key {nodes.quoted(key)}")
    elif error.validator == "dependentRequired":
        for given, needs in wanted.items():
            absent = ", ".join(nodes.quoted(key) for key in needs if key not in value)
            if given in value and absent:
                message = f"{where} has the key {nodes.quoted(given)}, which needs the key {absent} beside it"
                yield errors.Mistake(document.at_key(*path, given), message)
    elif "propertyNames" in error.absolute_schema_path:
        message = f"{where}: key {nodes.quoted(value)} {rule(error)}"
        yield errors.Mistake(document.at_key(*path, value), message)
    elif len(path) in (3, 5) and path[-1] == "kind" and error.validator == "enum":
        message = f"{where} {nodes.quoted(value)} is not known{nearest(value, wanted)}"
        yield errors.Mistake(document.at(*path), message)
    elif len(path) == 3 and path[0] == "faults" and path[2] == "target" and error.validator == "pattern":
        hint = _target_hint(_dig(document.data, path[:-1]), str(value), tables)
        yield errors.Mistake(document.at(*path), f"{where} is {nodes.quoted(value)}: {rule(error)}{hint}")
    elif error.validator in ("oneOf", "anyOf"):
        yield from _of_choice(document, tables, error)
    elif unit := _unit(error):
        yield errors.Mistake(document.at(*path), f"{where}: {unit}")
    else:
        yield errors.Mistake(document.at(*path), f"{where} is {nodes.quoted(value)}: {rule(error)}")


def rule(error: jsonschema.ValidationError) -> str:
    """The rule that a value broke, as the end of a sentence."""
    if error.validator in ("pattern", "type") and "patternErrorMessage" in _schema(error):
        return str(_schema(error)["patternErrorMessage"])
    told = _RULES.get(str(error.validator))
    return told(error.validator_value, error.instance) if told else error.message[:200]


def _unit(error: jsonschema.ValidationError) -> str:
    """What is wrong with a duration or a rate, or "" where the error is about something else."""
    reader = {units.DURATION: units.duration, units.RATE: units.rate}.get(_schema(error).get("pattern", ""))
    try:
        if reader and error.validator in ("pattern", "type"):
            reader(error.instance)
    except units.UnitError as wrong:
        return str(wrong)
    return ""


def _schema(error: jsonschema.ValidationError) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _type(wanted: Any, value: Any) -> str:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    told = f"it must be {' or '.join(_TYPES.get(name, name) for name in names)}"
    return f"{told}: put it in quotes" if "string" in names and isinstance(value, int | float | None) else told


_RULES: Mapping[str, Callable[[Any, Any], str]] = {
    "type": _type,
    "enum": lambda known, value: f"it must be one of {', '.join(map(str, known))}{_meant(value, known)}",
    "const": lambda wanted, _value: f"it must be {nodes.quoted(wanted)}",
    "pattern": lambda pattern, _value: f"must match {pattern}",
    "minimum": lambda least, _value: f"it must be at least {least}",
    "maximum": lambda most, _value: f"it must be at most {most}",
    "exclusiveMinimum": lambda least, _value: f"it must be more than {least}",
    "exclusiveMaximum": lambda most, _value: f"it must be less than {most}",
    "minLength": lambda least, _value: "it must not be empty" if least == 1 else f"it needs {least} characters",
    "maxLength": lambda most, _value: f"it may have at most {most} characters",
    "minItems": lambda least, _value: "it must not be empty" if least == 1 else f"it needs {least} entries",
    "maxItems": lambda most, _value: f"it may have at most {most} entries",
    "minProperties": lambda least, _value: "it must not be empty" if least == 1 else f"it needs {least} keys",
    "uniqueItems": lambda _wanted, _value: "an entry is there twice: keep one",
}


def _meant(value: Any, known: Iterable[Any]) -> str:
    hint = nearest(value, (word for word in known if isinstance(word, str)))
    return hint if "did you mean" in hint else ""


def _of_choice(
    document: nodes.Document, tables: schema.Tables, error: jsonschema.ValidationError
) -> Iterator[errors.Mistake]:
    """Where a value may have several forms: the mistakes inside the form that it has, or else the rules of all forms."""
    forms: dict[Any, list[jsonschema.ValidationError]] = {}
    for inner in error.context or ():
        forms.setdefault(inner.relative_schema_path[0], []).append(inner)
    started = [found for found in forms.values() if all(inner.relative_path for inner in found)]
    if len(started) == 1:
        for inner in started[0]:
            yield from of(document, tables, inner)
        return
    path: nodes.Path = tuple(error.absolute_path)
    rules = " or ".join(dict.fromkeys(rule(found[0]).removeprefix("it must be ") for found in forms.values()))
    where, value = subject(document.data, path), nodes.quoted(error.instance)
    yield errors.Mistake(document.at(*path), f"{where} is {value}: it must be {rules or 'of one form only'}")


def _target_hint(fault: Any, target: str, tables: schema.Tables) -> str:
    kind = tables.faults.get(fault["kind"])
    word = target.split("/")[0]
    return _meant(word, kind.targets) if kind and word not in kind.targets else ""


def _dig(data: Any, path: nodes.Path) -> Any:
    for step in path:
        data = data[step]
    return data
