"""Values of a chart by their paths, and what a change of them did to an object. Pure.

An absent value is recorded as the first part of its path that is not there, so that taking it away again leaves no empty
maps where there were none.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubernetes.utils import quantity

from space_smoke.model import objects

Paths = Mapping[str, Sequence[str]]
_QUANTITY: Any = quantity.parse_quantity  # the client ships no annotations for it


def read(config: Mapping[str, Any], paths: Paths) -> dict[str, Any]:
    """{name: {"value": anything} | {"absent": [keys, up to the first that is not there]}}. Raises ValueError, naming it,
    for a path that leads through something that is not a map."""
    return {name: _at(config, name, path) for name, path in paths.items()}


def _at(config: Mapping[str, Any], name: str, path: Sequence[str]) -> dict[str, Any]:
    here: Any = config
    for depth, key in enumerate(path):
        if not isinstance(here, Mapping):
            raise ValueError(f"{name}: {'.'.join(path[:depth])} is {here!r}, not a map")
        if key not in here:
            return {"absent": list(path[: depth + 1])}
        here = here[key]
    return {"value": here}


def written(config: Mapping[str, Any], paths: Paths, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The values with those of `wanted` in their places; all others as they were."""
    changed = copy.deepcopy(dict(config))
    for name, change in sorted(wanted.items()):
        if "value" in change:
            _put(changed, paths[name], change["value"])
        else:
            _take(changed, paths[name], len(change["absent"]))
    return changed


def _put(config: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for key in path[:-1]:
        config = config.setdefault(key, {})
    config[path[-1]] = copy.deepcopy(value)


def _take(config: dict[str, Any], path: Sequence[str], shortest: int) -> None:
    """Removes the value, and the maps above it that are empty then, up to the one that was not there."""
    chain = [config]
    for key in path[:-1]:
        inner = chain[-1].get(key)
        if not isinstance(inner, dict):
            return
        chain.append(inner)
    chain[-1].pop(path[-1], None)
    for depth in range(len(path) - 1, shortest - 1, -1):
        if not chain[depth]:
            chain[depth - 1].pop(path[depth - 1], None)


def difference(before: objects.Object, after: objects.Object) -> dict[tuple[str, ...], tuple[Any, Any]]:
    """The scalars of two objects' specs that differ: {path: (before, after)}, None for one that is not there. Entries of
    lists go by their name, where all have one."""
    old, new = (dict(_flat(thing.get("spec") or {}, ())) for thing in (before, after))
    return {path: (old.get(path), new.get(path)) for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def lacking(live: objects.Object, changes: Mapping[tuple[str, ...], tuple[Any, Any]]) -> list[str]:
    """Which of these changes the live object does not show, as dotted paths; one that was taken away may hold the API
    server's default, but not what it was."""
    there = dict(_flat(live.get("spec") or {}, ()))
    return sorted(
        ".".join(path)
        for path, (old, new) in changes.items()
        if (_same(there.get(path), old) if new is None else not _same(there.get(path), new))
    )


def _flat(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, (*path, str(key)))
    elif isinstance(value, list) and value:
        named = all(isinstance(entry, Mapping) and "name" in entry for entry in value)
        for index, entry in enumerate(value):
            yield from _flat(entry, (*path, f"[{entry['name'] if named else index}]"))
    elif value is not None:
        yield path, value


def _same(one: Any, other: Any) -> bool:
    """Quantities are stored in another spelling than they are written: 0.5 is kept as 500m."""
    if one == other:
        return True
    try:
        return bool(_QUANTITY(str(one)) == _QUANTITY(str(other)))
    except ValueError:
        return False
