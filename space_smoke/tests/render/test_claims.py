"""Each claim of the table holds for each chart, and helm refuses what the charts refuse."""

from __future__ import annotations

import pathlib
import re
import shutil

import pytest

from space_smoke import errors
from space_smoke.bench import proc
from space_smoke.charts import render
from space_smoke.tests.render import claims, refusals

HELD = [pytest.param(claim, chart, id=f"{chart}-{claim.name}") for claim in claims.CLAIMS for chart in claim.charts]


def differences(old: render.Rendered, new: render.Rendered) -> list[str]:
    """The objects that are not the same in both renders; their order does not matter."""
    before, after = ({str(item): item.body for item in rendered.objects} for rendered in (old, new))
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def restarts(old: render.Rendered, new: render.Rendered) -> list[str]:
    """The workloads whose pods would restart, or whose upgrade the API server would refuse, from `old` to `new`."""
    fixed = ("selector", "serviceName", "volumeClaimTemplates", "template")
    found = []
    for item in old.objects:
        if item.kind in ("Deployment", "StatefulSet"):
            before, after = item.body["spec"], new.one(item.kind, item.name)["spec"]
            found += [f"{item}: {name}" for name in fixed if before.get(name) != after.get(name)]
    return found


def lint(program: pathlib.Path, case: render.Case) -> proc.Done:
    argv = [str(program), "lint", "--strict", str(case.chart)]
    for path in case.values:
        argv += ["--values", str(path)]
    return proc.run(argv, timeout_s=30, check=False)


REFUSED = [
    pytest.param(refusal, chart, id=f"{chart}-{refusal.name.replace(' ', '_')}")
    for refusal in refusals.REFUSALS
    for chart in refusal.charts
]


@pytest.mark.parametrize(("claim", "chart"), HELD)
def test_the_chart_keeps_its_claim(claim: claims.Claim, chart: str, helm: render.Renderer) -> None:
    for case in claims.cases(claim, chart):
        assert list(claim.judge(helm.render(case))) == [], str(case)


@pytest.mark.parametrize(("refusal", "chart"), REFUSED)
def test_helm_refuses_the_values_and_names_place_and_rule(
    refusal: refusals.Refusal, chart: str, helm: render.Renderer
) -> None:
    case = claims.cases(claims.Claim(claims.nothing, overrides=refusal.overrides), chart)[0]
    with pytest.raises(errors.CommandFailed) as refused:
        helm.render(case)
    assert refusal.heard_in(refused.value.output), refused.value.output


def test_two_renders_are_equal(helm: render.Renderer) -> None:
    for chart in claims.EVERY:
        (case,) = claims.cases(claims.Claim(claims.nothing, values=("everything",)), chart)
        assert helm.render(case).text == helm.render(case, fresh=True).text


def test_helm_3_and_helm_4_render_the_same_objects(helm: render.Renderer, helm4: render.Renderer) -> None:
    assert (helm.version[:2], helm4.version[:2]) == ("v3", "v4")
    for chart in claims.EVERY:
        for case in claims.cases(claims.Claim(claims.nothing), chart):
            assert differences(helm.render(case), helm4.render(case)) == []


@pytest.mark.parametrize("chart", claims.EVERY)
def test_lint_finds_nothing(chart: str, helm_program: pathlib.Path) -> None:
    for case in claims.cases(claims.Claim(claims.nothing, values=("everything", "minimal")), chart):
        assert lint(helm_program, case).returncode == 0, str(case)


@pytest.mark.parametrize("chart", claims.ALL)
def test_a_new_chart_version_restarts_no_pod_and_changes_nothing_immutable(
    chart: str, helm: render.Renderer, tmp_path: pathlib.Path
) -> None:
    newer = tmp_path / chart
    shutil.copytree(claims.CHARTS / chart, newer)
    file = newer / "Chart.yaml"
    file.write_text(re.sub(r"(?m)^(version|appVersion):.*$", r"\1: 9.9.9", file.read_text()))
    for old, new in zip(
        *(claims.cases(claims.Claim(claims.nothing), chart, place) for place in (None, newer)), strict=True
    ):
        assert "-9.9.9" in helm.render(new).text
        assert restarts(helm.render(old), helm.render(new)) == []
