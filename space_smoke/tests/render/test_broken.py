"""Every claim has been seen red: a chart with one planted fault fails the claim meant for it, says why, and fails no other."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.charts import render
from space_smoke.tests.render import claims, test_schema

VARIANTS = yaml.safe_load((pathlib.Path(__file__).parent / "broken" / "variants.yaml").read_text())


def planted(chart: str, edit: Mapping[str, Any], place: pathlib.Path) -> pathlib.Path:
    """A copy of `chart` below `place` with one edit. The text to replace must be there, or the fault was not planted."""
    folder = place / chart
    shutil.copytree(claims.CHARTS / chart, folder)
    file = folder / edit["file"]
    text = file.read_text()
    assert edit["replace"] in text, f"{edit['file']} no longer holds {edit['replace']!r}; plant the fault anew"
    file.write_text(text.replace(edit["replace"], edit["by"]))
    return folder


def judged(chart: str, folder: pathlib.Path, helm: render.Renderer) -> dict[str, list[str]]:
    """The claims that `folder` breaks, each with its sentences."""
    found: dict[str, list[str]] = {}
    for claim in claims.CLAIMS:
        if chart in claim.charts:
            for outcome in helm.render_all(claims.cases(claim, chart, folder)[-1:]):
                assert isinstance(outcome, render.Rendered), str(outcome)
                found.setdefault(claim.name, []).extend(claim.judge(outcome))
    return {name: sentences for name, sentences in found.items() if sentences}


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v['chart']}-{v['claim']}")
def test_a_planted_fault_fails_exactly_its_claim(
    variant: dict[str, Any], helm: render.Renderer, tmp_path: pathlib.Path
) -> None:
    found = judged(variant["chart"], planted(variant["chart"], variant, tmp_path), helm)
    assert found.keys() == {variant["claim"], *variant.get("also", [])}, found
    assert variant["says"] in "\n".join(found[variant["claim"]])


def test_every_claim_has_a_planted_fault() -> None:
    assert {claim.name for claim in claims.CLAIMS} == {variant["claim"] for variant in VARIANTS}
