"""`helm-values`: a release is upgraded to other values, as by somebody's `helm upgrade`. Putting back is an upgrade to the values
that were there. The target is the Deployment of the release that must change by it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

# Helm writes these on everything it installs; a label alone is only a convention of charts.
_RELEASE = "meta.helm.sh/release-name"
_NAMESPACE = "meta.helm.sh/release-namespace"
_DOTS = re.compile(r"(?<!\\)\.")

SCHEMA: kinds.Schema = {
    "type": "object",
    "required": ["values"],
    "additionalProperties": False,
    "properties": {
        "values": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": True,
            "description": "values of the chart while the fault is up, nested or with dots in the key (`a.b: 1`); a list "
            "replaces the whole list, a dot of a key's own is written `\\.`",
        },
    },
}


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """{"release", "namespace", "paths": {name: [key, ...]}, "wanted": the fault value}; Unfit for what no release installed.

    `wanted` is in the address because what a dead run left is judged by it: an upgrade that was begun and not finished is
    neither the one nor the other. Sensing adds `revision` and `standing`.
    """
    notes = objects.annotations_of(target)
    ref = objects.ref_of(target)
    if _RELEASE not in notes:
        raise kinds.Unfit(f"{ref} belongs to no Helm release: it has no annotation {_RELEASE}")
    leaves = dict(_leaves(arguments["values"], ()))
    for path in leaves:
        inside = next((other for other in leaves if other != path and other[: len(path)] == path), None)
        if inside:
            raise kinds.Unfit(f"{_name(path)} and {_name(inside)} set the same value twice")
    return {
        "release": notes[_RELEASE],
        "namespace": notes.get(_NAMESPACE, ref.namespace),
        "paths": {_name(path): list(path) for path in sorted(leaves)},
        "wanted": {"values": {_name(path): {"value": value} for path, value in leaves.items()}},
    }


def wanted(_arguments: scenario.Arguments, field: Mapping[str, Any]) -> objects.Json:
    """{"values": {name: {"value": anything} | {"absent": [keys, up to the first that is not there]}}}."""
    return field["wanted"]


def describe(value: objects.Json) -> str:
    if not isinstance(value, Mapping) or "values" not in value:
        return "values not known"
    return (
        ", ".join(f"{name}={_shown(change)}" for name, change in sorted(value["values"].items())) or "no such release"
    )


def _shown(change: Mapping[str, Any]) -> str:
    return repr(change["value"]) if "value" in change else "(the chart's own)"


def _leaves(values: Mapping[str, Any], before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in values.items():
        path = (*before, *(part.replace("\\.", ".") for part in _DOTS.split(str(key))))
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, path)
        else:
            yield path, value


def _name(path: tuple[str, ...]) -> str:
    return ".".join(part.replace(".", "\\.") for part in path)


KIND = kinds.beyond(
    name="helm-values",
    summary="a Helm release is upgraded to other values",
    domain="public-api-mutation",
    targets=("deployment",),
    schema=SCHEMA,
    address=address,
    wanted=wanted,
    describe=describe,
    takes_s=60.0,  # a second on an idle machine
)
