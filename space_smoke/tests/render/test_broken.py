"""Every claim has been seen red: a chart with one planted fault fails the claim meant for it, says why, and fails no other."""

from __future__ import annotations

import json
import pathlib
import shutil
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.charts import render
from space_smoke.tests.render import claims, judges, refusals, test_claims, test_schema, test_together

_BROKEN = pathlib.Path(__file__).parent / "broken"
VARIANTS = [variant for path in sorted(_BROKEN.glob("*.yaml")) for variant in yaml.safe_load(path.read_text())]


def planted(chart: str, edit: Mapping[str, Any], place: pathlib.Path) -> pathlib.Path:
    """A copy of `chart` below `place` with one edit, in each file of that pattern. The text must be there, or the fault was not planted."""
    folder = _copy(chart, place)
    files = list(folder.glob(edit["file"]))
    for file in files:
        text = file.read_text()
        assert edit["replace"] in text, f"{edit['file']} no longer holds {edit['replace']!r}; plant the fault anew"
        file.write_text(text.replace(edit["replace"], edit["by"]))
    assert files, f"{edit['file']} is no longer there; plant the fault anew"
    return folder


def judged(chart: str, folder: pathlib.Path, helm: render.Renderer) -> dict[str, list[str]]:
    """The claims that `folder` breaks, each with its sentences; each claim is judged with the last of its values."""
    asked = [claim for claim in claims.CLAIMS if chart in claim.charts]
    found: dict[str, list[str]] = {}
    outcomes = helm.render_all(claims.cases(claim, chart, folder)[-1] for claim in asked)
    for claim, outcome in zip(asked, outcomes, strict=True):
        assert isinstance(outcome, render.Rendered), str(outcome)
        try:
            sentences = list(claim.judge(outcome))
        except KeyError as missing:
            sentences = [str(missing)]
        if sentences:
            found[claim.name] = sentences
    return found


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v['chart']}-{v['claim']}")
def test_a_planted_fault_fails_exactly_its_claim(
    variant: dict[str, Any], helm: render.Renderer, tmp_path: pathlib.Path
) -> None:
    found = judged(variant["chart"], planted(variant["chart"], variant, tmp_path), helm)
    assert found.keys() == {variant["claim"], *variant.get("also", [])}, found
    assert variant["says"] in "\n".join(found[variant["claim"]])


def test_every_claim_has_a_planted_fault() -> None:
    assert {claim.name for claim in claims.CLAIMS} == {variant["claim"] for variant in VARIANTS}


@pytest.mark.parametrize("chart", claims.EVERY)
def test_a_level_that_is_left_open_is_found(chart: str, helm: render.Renderer, tmp_path: pathlib.Path) -> None:
    schema = test_schema.schema_of(claims.CHARTS / chart)
    levels = dict(test_schema.walk(schema))
    opened = test_schema.levels(schema)[::2]  # every other one, so that open and closed ones stand side by side
    for path in opened:
        levels[path]["additionalProperties"] = True
    folder = _copy(chart, tmp_path, schema)
    assert test_schema.unknown_keys_accepted(chart, helm, folder) == opened


def test_a_hook_that_needs_what_its_release_makes_is_found(helm: render.Renderer, tmp_path: pathlib.Path) -> None:
    edit = {
        "file": "templates/service.yaml",
        "replace": "apiVersion: v1\nkind: Service\n",
        "by": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: postgres-ca}\n---\napiVersion: v1\nkind: Service\n",
    }
    rendered = helm.render(render.Case(planted("space-api", edit, tmp_path), "space-api"))
    found = list(judges.hooks_need_nothing_of_the_release(rendered))
    assert [sentence.partition(": ")[2] for sentence in found] == [
        "runs before ConfigMap/postgres-ca of the same release exists"
    ]


@pytest.mark.parametrize("chart", claims.ALL)
def test_a_leaf_without_a_type_is_found(chart: str, helm: render.Renderer, tmp_path: pathlib.Path) -> None:
    schema = test_schema.schema_of(claims.CHARTS / chart)
    leaves = test_schema.leaves(schema)
    for node in leaves.values():
        node.clear()
    folder = _copy(chart, tmp_path, schema)
    assert test_schema.wrong_types_accepted(chart, helm, folder) == list(leaves)


@pytest.mark.parametrize(
    ("chart", "file", "replace", "by", "leaf"),
    [
        ("space-redis", "templates/deployment.yaml", ".Values.maxmemory", '"64mb"', ("maxmemory",)),
        ("postgres", "templates/statefulset.yaml", ".Values.persistence.size", '"1Gi"', ("persistence", "size")),
        ("space-api", "templates/migrate.yaml", "{{ .Values.migrate.backoffLimit }}", "1", ("migrate", "backoffLimit")),
    ],
)
def test_a_value_without_effect_is_found(
    chart: str, file: str, replace: str, by: str, leaf: tuple[str, ...], helm: render.Renderer, tmp_path: pathlib.Path
) -> None:
    folder = planted(chart, {"file": file, "replace": replace, "by": by}, tmp_path)
    assert test_schema.values_without_effect(chart, helm, folder, [leaf, ("image", "tag")]) == [leaf]


def test_a_value_whose_removal_leaves_a_null_is_found(helm: render.Renderer, tmp_path: pathlib.Path) -> None:
    edit = {
        "file": "templates/service.yaml",
        "replace": "type: ClusterIP",
        "by": "type: {{ .Values.nodeSelectorExtras }}",
    }
    folder = planted("space-redis", edit, tmp_path)
    found = test_schema.nulls_left("space-redis", helm, folder)
    assert found
    assert set(found) == {"Service/space-redis (templates/service.yaml).spec.type is null"}


def test_an_installer_that_changes_what_it_installs_is_found(helm: render.Renderer, tmp_path: pathlib.Path) -> None:
    edit = {
        "file": "charts/*/templates/_sandbox.tpl",
        "replace": "{{- with .Values.sandbox }}",
        "by": '{{- with ternary .Values.sandbox (dict "image" "other:1" "nodeGroup" "sandbox") .Chart.IsRoot }}',
    }
    folder = planted(claims.INSTALLER, edit, tmp_path)
    assert test_together.unlike_its_own("space-api", folder, helm) == [
        "Deployment/space-api (templates/deployment.yaml)"
    ]


def test_a_chart_copied_into_the_installer_is_found(tmp_path: pathlib.Path) -> None:
    folder = _copy(claims.INSTALLER, tmp_path)
    assert test_together.links(folder) != {chart: claims.CHARTS / chart for chart in claims.SERVICES}


@pytest.mark.parametrize("refusal", refusals.REFUSALS, ids=lambda refusal: refusal.name.replace(" ", "_"))
def test_a_chart_without_its_rules_refuses_nothing_by_name(
    refusal: refusals.Refusal, helm: render.Renderer, tmp_path: pathlib.Path
) -> None:
    chart = refusal.charts[0]
    folder = _copy(chart, tmp_path, {})
    for file in folder.rglob("values.schema.json"):
        file.write_text("{}")
    for file in folder.rglob("templates/*"):
        if file.is_file():
            file.write_text(file.read_text().replace("{{- fail (", "{{- $_ := print ("))
    case = claims.cases(claims.Claim(claims.nothing, overrides=refusal.overrides), chart, folder)[0]
    (outcome,) = helm.render_all([case])
    assert not (isinstance(outcome, errors.CommandFailed) and refusal.heard_in(outcome.output))


def test_a_random_value_makes_two_renders_differ(helm: render.Renderer, tmp_path: pathlib.Path) -> None:
    edit = {"file": "templates/service.yaml", "replace": "name: redis", "by": "name: {{ randAlphaNum 9 | lower }}"}
    folder = planted("space-redis", edit, tmp_path)
    case = render.Case(folder, "space-redis")
    assert helm.render(case).text != helm.render(case, fresh=True).text


def test_a_template_that_asks_for_helms_version_renders_differently(
    helm: render.Renderer, helm4: render.Renderer, tmp_path: pathlib.Path
) -> None:
    version = "name: {{ .Capabilities.HelmVersion.Version | lower }}"
    folder = planted(
        "space-redis", {"file": "templates/service.yaml", "replace": "name: redis", "by": version}, tmp_path
    )
    case = render.Case(folder, "space-redis")
    found = test_claims.differences(helm.render(case), helm4.render(case))
    assert found == ["Service/space-redis (templates/service.yaml)"]


def test_pods_labelled_with_the_chart_version_would_restart(helm: render.Renderer, tmp_path: pathlib.Path) -> None:
    component = "app.kubernetes.io/component: {{ index . 1 }}"
    edit = {
        "file": "templates/_space.tpl",
        "replace": component,
        "by": component + "\nv: {{ $root.Chart.Version | quote }}",
    }
    old, new = planted("postgres", edit, tmp_path / "old"), planted("postgres", edit, tmp_path / "new")
    (new / "Chart.yaml").write_text((new / "Chart.yaml").read_text().replace("version: 0.1.0", "version: 0.1.1"))
    found = test_claims.restarts(*(helm.render(render.Case(place, "postgres")) for place in (old, new)))
    assert [sentence.rpartition(": ")[2] for sentence in found] == ["selector", "volumeClaimTemplates", "template"]


def test_lint_finds_a_chart_without_a_version(helm_program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = planted("space-redis", {"file": "Chart.yaml", "replace": "version: 0.1.0\n", "by": ""}, tmp_path)
    done = test_claims.lint(helm_program, render.Case(folder, "space-redis"))
    assert (done.returncode, "version is required" in done.stdout + done.stderr) == (1, True)


def _copy(chart: str, place: pathlib.Path, schema: Mapping[str, Any] | None = None) -> pathlib.Path:
    folder = place / chart
    shutil.copytree(claims.CHARTS / chart, folder)
    if schema is not None:
        (folder / "values.schema.json").write_text(json.dumps(schema))
    return folder
