"""RFC 6902 on immutable-by-agreement JSON: nothing is changed in place, so old and new objects share what is equal.

Only the operations that the harness sends are known. Failing ones answer as the API server does: 422 for all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

Json = Any


class Failed(Exception):
    """An operation could not be carried out, a failed `test` included."""


def apply(document: Json, operations: Iterable[Mapping[str, Any]]) -> Json:
    """The document after all operations, or Failed with nothing changed."""
    for operation in operations:
        kind, keys = operation["op"], split(operation["path"])
        if kind == "test":
            found = _walk(document, keys)
            if not same(found, operation["value"]):
                raise Failed(f"test of {operation['path']}: found {str(found)[:80]!r}")
        elif kind in ("add", "remove"):
            document = _edit(document, keys, 0, kind, operation.get("value"))
        else:
            raise Failed(f"operation {kind!r} is not known here")
    return document


@functools.lru_cache(maxsize=4096)
def split(pointer: str) -> tuple[str, ...]:
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def same(left: Json, right: Json) -> bool:
    """JSON equality: true is not 1."""
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _walk(node: Json, keys: tuple[str, ...]) -> Json:
    for key in keys:
        try:
            node = node[int(key)] if isinstance(node, list) else node[key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise Failed(f"there is no {'/'.join(keys)}") from None
    return node


def _edit(node: Json, keys: tuple[str, ...], depth: int, kind: str, value: Json) -> Json:
    key, last = keys[depth], depth == len(keys) - 1
    if isinstance(node, dict):
        copy = dict(node)
        if not last or kind == "remove":
            if key not in node:
                raise Failed(f"there is no {'/'.join(keys[: depth + 1])}")
            if last:
                del copy[key]
                return copy
        copy[key] = value if last else _edit(node[key], keys, depth + 1, kind, value)
        return copy
    if isinstance(node, list):
        place = len(node) if key == "-" and last and kind == "add" else _index(key)
        if place > len(node) or (place == len(node) and not (last and kind == "add")):
            raise Failed(f"there is no {'/'.join(keys[: depth + 1])}")
        items = list(node)
        if not last:
            items[place] = _edit(node[place], keys, depth + 1, kind, value)
        elif kind == "add":
            items.insert(place, value)
        else:
            del items[place]
        return items
    raise Failed(f"{'/'.join(keys[:depth])} is neither a map nor a list")


def _index(key: str) -> int:
    if not key.isdecimal():
        raise Failed(f"{key!r} is not an index")
    return int(key)
