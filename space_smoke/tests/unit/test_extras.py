"""Optional releases: planned where they are asked for, kept by a bench, brought by a scenario, with an image of their own."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import cache, engine, images, kube, proc, register, releases, tools
from space_smoke.cli import parser
from space_smoke.engine import bringup, suite, up
from space_smoke.model import scenario
from space_smoke.tests.unit import histories

GRID = tuple(f"grid-{site}{part}" for site in "abc" for part in ("-postgres", "", "-site"))


def silent(*_: Any, **__: Any) -> None:
    pass


def entry(*installed: str) -> register.Entry:
    return register.Entry(
        name="mine",
        state=register.READY,
        run_id="r1",
        maker=cache.Process.current(),
        created_s=1000.0,
        config="c",
        node_image="space-smoke/node:v1",
        node_image_id="sha256:1",
        kubernetes="v1.34.4",
        built_node_image=True,
        releases=dict.fromkeys(installed, "digest"),
    )


def names(stages: list[list[releases.Planned]]) -> list[str]:
    return [one.release for stage in stages for one in stage]


def test_an_optional_release_is_planned_where_it_is_asked_for_with_what_others_then_get() -> None:
    plain, more = releases.stages(), releases.stages(extras=["telemetry"])
    assert set(names(more)) - set(names(plain)) == {"telemetry"}
    assert not [one.release for stage in plain for one in stage if len(one.values) > 1]
    told = {one.release for stage in more for one in stage if one.values[-1].name == "to-telemetry.yaml"}
    assert told == {one.release for one in plain[1]}


def test_one_word_brings_all_the_releases_that_share_it_in_their_stages() -> None:
    plain, more = releases.stages(), releases.stages(extras=["grid"])
    assert not [name for name in names(plain) if name.startswith("grid")]
    sites = ("grid-a", "grid-b", "grid-c")
    added = [{one.release for one in stage if one.release not in names(plain)} for stage in more]
    assert added == [{f"{site}-postgres" for site in sites}, set(sites), {f"{site}-site" for site in sites}]
    assert {one.namespace for stage in more for one in stage} == {"space", *sites}


def test_a_word_that_no_release_has_is_refused_with_those_there_are() -> None:
    for wrong in ("grafana", "space-api", "grid-a", ""):
        with pytest.raises(errors.UsageError, match=f"'{wrong}' is no optional part of a bench") as refused:
            releases.stages(extras=["telemetry", wrong])
        assert refused.value.next_step == "choose from telemetry, grid"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["grid-operator"], {"grid"}),
        (["grid-site"], {"grid"}),
        (["grid-b"], {"grid"}),
        (["telemetry", "grid-operator"], {"telemetry", "grid"}),
        (["postgres", "space-api"], set()),
        (["no-such-chart"], set()),
    ],
    ids=lambda one: ",".join(one) or "nothing",
)
def test_a_word_is_asked_for_by_its_releases_and_charts_but_not_by_what_a_bench_has_anyway(
    names: list[str], words: set[str]
) -> None:
    assert releases.asked_by(names) == words


def test_of_a_word_some_of_whose_releases_are_installed_the_others_are_lacking() -> None:
    assert releases.kept(["space-api", "grid-a-postgres"]) == {"grid"}
    lacking = releases.lacking(["grid"], ["space-api", "grid-a-postgres", "grid-b-postgres", "grid-c-postgres"])
    assert lacking == {"grid-a", "grid-b", "grid-c", "grid-a-site", "grid-b-site", "grid-c-site"}
    assert releases.lacking([], ["space-api"]) == set()


def test_a_bench_keeps_the_extras_that_it_was_asked_for_until_it_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register, "read", lambda name: entry("telemetry", "space-api") if name == "mine" else None)

    def has_telemetry(**options: Any) -> bool:
        return "telemetry" in names(bringup.Work(bringup.UpOptions(**options), silent).stages)

    assert has_telemetry(name="mine")
    assert not has_telemetry(name="mine", recreate=True)
    assert not has_telemetry(name="another")
    assert has_telemetry(name="another", extras=("telemetry",))


@pytest.mark.parametrize(
    ("installed", "charts", "brought"),
    [
        (("space-api",), ("space-api",), None),
        (("space-api",), ("space-api", "telemetry"), ("telemetry",)),
        (("space-api", "telemetry"), ("space-api", "telemetry"), None),
        (("space-api",), ("postgres", "grid-operator"), ("grid",)),
        (("space-api", "grid-a-postgres"), ("grid-operator",), ("grid",)),
        (("space-api", *GRID), ("grid-operator", "grid-site"), None),
    ],
)
def test_a_scenario_that_names_an_optional_release_brings_it_to_a_bench_that_lacks_it(
    monkeypatch: pytest.MonkeyPatch,
    installed: tuple[str, ...],
    charts: tuple[str, ...],
    brought: tuple[str, ...] | None,
) -> None:
    asked: list[up.UpOptions] = []

    def bring(options: up.UpOptions, _emit: Any) -> None:
        asked.append(options)

    def stop(*_: Any, **__: Any) -> None:
        raise errors.BenchError("far enough", next_step="")

    monkeypatch.setattr(register, "read", lambda _name: entry(*installed))
    monkeypatch.setattr(suite, "_answers", lambda _bench: True)
    monkeypatch.setattr(up, "up", bring)
    monkeypatch.setattr(suite, "ensure_namespace", stop)
    monkeypatch.setattr(kube, "Kube", silent)
    the = dataclasses.replace(histories.one_load(), bench=scenario.BenchNeeds(charts))
    suite.run_all([the], suite.Options(bench="mine"), (), "r2")
    assert [options.extras for options in asked] == ([] if brought is None else [brought])


def test_up_takes_extras_by_name() -> None:
    assert parser.build().parse_args(["up", "--with", "telemetry"]).extras == ["telemetry"]
    assert parser.build().parse_args(["up"]).extras == []


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> dict[str, Any]:
    """An engine without a registry that has the base of telemetry; `argv` is the last build, `context` what it was given."""
    seen: dict[str, Any] = {"ids": {}, "tools": []}

    def ran(argv: list[str], **_more: Any) -> None:
        seen["argv"], seen["context"] = argv, sorted(path.name for path in pathlib.Path(argv[-1]).iterdir())
        seen["ids"][argv[argv.index("--tag") + 1]] = "sha256:0123456789abcdef"

    def obtained(name: str, _emit: cache.Emit) -> pathlib.Path:
        seen["tools"].append(name)
        (tmp_path / name).write_text("program")
        return tmp_path / name

    @contextlib.contextmanager
    def workshop(_name: str, _emit: cache.Emit, *, timeout_s: float) -> Iterator[pathlib.Path]:
        (tmp_path / "work").mkdir()
        yield tmp_path / "work"

    def identity(reference: str) -> str | None:
        ids: Mapping[str, str] = seen["ids"]
        return "sha256:base" if reference.startswith("space-smoke/telemetry-base:bookworm-") else ids.get(reference)

    monkeypatch.setattr(engine, "image_id", identity)
    monkeypatch.setattr(engine, "docker", lambda *argv, **_more: seen["ids"].update({argv[2]: seen["ids"][argv[1]]}))
    monkeypatch.setattr(proc, "run", ran)
    monkeypatch.setattr(tools, "obtain", obtained)
    monkeypatch.setattr(cache, "workshop", workshop)
    return seen


def test_the_image_of_telemetry_is_made_of_its_own_base_recipe_and_program(docker: dict[str, Any]) -> None:
    image = images.telemetry(silent)
    argv = docker["argv"]
    assert image == images.Image("space-smoke/telemetry", "0123456789ab", "sha256:0123456789abcdef")
    assert argv[argv.index("--file") + 1] == str(cache.KIND / "images" / "telemetry.Dockerfile")
    assert argv[argv.index("--target") + 1] == "telemetry"
    assert any(part.startswith("BASE=space-smoke/telemetry-base:bookworm-") for part in argv)
    assert docker["context"] == docker["tools"] == ["victoria-logs"]


def test_only_a_bench_with_telemetry_has_its_image_made(
    docker: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"redis": images.Image("space-smoke/redis", "1", "sha256:1")}
    monkeypatch.setattr(images, "services", lambda _base, _emit: plain)
    real = images.base
    monkeypatch.setattr(
        images, "base", lambda emit, name="base", **more: real(emit, name=name) if name != "base" else ""
    )
    assert images.for_releases({"redis"}, silent) == plain
    assert docker["tools"] == []
    assert set(images.for_releases({"redis", "telemetry"}, silent)) == {"redis", "telemetry"}


def test_an_image_of_telemetry_that_is_there_is_not_made_again(docker: dict[str, Any]) -> None:
    first = images.telemetry(silent)
    del docker["argv"]
    assert images.telemetry(silent) == first
    assert "argv" not in docker


def test_the_base_of_telemetry_has_what_its_recipe_asks_for() -> None:
    listed = (cache.KIND / "images" / "telemetry-base-packages.txt").read_text().split()
    recipe = (cache.KIND / "images" / "telemetry.Dockerfile").read_text()
    (installed,) = [line for line in recipe.splitlines() if "apt-get install" in line]
    wanted = installed.partition("--no-install-recommends ")[2].partition(" &&")[0].split()
    assert sorted(wanted) == ["curl", "prometheus"]
    assert set(wanted) <= set(listed)
