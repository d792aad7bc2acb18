"""Scenario files -> scenarios, in three steps: `read` the files, `set_defaults`, `validate`.

All mistakes of all files come at once, as one SpecError. `scenarios` does the three for a folder; it is what the command
and the pytest plugin call.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jsonschema

from space_smoke import errors
from space_smoke.model import scenario
from space_smoke.spec import arguments, build, messages, nodes, rules, schema


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[jsonschema.ValidationError]:
    """`$` is the very end, as in the editors' regular expressions; Python's also stands before a last line break."""
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


# JSON Schema counts 3.0 as an integer; a kind that asked for one must get an int.
_Validator = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator,
    validators={"pattern": _pattern},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _checker, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def scenarios(root: pathlib.Path, tables: schema.Tables) -> tuple[scenario.Scenario, ...]:
    """Every scenario under `root` (`<area>/<name>.yaml`), by id. Raises SpecError with all mistakes, UsageError where
    there is nothing to read."""
    paths = find(root)
    misplaced = [path for path in paths if path.suffix != ".yaml" or len(path.relative_to(root).parts) != 2]
    documents = [*read(path for path in paths if path not in misplaced)]
    documents += [
        nodes.Document(
            str(path), mistakes=(errors.Mistake(f"{path}:1:1", f"a scenario is {root}/<area>/<name>.yaml: move it"),)
        )
        for path in misplaced
    ]
    return validate(set_defaults(documents, tables), tables)


def find(root: pathlib.Path) -> tuple[pathlib.Path, ...]:
    """Every YAML file under a folder, sorted. Raises UsageError where there is none."""
    found = tuple(sorted(path for path in root.rglob("*") if path.suffix in (".yaml", ".yml") and path.is_file()))
    if not found:
        raise errors.UsageError(
            f"{root} has no scenario: none of its files ends in .yaml",
            next_step="name the folder that holds <area>/<name>.yaml",
        )
    return found


def read(paths: Iterable[pathlib.Path]) -> tuple[nodes.Document, ...]:
    """The files as plain data with places. A file that cannot be opened is a mistake of that file."""
    return tuple(_opened(path) for path in paths)


def set_defaults(documents: Iterable[nodes.Document], tables: schema.Tables) -> tuple[nodes.Document, ...]:
    """The same documents with every absent key that has a default; what is wrong in shape stays as it is."""
    return tuple(replace(document, data=_with_defaults(document.data, tables)) for document in documents)


def validate(documents: Sequence[nodes.Document], tables: schema.Tables) -> tuple[scenario.Scenario, ...]:
    """The scenarios, by id. Raises SpecError with every mistake of every file, in file order."""
    validator = _Validator(schema.build(tables))
    mistakes: list[errors.Mistake] = []
    made: dict[str, scenario.Scenario] = {}
    for document in documents:
        found = [*document.mistakes]
        if document.values:  # else it could not be read, and its mistake says why
            told = {mistake.place for mistake in found}  # what is no YAML value is not also of the wrong type
            found += [mistake for mistake in _mistakes(document, tables, validator) if mistake.place not in told]
        if not found:
            one = build.scenario_of(document, tables)
            first = made.setdefault(one.id, one)
            if first is not one:
                found.append(errors.Mistake(document.at("name"), f"{one.id} is already in {first.path}: rename one"))
        mistakes += sorted(dict.fromkeys(found), key=_line)
    if mistakes:
        raise errors.SpecError(mistakes)
    return tuple(made[name] for name in sorted(made))


def _opened(path: pathlib.Path) -> nodes.Document:
    try:
        return nodes.read(str(path), path.read_bytes())
    except OSError as error:
        why = error.strerror or type(error).__name__
        return nodes.Document(str(path), mistakes=(errors.Mistake(f"{path}:1:1", f"the file cannot be opened: {why}"),))


def _with_defaults(data: Any, tables: schema.Tables) -> Any:
    if not isinstance(data, Mapping):
        return data
    whole = {"labels": [], "bench": {}, "faults": [], **data}
    if isinstance(whole["bench"], Mapping):
        whole["bench"] = {"charts": [], "replicas": {}, **whole["bench"]}
    tabled: tuple[tuple[str, Mapping[str, schema.Declared]], ...] = (
        ("faults", tables.faults),
        ("checks", tables.checks),
    )
    for key, table in tabled:
        if key in whole:
            whole[key] = _each(whole[key], table)
    if isinstance(whole.get("phases"), list):
        whole["phases"] = [
            {**phase, "loads": _each(phase.get("loads", []), tables.loads)} if isinstance(phase, Mapping) else phase
            for phase in whole["phases"]
        ]
    return whole


def _each(items: Any, table: Mapping[str, schema.Declared]) -> Any:
    if not isinstance(items, list):
        return items
    kinds = [item.get("kind") if isinstance(item, Mapping) else None for item in items]
    return [
        arguments.filled(table[kind].schema, item) if isinstance(kind, str) and kind in table else item
        for kind, item in zip(kinds, items, strict=True)
    ]


def _mistakes(document: nodes.Document, tables: schema.Tables, validator: Any) -> Iterator[errors.Mistake]:
    for error in validator.iter_errors(document.data):
        yield from messages.of(document, tables, error)
    if isinstance(document.data, Mapping):
        yield from rules.broken(document, tables)


def _line(mistake: errors.Mistake) -> tuple[int, ...]:
    return tuple(int(part) for part in mistake.place.rsplit(":", 2)[1:])
