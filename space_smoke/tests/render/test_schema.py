"""The values schemas, walked: every level refuses unknown keys, every leaf refuses a wrong type, every value has an effect."""

from __future__ import annotations

import functools
import json
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.charts import render
from space_smoke.tests.render import claims, judges

Path = tuple[str, ...]

# Values without effect on any render, with the reason.
WITHOUT_EFFECT = {
    ("global",): "Helm hands it to every chart of an umbrella; these charts read nothing from it",
    ("replicaCount",): "a site of the grid is one process, so that it can have one value only",
}
_STRAY = "noSuchKey"


def schema_of(folder: pathlib.Path) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((folder / "values.schema.json").read_text())
    return schema


@functools.cache
def _schema(chart: str) -> dict[str, Any]:
    return schema_of(claims.CHARTS / chart)


def walk(schema: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every property's path with its resolved schema, and the root's with the empty path."""

    def step(node: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
        if "$ref" in node:
            node = schema["definitions"][node["$ref"].rpartition("/")[2]]
        yield path, node
        for name, inner in node.get("properties", {}).items():
            yield from step(inner, (*path, name))

    yield from step(schema, ())


def levels(schema: dict[str, Any]) -> list[Path]:
    """The levels whose keys are the chart's own."""
    return [path for path, node in walk(schema) if "properties" in node]


def leaves(schema: dict[str, Any]) -> dict[Path, dict[str, Any]]:
    return {path: node for path, node in walk(schema) if "properties" not in node}


def nested(path: Path, value: Any) -> Any:
    return functools.reduce(lambda inner, name: {name: inner}, reversed(path), value)


def look_up(values: Any, path: Path) -> tuple[bool, Any]:
    for name in path:
        if not isinstance(values, Mapping) or name not in values:
            return False, None
        values = values[name]
    return True, values


def merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            both = isinstance(value, Mapping) and isinstance(total.get(key), Mapping)
            total[key] = merged([total[key], value]) if both else value
    return total


def said(chart: str, helm: render.Renderer, folder: pathlib.Path, overrides: Mapping[str, Any]) -> str:
    """What helm says to `overrides`; the schema's rules are all reported at once, so many can be tried in one go."""
    (outcome,) = helm.render_all([render.Case(folder, chart, overrides=overrides)])
    return outcome.output if isinstance(outcome, errors.CommandFailed) else ""


def at(path: Path) -> str:
    return f"at '{''.join('/' + name for name in path)}'"


def unknown_keys_accepted(chart: str, helm: render.Renderer, folder: pathlib.Path) -> list[Path]:
    """The levels at which helm does not refuse an unknown key by its place and name."""
    paths = levels(schema_of(folder))
    output = said(chart, helm, folder, merged(nested((*path, _STRAY), 1) for path in paths))
    return [path for path in paths if f"{at(path)}: additional properties '{_STRAY}' not allowed" not in output]


def wrong_types_accepted(chart: str, helm: render.Renderer, folder: pathlib.Path) -> list[Path]:
    """The leaves at which helm does not refuse a value of another type by its place and the rule."""
    found = leaves(schema_of(folder))
    output = said(chart, helm, folder, merged(nested(path, _wrong(node)) for path, node in found.items()))
    return [
        path for path in found if not re.search(re.escape(at(path)) + ": (got .+, want |value must be one of )", output)
    ]


def _wrong(node: Mapping[str, Any]) -> Any:
    kind = node.get("type", "string")
    return 7 if "string" in kind else "seven"


def nulls_left(chart: str, helm: render.Renderer, folder: pathlib.Path) -> list[str]:
    """What is wrong when values are taken away: required ones must be refused by name, others must leave no null."""
    found = []
    optional = []
    for path, node in walk(schema_of(folder)):
        required = node.get("required", [])
        output = said(chart, helm, folder, merged(nested((*path, name), None) for name in required))
        rules = "\n".join(line for line in output.splitlines() if f"{at(path)}: missing propert" in line)
        found += [f"{path}: {name} may be missing" for name in required if f"'{name}'" not in rules]
        optional += [(*path, name) for name in node.get("properties", {}) if name not in required and name != "global"]
    groups = [[path] for path in optional] + [optional]
    for group in groups:
        case = render.Case(folder, chart, overrides=merged(nested(path, None) for path in group))
        found += judges.nothing_is_null(helm.render(case))
    return found


def values_without_effect(
    chart: str, helm: render.Renderer, folder: pathlib.Path, asked: Iterable[Path] = ()
) -> list[Path]:
    """The leaves (all, or those `asked`) that no values file of `chart` sets, or whose return to the default changes no render."""
    defaults = yaml.safe_load((folder / "values.yaml").read_text())
    files = {path: yaml.safe_load(path.read_text()) for path in claims.values_files(chart).values()}
    effective: set[Path] = set(WITHOUT_EFFECT)
    wanted = list(asked) or list(leaves(schema_of(folder)))
    for leaf in wanted:
        for path, values in files.items():
            given, value = look_up(values, leaf)
            if (
                given
                and leaf not in effective
                and _changes(helm, folder, chart, path, leaf, value, look_up(defaults, leaf))
            ):
                effective.add(leaf)
    return [leaf for leaf in wanted if leaf not in effective]


def _changes(
    helm: render.Renderer,
    folder: pathlib.Path,
    chart: str,
    path: Any,
    leaf: Path,
    value: Any,
    default: tuple[bool, Any],
) -> bool:
    standing = default[1]
    if isinstance(value, Mapping) and isinstance(standing, Mapping):
        # Helm merges maps: keys that only the file has must be taken away by name.
        standing = {**dict.fromkeys(value, None), **standing}
    without = render.Case(folder, chart, values=(path,), overrides=nested(leaf, standing))
    outcomes = helm.render_all([render.Case(folder, chart, values=(path,)), without])
    texts = [outcome.text if isinstance(outcome, render.Rendered) else "refused" for outcome in outcomes]
    return texts[0] != texts[1]


@pytest.mark.parametrize("chart", claims.EVERY)
def test_unknown_keys_are_refused_at_every_level_of_the_chart(chart: str, helm: render.Renderer) -> None:
    assert len(levels(_schema(chart))) >= 2
    assert unknown_keys_accepted(chart, helm, claims.CHARTS / chart) == []


@pytest.mark.parametrize("chart", claims.ALL)
def test_a_wrong_type_is_refused_at_every_leaf(chart: str, helm: render.Renderer) -> None:
    assert wrong_types_accepted(chart, helm, claims.CHARTS / chart) == []


@pytest.mark.parametrize("chart", claims.ALL)
def test_every_value_of_the_schema_shows_in_a_render(chart: str, helm: render.Renderer) -> None:
    assert values_without_effect(chart, helm, claims.CHARTS / chart) == []


@pytest.mark.parametrize("chart", claims.ALL)
def test_blocks_for_kubernetes_take_any_key(chart: str, helm: render.Renderer) -> None:
    blocks = ("resources", "podSecurityContext", "securityContext", "nodeSelectorExtras", "global")
    overrides = {name: {"anything": "goes"} for name in blocks}
    assert helm.render(render.Case(claims.CHARTS / chart, chart, overrides=overrides)).text.count("anything: goes") >= 4


@pytest.mark.parametrize("chart", claims.ALL)
def test_a_value_taken_away_leaves_no_null_or_is_refused_by_its_name(chart: str, helm: render.Renderer) -> None:
    assert nulls_left(chart, helm, claims.CHARTS / chart) == []


def test_definitions_of_the_same_name_agree_among_the_charts() -> None:
    texts: dict[str, set[str]] = {}
    for chart in claims.EVERY:
        for name, definition in _schema(chart).get("definitions", {}).items():
            texts.setdefault(name, set()).add(json.dumps(definition))
    assert {name for name, found in texts.items() if len(found) > 1} == set()
