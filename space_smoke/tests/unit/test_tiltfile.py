"""The Tiltfile's guard, settings, images, buttons and what it shows; and that its host refuses what Tilt would refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import starlark
import yaml

from space_smoke.bench import cache, images, releases
from space_smoke.charts import render
from space_smoke.tests.unit import tiltfile_arguments, tiltfile_compare, tiltfile_host

TILTFILE = (cache.PROJECT / "Tiltfile").read_text()


@pytest.fixture(scope="module")
def helm() -> render.Renderer:
    return tiltfile_compare.renderer()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The real project in a folder of its own, so that a settings file can stand in it."""
    for name in ("charts", "kind", "services", "scenarios"):
        (tmp_path / name).symlink_to(cache.PROJECT / name)
    return tmp_path


def settled(
    helm: render.Renderer, project: Path, settings: Any, file: str = "tilt-settings.yaml"
) -> tiltfile_host.Loaded:
    (project / file).write_text(settings if isinstance(settings, str) else yaml.safe_dump(settings))
    return tiltfile_host.load(TILTFILE, project, helm)


def refusal(helm: render.Renderer, project: Path, settings: Any, file: str = "tilt-settings.yaml") -> str:
    with pytest.raises(starlark.StarlarkError) as refused:
        settled(helm, project, settings, file)
    return str(refused.value)


@pytest.mark.parametrize("context", ["minikube", "docker-desktop", "prod", "gke_kind-prod", ""])
def test_a_context_that_is_no_kind_cluster_is_refused_before_anything_is_rendered(
    helm: render.Renderer, context: str
) -> None:
    with pytest.raises(starlark.StarlarkError, match="deploys to Kind clusters only") as refused:
        tiltfile_host.load(TILTFILE, cache.PROJECT, helm, context=context)
    assert f'the context is "{context}"' in str(refused.value)
    assert "next: space_smoke up" in str(refused.value)


def test_only_the_kind_context_in_use_is_allowed_and_its_cluster_is_whom_the_buttons_name(
    helm: render.Renderer,
) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm, context="kind-mine")
    assert loaded.calls.allowed == ["kind-mine"]
    assert all(one["cmd"][-2:] == ["--name", "mine"] for one in loaded.calls.local_resource)
    assert all("mine" in one["command"] for one in loaded.calls.custom_build)


def test_the_tiltfile_loads_nothing_from_a_network() -> None:
    assert "load(" not in TILTFILE.replace("load_", "")
    assert "http://localhost:" in TILTFILE
    assert TILTFILE.count("://") == TILTFILE.count("http://localhost:")


def test_a_missing_python_is_told_with_its_cure(helm: render.Renderer, project: Path) -> None:
    with pytest.raises(starlark.StarlarkError, match=r"there is no \.venv/bin/python: scripts/venv\.sh makes it"):
        tiltfile_host.load(TILTFILE, project, helm, present=frozenset())


# Settings


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"live_updat": True}, 'unknown setting "live_updat"; did you mean "live_update"?'),
        ({"port": {}}, 'unknown setting "port"; did you mean "ports"?'),
        ({"trigger": "auto"}, 'unknown setting "trigger"; did you mean "trigger_mode"?'),
        ({"live_update": "yes"}, 'live_update is "yes" and must be true or false'),
        ({"port_forwards": 1}, "port_forwards is 1 and must be true or false"),
        ({"python": ""}, 'python is "" and must be a path'),
        ({"trigger_mode": "never"}, 'trigger_mode is "never" and must be auto or manual'),
        ({"ports": {"space-api": 0}}, "ports is "),
        ({"ports": {"space-api": 65536}}, "ports is "),
        ({"ports": {"space-api": True}}, "ports is "),
        ({"ports": ["space-api"]}, "ports is "),
        ({"ports": {"space-apo": 9000}}, 'no workload with a port is called "space-apo"; did you mean "space-api"?'),
        ({"ports": {"space-api": 9000, "postgres": 9000}}, "both ask for local port 9000"),
        ({"scenarios": "all"}, 'scenarios is "all" and must be a list of scenario ids'),
        ({"with": ["telemetri"]}, 'with: there is no "telemetri"; did you mean "telemetry"?'),
        ({"with": "telemetry"}, 'with is "telemetry" and must be a list of optional parts of a bench'),
        ({"scenarios": ["ecw.sandbox_inf"]}, 'there is no "ecw.sandbox_inf"; did you mean "ecw.sandbox_info"?'),
        (["live_update"], "holds a list and must hold a map"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_name_its_value_and_the_nearest_right_one(
    helm: render.Renderer, project: Path, settings: Any, told: str
) -> None:
    assert told in refusal(helm, project, settings)


def test_all_wrong_settings_are_told_at_once(helm: render.Renderer, project: Path) -> None:
    told = refusal(helm, project, {"pyton": "x", "live_update": 3, "trigger_mode": "no", "scenarios": ["none.such"]})
    places = [told.index(name) for name in ("live_update is 3", '"pyton"', "none.such", "trigger_mode is")]
    assert places == sorted(places), "by name, since Tilt reads maps in no order"


def test_settings_may_be_json_but_not_both(helm: render.Renderer, project: Path) -> None:
    text = json.dumps({"trigger_mode": "manual"})
    assert tiltfile_host.load(TILTFILE, project, helm).calls.watched == ["tilt-settings.yaml", "tilt-settings.json"]
    loaded = settled(helm, project, text, "tilt-settings.json")
    assert {one["mode"] for one in loaded.calls.k8s_resource if one["workload"]} == {"manual"}
    assert "both exist" in refusal(helm, project, "")


@pytest.mark.parametrize("text", ["", "# nothing set\n", "{}"])
def test_an_empty_settings_file_is_the_same_as_none(helm: render.Renderer, project: Path, text: str) -> None:
    without = tiltfile_host.load(TILTFILE, project, helm)
    assert settled(helm, project, text).calls == without.calls


def test_ports_forwards_live_update_and_scenarios_can_be_chosen(helm: render.Renderer, project: Path) -> None:
    chosen = {"ports": {"space-api": 9000}, "live_update": False, "scenarios": ["ecw.sandbox_info"]}
    loaded = settled(helm, project, chosen)
    assert loaded.resources["space-api"].given["forwards"][0].given["local"] == 9000
    assert loaded.resources["space-api"].given["links"][0].given["url"].startswith("http://localhost:9000/")
    assert not any(one["live"] or "--live" in one["command"] for one in loaded.calls.custom_build)
    runs = [one["name"] for one in loaded.calls.local_resource if one["name"].startswith("run-")]
    assert runs == ["run-all", "run-ecw.sandbox_info"]
    bare = settled(helm, project, {"port_forwards": False})
    assert not any(one["forwards"] or one["links"] for one in bare.calls.k8s_resource)


# Images and buttons


def test_every_image_is_built_by_our_own_command_and_pushed_by_nobody_else(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    used = {f"space-smoke/{planned.image}" for stage in releases.stages() for planned in stage}
    assert {one["ref"] for one in loaded.calls.custom_build} == used
    for one in loaded.calls.custom_build:
        assert one["command"][1:4] == ["-m", "space_smoke.bench.dev_image", one["ref"].split("/")[1]]
        assert one["command"][one["command"].index("--reference-to") + 1] == one["reference_to"]
        assert not one["push"]


def test_every_image_of_a_pod_or_a_variable_is_one_that_tilt_builds(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    text = json.dumps(loaded.calls.entities)
    built = [one["ref"] for one in loaded.calls.custom_build]
    named = {word for word in text.split('"') if word.startswith("space-smoke/")}
    assert named == {f"{ref}:{tiltfile_compare.TAG}" for ref in built}
    assert all(one["env_vars"] for one in loaded.calls.custom_build)


def test_whatever_goes_into_an_image_is_watched(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    watched = {one["ref"]: [cache.PROJECT / path for path in one["deps"]] for one in loaded.calls.custom_build}
    recipe = [cache.KIND / "images", cache.KIND / "debian-root.sh", cache.KIND / "versions.yaml"]
    sources = [path for path in images._service_sources() if isinstance(path, Path)]
    assert sources
    for ref, deps in watched.items():
        inputs = recipe + ([*sources, cache.KIND / "live"] if ref == "space-smoke/services" else [])
        assert [path for path in inputs if not any(path.is_relative_to(dep) for dep in deps)] == []
        assert all(dep.exists() for dep in deps)


def test_python_code_is_synced_to_a_folder_that_every_service_may_write(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    (services,) = [one for one in loaded.calls.custom_build if one["live"]]
    fall_back, sync = services["live"]
    assert (services["ref"], fall_back.given["paths"]) == ("space-smoke/services", ["services/requirements.txt"])
    assert sync.given["to"] in (cache.KIND / "live" / "Dockerfile").read_text()
    assert f'"{sync.given["to"]}"' in (cache.KIND / "live" / "sitecustomize.py").read_text()
    for workload in [thing for thing in loaded.calls.entities if thing["kind"] == "Deployment"]:
        pod = workload["spec"]["template"]["spec"]
        if pod["containers"][0]["image"].startswith("space-smoke/services:"):
            writable = {one["name"] for one in pod["volumes"] if "emptyDir" in one}
            mounts = {one["mountPath"]: one["name"] for one in pod["containers"][0]["volumeMounts"]}
            assert mounts.get("/tmp") in writable, workload["metadata"]["name"]


def test_run_status_repair_and_load_are_buttons_that_never_start_by_themselves(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    buttons = {one["name"]: one for one in loaded.calls.local_resource}
    scenarios = {f"run-{path.parent.name}.{path.stem}" for path in (cache.PROJECT / "scenarios").glob("*/*.yaml")}
    assert buttons.keys() == {"status", "repair", "load", "run-all"} | scenarios
    assert {(one["mode"], one["auto"]) for one in buttons.values()} == {("manual", False)}
    last = {name for name, one in loaded.resources.items() if one.objects}
    assert loaded.before("run-all") == last
    assert all(not buttons[name]["deps"] for name in ("status", "repair", "load")), "they help while things are broken"


def test_hooks_run_before_their_release_and_again_only_on_request(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    hooks = [one for one in loaded.resources.values() if one.objects and one.objects[0]["kind"] == "Job"]
    assert hooks
    for hook in hooks:
        assert (hook.given["mode"], hook.given["auto"]) == ("manual", True)
        release = hook.objects[0]["metadata"]["labels"]["app.kubernetes.io/instance"]
        assert hook.name in loaded.before(release)


def test_every_resource_has_a_label_and_every_http_service_links(helm: render.Renderer) -> None:
    loaded = tiltfile_host.load(TILTFILE, cache.PROJECT, helm)
    assert all(one.given["labels"] for one in loaded.resources.values())
    links = [one.given["url"] for one in loaded.resources["space-api"].given["links"]]
    assert links == [f"http://localhost:8080/{page}" for page in ("v1/state", "metrics", "version")]


# The host


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('k8s_resource("x", label=["a"])', "unexpected keyword argument 'label'"),
        ('local_resource("x")', "missing a required argument: 'cmd'"),
        ('local_resource("x", cmd=["y"], auto_init="no")', "auto_init is 'no'"),
        ('k8s_yaml("charts/x.yaml")', "and not a Blob"),
        ('k8s_resource("nowhere")', "unknown workload nowhere"),
        ('local_resource("x", cmd="y", resource_deps=["z"])', "waits for z, which does not exist"),
        ('local_resource("x", cmd="y", labels=["two words"])', "is no label"),
        ('custom_build("a/b", "true", ["kind"], live_update=[sync("services", "/x")])', "is under none of"),
        ('custom_build("a/b", "true", ["kind"], live_update=[sync("kind", "x")])', "not absolute"),
        ('custom_build("a/b", "true", ["kind"], tag="x", outputs_image_ref_to="y")', "not both"),
        ('helm("charts/space-redis", set=["image.tag=12"])', "plain text"),
        ('x = f"{1}"', "f-strings"),
        ("docker_compose('x')", "docker_compose"),
    ],
)
def test_the_host_refuses_what_tilt_refuses(helm: render.Renderer, text: str, told: str) -> None:
    with pytest.raises((starlark.StarlarkError, tiltfile_arguments.Refused)) as refused:
        tiltfile_host.load(text, cache.PROJECT, helm)
    assert told in str(refused.value)
