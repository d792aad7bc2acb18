"""Calls a function only with arguments that its signature has, and of the types that it says: Tilt does so too."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_SIMPLE = re.compile(r"[A-Za-z][A-Za-z0-9/_.-]*")


class Refused(Exception):
    """Tilt would end here with this message."""


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, refusing arguments that its signature does not have or whose type is another."""
    signature, kinds = inspect.signature(function), typing.get_type_hints(function)

    def call(*positional: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*positional, **named)
        except TypeError as wrong:
            raise Refused(f"{function.__name__}: {wrong}") from None
        for name, value in bound.arguments.items():
            if not _fits(value, kinds[name]):
                raise Refused(f"{function.__name__}: {name} is {value!r}, and Tilt takes {kinds[name]}")
        return function(*bound.args, **bound.kwargs)

    return call


def _fits(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is list:
        return isinstance(value, list) and all(_fits(one, inner[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(one, inner[1]) for one in value.values())
    if kind in (None, type(None)):
        return value is None
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def overrides(sets: list[str]) -> dict[str, Any]:
    """`--set` for the simple texts that need no rule of its own: a.b=text."""
    pairs = [one.partition("=")[::2] for one in sets]
    for path, value in pairs:
        if not _SIMPLE.fullmatch(value) or value in ("true", "false", "null"):
            raise Refused(f"--set {path}: helm would not read {value!r} as a plain text")
    return nested(dict(pairs))


def nested(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """`{"a.b": 1}` as `{"a": {"b": 1}}`."""
    made: dict[str, Any] = {}
    for path, value in pairs.items():
        at = made
        *outer, last = path.split(".")
        for key in outer:
            at = at.setdefault(key, {})
        at[last] = value
    return made


def check_labels(labels: str | list[str]) -> None:
    for label in [labels] if isinstance(labels, str) else labels:
        if not _LABEL.fullmatch(label):
            raise Refused(f"{label!r} is no label")
