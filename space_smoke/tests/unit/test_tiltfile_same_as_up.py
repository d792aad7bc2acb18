"""Tilt brings up what `up` brings up: one list, one order, the same objects. A difference on either side is found."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from space_smoke.bench import cache, releases
from space_smoke.charts import render
from space_smoke.tests.unit import tiltfile_compare, tiltfile_host

TILTFILE = (cache.PROJECT / "Tiltfile").read_text()
Planned = list[list[releases.Planned]]


@pytest.fixture(scope="module")
def helm() -> render.Renderer:
    return tiltfile_compare.renderer()


def test_tilt_and_up_install_the_same_releases_with_the_same_values_in_the_same_order(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    assert tiltfile_compare.differences(loaded, cache.PROJECT, releases.stages(), helm) == []


def test_an_optional_release_comes_where_it_is_asked_for_and_others_are_told_of_it(
    helm: render.Renderer, other_project: Path
) -> None:
    (other_project / "tilt-settings.yaml").write_text("with: [telemetry]")
    loaded = tiltfile_host.load(TILTFILE, other_project, helm)
    listed = other_project / "charts" / "releases.yaml"
    assert (
        tiltfile_compare.differences(loaded, other_project, releases.stages(listed, extras={"telemetry"}), helm) == []
    )
    assert len(tiltfile_compare.differences(loaded, other_project, releases.stages(listed), helm)) > 5
    assert "space-smoke/telemetry" in {one["ref"] for one in loaded.calls.custom_build}


def test_a_grid_comes_where_it_is_asked_for_in_its_namespaces_with_its_definitions_once(
    helm: render.Renderer, other_project: Path
) -> None:
    (other_project / "tilt-settings.yaml").write_text("with: [grid]")
    loaded = tiltfile_host.load(TILTFILE, other_project, helm)
    stages = releases.stages(other_project / "charts" / "releases.yaml", extras={"grid"})
    assert tiltfile_compare.differences(loaded, other_project, stages, helm) == []
    assert {f"namespace-grid-{site}" for site in "abc"} <= set(loaded.resources)
    kinds = [thing["kind"] for thing in loaded.calls.entities]
    assert (kinds.count("CustomResourceDefinition"), kinds.count("GridNetwork")) == (3, 3)


def test_tilt_makes_the_namespaces_of_the_releases_and_no_other(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    made = {thing["metadata"]["name"] for thing in loaded.calls.entities if thing["kind"] == "Namespace"}
    assert made == {planned.namespace for stage in releases.stages() for planned in stage}


def test_the_list_has_no_key_that_the_tiltfile_does_not_know(helm: render.Renderer) -> None:
    assert tiltfile_host.load(TILTFILE, cache.PROJECT, helm).calls.warnings == []


PLANTED_IN_TILT = {
    "values left out": ("values=the.values,", "values=[],", "values is"),
    "another namespace": ("namespace=the.namespace,", 'namespace="elsewhere",', "namespace is"),
    "another Kubernetes": ('read_yaml("kind/versions.yaml")["kubernetes"]', '"v1.20.0"', "version of Kubernetes is"),
    "another tag": ('TAG = "tilt"', 'TAG = "other"', "sets is"),
    "no release but the first": ("[planned(entry) for entry in stage]", "[planned(entry) for entry in stage[:1]]", "Tilt renders"),
    "stages at once": ("    before = ends\n", '    before = ["namespace-space"]\n', "does not wait for"),
    "releases of a stage one after the other": ("bring_up(the, label_of(number), before,", "bring_up(the, label_of(number), ends or before,", "of its own stage"),
    "hooks beside their release": ("            deps = group(", "            _ = group(", "does not wait for its hooks"),
    "hooks left out": ('return "before" if "pre-install" in hooks', 'return "never" if "pre-install" in hooks', "is only in up"),
    "stages backwards": ("for stage in wanted if stage]", "for stage in reversed(wanted) if stage]", "Tilt renders"),
}  # fmt: skip


@pytest.mark.parametrize("what", PLANTED_IN_TILT)
def test_a_difference_planted_in_the_tiltfile_is_found(helm: render.Renderer, what: str) -> None:
    old, new, told = PLANTED_IN_TILT[what]
    assert TILTFILE.count(old) == 1
    loaded = tiltfile_host.load(TILTFILE.replace(old, new), cache.PROJECT, helm)
    found = tiltfile_compare.differences(loaded, cache.PROJECT, releases.stages(), helm)
    assert any(told in one for one in found), found


def _change(stages: Planned, **fields: object) -> Planned:
    last = dataclasses.replace(stages[-1][-1], **fields)  # type: ignore[arg-type]
    return [*stages[:-1], [*stages[-1][:-1], last]]


PLANTED_IN_UP: dict[str, tuple[Callable[[Planned], Planned], str]] = {
    "values left out": (lambda stages: _change(stages, values=()), "values is"),
    "another namespace": (lambda stages: _change(stages, namespace="elsewhere"), "namespace is"),
    "another image": (lambda stages: _change(stages, image="redis"), "sets is"),
    "another name": (lambda stages: _change(stages, release="renamed"), "Tilt renders"),
    "a release fewer": (lambda stages: [*stages[:-1], stages[-1][:-1]], "Tilt renders"),
    "a release more": (lambda stages: [*stages, [dataclasses.replace(stages[0][0], release="second")]], "only in up"),
    "stages the other way round": (lambda stages: stages[::-1], "does not wait for"),
    "one stage instead of several": (lambda stages: [[one for stage in stages for one in stage]], "of its own stage"),
}


@pytest.mark.parametrize("what", PLANTED_IN_UP)
def test_a_difference_planted_in_what_up_installs_is_found(helm: render.Renderer, what: str) -> None:
    change, told = PLANTED_IN_UP[what]
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    found = tiltfile_compare.differences(loaded, cache.PROJECT, change(releases.stages()), helm)
    assert any(told in one for one in found), found


@pytest.fixture
def other_project(tmp_path: Path) -> Path:
    """A project whose charts may be changed; all else is the real one."""
    shutil.copytree(cache.PROJECT / "charts", tmp_path / "charts")
    for name in ("kind", "services", "scenarios"):
        (tmp_path / name).symlink_to(cache.PROJECT / name)
    return tmp_path


def test_a_template_that_differs_is_found_object_by_object(helm: render.Renderer, other_project: Path) -> None:
    template = other_project / "charts" / "space-redis" / "templates" / "service.yaml"
    template.write_text(template.read_text().replace("port: 6379", "port: 6380"))
    loaded = tiltfile_host.load(TILTFILE, other_project, helm)
    found = tiltfile_compare.differences(loaded, other_project, releases.stages(), helm)
    assert "space-redis:service:space: .spec.ports[0].port is 6380 in Tilt and 6379 in up" in found
    same = releases.stages(other_project / "charts" / "releases.yaml")
    assert tiltfile_compare.differences(loaded, other_project, same, helm) == []


def test_a_release_added_to_the_list_is_brought_up_by_both(helm: render.Renderer, other_project: Path) -> None:
    listed = other_project / "charts" / "releases.yaml"
    added = "  - - {release: second-redis, chart: space-redis, namespace: annex, image: redis, values: [], certificates: x}\n"
    listed.write_text(listed.read_text().rstrip() + "\n" + added)
    loaded = tiltfile_host.load(TILTFILE, other_project, helm)
    assert tiltfile_compare.differences(loaded, other_project, releases.stages(listed), helm) == []
    assert loaded.resources["second-redis"].given["forwards"][0].given == {"local": 18080, "container": 6379}
    assert "namespace-annex" in loaded.before("second-redis")
    assert ["certificates" in one for one in loaded.calls.warnings] == [True]


POD = {"containers": [{"name": "main", "image": "space-smoke/redis:tilt", "ports": [{"containerPort": 7000}]}]}


def _thing(kind: str, name: str, hook: str = "", weight: str = "", **body: Any) -> dict[str, Any]:
    hooks = {"helm.sh/hook": hook, "helm.sh/hook-weight": weight}
    metadata = {"name": name, "annotations": {key: value for key, value in hooks.items() if value}}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **body}


def _workload(kind: str, name: str, hook: str = "", weight: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"template": {"metadata": {"labels": {"is": name}}, "spec": POD}}
    spec = POD if kind == "Pod" else {"jobTemplate": {"spec": spec}} if kind == "CronJob" else spec
    return _thing(kind, name, hook, weight, spec=spec)


def test_a_chart_with_hooks_of_every_kind_and_several_workloads_is_brought_up_in_helms_order(
    helm: render.Renderer, other_project: Path
) -> None:
    chart = other_project / "charts" / "odd"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: odd, version: 1.0.0}")
    (chart / "values.yaml").write_text("{image: {repository: space-smoke/redis, tag: dev}}")
    things = [
        _workload("Job", "late", "post-install"),
        _workload("Job", "second", "pre-install, pre-upgrade", "5"),
        _workload("Job", "first", "pre-install", "-5"),
        _thing("Secret", "early", "pre-install", "-5"),
        _thing("ConfigMap", "settings"),
        _workload("Deployment", "one"),
        _workload("CronJob", "two"),
        _workload("Pod", "three"),
        _thing("Service", "one", spec={"selector": {"is": "one"}}),
        _thing("Service", "stray", spec={"selector": {"is": "nothing"}}),
        _workload("Job", "goodbye", "pre-delete"),
        _workload("Job", "again", "pre-upgrade"),
        _workload("Pod", "probe", "test"),
    ]
    (chart / "templates" / "all.yaml").write_text(yaml.safe_dump_all(things))
    listed = other_project / "charts" / "releases.yaml"
    listed.write_text("stages: [[{release: odd, chart: odd, namespace: annex, image: redis}]]")
    loaded = tiltfile_host.load(TILTFILE, other_project, helm)
    assert tiltfile_compare.differences(loaded, other_project, releases.stages(listed), helm) == []
    waits = {name: tuple(sorted(one.deps)) for name, one in loaded.resources.items() if one.objects}
    assert waits == {
        "namespace-annex": (),
        "first": ("namespace-annex",),
        "second": ("first",),
        "odd-objects": ("second",),
        "one": ("odd-objects",),
        "two": ("odd-objects",),
        "three": ("odd-objects",),
        "late": ("one", "three", "two"),
    }
    holds = {name: [thing["metadata"]["name"] for thing in one.objects] for name, one in loaded.resources.items()}
    assert (holds["first"], holds["one"]) == (["first", "early"], ["one", "one"])
    assert sorted(holds["odd-objects"]) == ["settings", "stray"]


def test_a_release_without_workloads_is_a_resource_that_the_next_stage_waits_for(
    helm: render.Renderer, other_project: Path
) -> None:
    chart = other_project / "charts" / "plain"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: plain, version: 1.0.0}")
    (chart / "values.yaml").write_text("{image: {repository: space-smoke/redis, tag: dev}}")
    (chart / "templates" / "all.yaml").write_text(yaml.safe_dump(_thing("ConfigMap", "settings")))
    listed = other_project / "charts" / "releases.yaml"
    text = "{stages: [[{release: plain, image: redis}], [{release: space-redis, namespace: space}]]}"
    listed.write_text(text)
    loaded = tiltfile_host.load(TILTFILE, other_project, helm)
    assert tiltfile_compare.differences(loaded, other_project, releases.stages(listed), helm) == []
    assert loaded.resources["space-redis"].deps == ("plain-objects",)
