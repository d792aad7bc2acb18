"""YAML text -> plain data, and where each value stands.

The data is built from yaml's node graph, which carries the places that yaml's own constructors throw away. Only what an
editor that reads YAML 1.2 would also see is read: `yes`, `on`, `012`, `1:30` and dates are text. Anchors and aliases
work; merge keys (`<<`), tags of other types, keys that are not text and keys given twice are mistakes.
"""

from __future__ import annotations

import json
import math
import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from space_smoke import errors

Path = tuple[str | int, ...]

_LIMIT = 20_000  # values in one file, aliases written out: stops a file whose aliases multiply
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Document:
    """One file. `values` and `keys` map a path such as ("phases", 0, "name") to (line, column), both from 1; they are
    empty where the file could not be read."""

    path: str
    data: Any = None
    values: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    keys: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    mistakes: tuple[errors.Mistake, ...] = ()

    @property
    def area(self) -> str:
        """The folder that the file is in."""
        return pathlib.Path(self.path).absolute().parent.name

    @property
    def stem(self) -> str:
        return pathlib.Path(self.path).stem

    def at(self, *path: str | int) -> str:
        """path:line:column of a value; of what holds it where the value is not in the file (a default)."""
        while path and path not in self.values:
            path = path[:-1]
        return _place(self.path, self.values.get(path, (1, 1)))

    def at_key(self, *path: str | int) -> str:
        """path:line:column of the key that names a value."""
        return _place(self.path, self.keys[path]) if path in self.keys else self.at(*path)


class _Loader(yaml.SafeLoader):
    """SafeLoader without YAML 1.1's guesses. Only its composer is used."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - yaml fills the class's own table below


for _kind, _pattern, _first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?[0-9]+$", list("-+0123456789")),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", list("-+.0123456789")),
):
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(_pattern), _first)


def read(path: str, raw: bytes) -> Document:
    """The document of one file. What is wrong with it as YAML is in its `mistakes`; nothing is raised."""
    try:
        root = yaml.compose(raw.decode("utf-8-sig"), Loader=_Loader)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return _unreadable(path, (line, 1), f"byte 0x{raw[error.start]:02x} is not UTF-8: save the file as UTF-8")
    except yaml.reader.ReaderError as error:
        before_and_it = raw.decode("utf-8-sig")[: error.position + 1]
        before = before_and_it[:-1]
        place = (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
        return _unreadable(path, place, f"character U+{ord(before_and_it[-1]):04X} may not stand in YAML: take it out")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return _unreadable(path, place, _explained(error))
    except (RecursionError, yaml.YAMLError) as error:
        return _unreadable(path, (1, 1), f"the file cannot be read as YAML ({type(error).__name__})")
    if root is None:
        return _unreadable(path, (1, 1), "the file is empty: copy a scenario that exists and change it")
    builder = _Builder(path)
    try:
        data = builder.build(root, (), ())
    except _TooMuch as stop:
        return _unreadable(path, stop.spot, str(stop))
    return Document(path, data, builder.values, builder.keys, tuple(builder.mistakes))


class _TooMuch(Exception):
    """The aliases of a file multiply, or one holds itself."""

    def __init__(self, node: yaml.Node, message: str) -> None:
        super().__init__(message)
        self.spot = _spot(node)


@dataclass(slots=True)
class _Builder:
    path: str
    values: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    mistakes: list[errors.Mistake] = field(default_factory=list)

    def build(self, node: yaml.Node, path: Path, inside: tuple[int, ...]) -> Any:
        if id(node) in inside:
            raise _TooMuch(node, "an alias holds itself: write the value out")
        if len(self.values) >= _LIMIT:
            raise _TooMuch(
                node, f"the file has more than {_LIMIT} values with its aliases written out: make it smaller"
            )
        self.values[path] = _spot(node)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path, (*inside, id(node)))
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            inside = (*inside, id(node))
            return [self.build(item, (*path, index), inside) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path, inside: tuple[int, ...]) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != _TAG + "str":
                written = key.value if isinstance(key, yaml.ScalarNode) else "(not a scalar)"
                self._mistake(key, f"key {written} is not text: put it in quotes")
            elif key.value == "<<" and key.style is None:
                self._mistake(key, "'<<' merges are not read: write the keys out, or use an alias for the whole value")
            elif key.value in built:
                line = self.keys[(*path, key.value)][0]
                self._mistake(key, f"key {quoted(key.value)} is given twice, first on line {line}: keep one")
            else:
                self.keys[(*path, key.value)] = _spot(key)
                built[key.value] = self.build(value, (*path, key.value), inside)
        return built

    def _scalar(self, node: yaml.Node) -> Any:
        """Text, number, truth value or null. A scalar that cannot be read is a mistake and becomes its text."""
        kind = node.tag.removeprefix(_TAG)
        text = str(node.value)
        try:
            if isinstance(node, yaml.ScalarNode) and kind in _SCALARS:
                return _SCALARS[kind](text)
        except (ValueError, KeyError):
            self._mistake(node, f"{quoted(text)} cannot be read as {kind}: correct it, or put it in quotes")
            return text
        self._mistake(node, f"tag {node.tag.replace(_TAG, '!!')} is not read here: write plain values")
        return text

    def _mistake(self, node: yaml.Node, message: str) -> None:
        self.mistakes.append(errors.Mistake(_place(self.path, _spot(node)), message))


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_SCALARS: Mapping[str, Any] = {
    "str": str,
    "int": int,
    "float": _float,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "null": lambda _text: None,
}


def quoted(value: Any) -> str:
    """A value as it could be written in YAML, cut to fit a line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _spot(node: yaml.Node) -> tuple[int, int]:
    return (node.start_mark.line + 1, node.start_mark.column + 1)


def _place(path: str, spot: tuple[int, int]) -> str:
    return f"{path}:{spot[0]}:{spot[1]}"


def _unreadable(path: str, spot: tuple[int, int], message: str) -> Document:
    return Document(path, mistakes=(errors.Mistake(_place(path, spot), message),))


def _explained(error: yaml.MarkedYAMLError) -> str:
    """yaml's finding as one sentence. The tab gets its own, since yaml only says that it cannot start any token."""
    problem = error.problem or "cannot be read"
    if r"'\t'" in problem:
        return "a tab stands where YAML wants spaces: indent with spaces"
    if "single document" in (error.context or ""):
        return "a second document begins here: one file holds one scenario"
    context = f" ({error.context})" if error.context else ""
    return f"not YAML: {problem}{context}"
