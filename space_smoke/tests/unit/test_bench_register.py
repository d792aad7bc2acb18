"""bench.json says what a bench is and who made it; only what dead runs left is ever reaped."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import cache, engine, kind, register
from space_smoke.engine import down

ME = cache.Process.current()
DEAD = dataclasses.replace(ME, start_ticks=ME.start_ticks - 1)
ENTRY = register.Entry(
    name="b1",
    state=register.CREATING,
    run_id="r1",
    maker=DEAD,
    created_s=1000.0,
    config="c",
    node_image="space-smoke/node:v1",
    node_image_id="sha256:1",
    kubernetes="v1.34.4",
    built_node_image=True,
    images={"space-smoke/redis:1": "sha256:2"},
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path / "cache"))


def silent(*_: Any, **__: Any) -> None:
    pass


def test_an_entry_is_read_as_it_was_written() -> None:
    register.write(ENTRY)
    assert register.read("b1") == ENTRY
    assert register.read("b2") is None


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a/b", "..", "a" * 41])
def test_a_name_that_kind_or_a_path_would_trip_over_is_refused(name: str) -> None:
    with pytest.raises(errors.UsageError, match="1 to 40"):
        register.check_name(name)


def test_a_usual_name_is_taken() -> None:
    register.check_name("space-smoke")


@pytest.mark.parametrize(
    ("change", "left_over"),
    [
        ({}, True),
        ({"state": register.READY}, False),
        ({"state": register.READY, "ephemeral": True}, True),
        ({"maker": ME}, False),
        ({"maker": dataclasses.replace(DEAD, host="elsewhere")}, False),
        ({"created_s": 1700.0}, False),
    ],
    ids=["half made", "made to stay", "of one run", "maker lives", "maker elsewhere", "younger than the guard"],
)
def test_left_over_is_what_a_dead_run_made_and_nobody_needs(change: dict[str, Any], left_over: bool) -> None:
    register.write(dataclasses.replace(ENTRY, **change))
    assert [entry.name for entry in register.leftovers(600, now_s=2000)] == (["b1"] if left_over else [])


class Removed(list[str]):
    """Stands for Docker: remembers which clusters were removed."""


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> Removed:
    names = Removed()
    monkeypatch.setattr(kind, "remove", names.append)
    monkeypatch.setattr(engine, "info", lambda: {"ServerVersion": "20.10"})
    monkeypatch.setattr(engine, "node_containers", lambda _name: [])
    monkeypatch.setattr(engine, "remove_network_if_unused", lambda: True)
    return names


def test_down_leaves_no_file_of_the_bench_and_no_lock(removed: Removed) -> None:
    register.write(ENTRY)
    (cache.folder() / "network-made").touch()
    assert down.down("b1", silent)
    assert removed == ["b1"]
    assert [path for path in cache.folder().rglob("*") if path.is_file()] == []


def test_down_of_what_is_not_there_says_so_and_removes_nothing(removed: Removed) -> None:
    assert not down.down("b1", silent)
    assert removed == []


def test_a_cluster_that_this_cache_does_not_know_is_refused(removed: Removed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "node_containers", lambda _name: ["b1-control-plane"])
    with pytest.raises(errors.Refused, match="left alone"):
        down.down("b1", silent)
    assert removed == []


def test_reap_removes_left_overs_only(removed: Removed) -> None:
    register.write(ENTRY)
    register.write(dataclasses.replace(ENTRY, name="kept", state=register.READY))
    assert down.reap(silent) == ["b1"]
    assert removed == ["b1"]
    assert register.read("kept") is not None


def test_reap_leaves_a_bench_that_another_run_took_over_meanwhile(
    removed: Removed, monkeypatch: pytest.MonkeyPatch
) -> None:
    register.write(dataclasses.replace(ENTRY, maker=ME))
    monkeypatch.setattr(register, "leftovers", lambda _guard_s: [ENTRY])
    assert down.reap(silent) == []
    assert removed == []
