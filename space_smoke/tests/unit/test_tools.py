"""A program is used only when it is the pinned one: from PATH, the cache, a prebuilt copy or Go modules."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import cache, tools


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SPACE_SMOKE_PREBUILT", raising=False)


def silent(*_: Any, **__: Any) -> None:
    pass


def prebuilt(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, content: bytes = b"#!/bin/sh\n") -> tools.Pin:
    """A folder with one packed program, and versions.yaml replaced by a pin of exactly those bytes."""
    folder = tmp_path / "prebuilt"
    folder.mkdir()
    (tmp_path / "etcd").write_bytes(content)
    subprocess.run(["zstd", "-q", str(tmp_path / "etcd"), "-o", str(folder / "etcd.zst")], check=True)
    packed = hashlib.sha256((folder / "etcd.zst").read_bytes()).hexdigest()
    real = tools.versions()
    pin = dataclasses.replace(real.pins["etcd"], sha256=hashlib.sha256(content).hexdigest(), zst_sha256=packed)
    set_pin(monkeypatch, pin)
    monkeypatch.setenv("SPACE_SMOKE_PREBUILT", str(folder))
    return pin


def set_pin(monkeypatch: pytest.MonkeyPatch, pin: tools.Pin) -> None:
    replaced = dataclasses.replace(tools.versions(), pins={**tools.versions().pins, pin.name: pin})
    monkeypatch.setattr(tools, "versions", lambda: replaced)


def test_a_prebuilt_program_that_matches_is_unpacked_and_its_origin_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prebuilt(tmp_path, monkeypatch)
    path = tools.obtain("etcd", silent)
    assert path.read_bytes() == b"#!/bin/sh\n"
    assert path.stat().st_mode & 0o111
    origin = json.loads((path.parent / "origin.json").read_text())
    assert (origin["origin"], origin["as_pinned"]) == ("prebuilt", True)


def test_a_program_in_the_cache_is_taken_without_a_prebuilt_folder(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prebuilt(tmp_path, monkeypatch)
    first = tools.obtain("etcd", silent)
    monkeypatch.delenv("SPACE_SMOKE_PREBUILT")
    assert tools.obtain("etcd", silent) == first


@pytest.mark.parametrize("field", ["zst_sha256", "sha256"])
def test_a_prebuilt_program_with_another_digest_is_refused_by_name_expected_and_seen(
    field: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = prebuilt(tmp_path, monkeypatch)
    zeros = "0" * 64
    other = dataclasses.replace(pin, sha256=zeros) if field == "sha256" else dataclasses.replace(pin, zst_sha256=zeros)
    set_pin(monkeypatch, other)
    seen = getattr(pin, field)
    with pytest.raises(errors.BenchError, match=rf"etcd\.zst.*has sha256 {seen}.*expects {zeros}"):
        tools.obtain("etcd", silent)
    assert not list((cache.folder() / "binaries").glob("*")), "a refused program must not reach the cache"


def test_without_go_and_without_a_prebuilt_copy_the_host_is_unfit_and_told_both_ways_out(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(errors.HostUnfit, match=r"(?s)pause.*install Go.*SPACE_SMOKE_PREBUILT"):
        tools.obtain("pause", silent)


def on_path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, version: str) -> pathlib.Path:
    program = tmp_path / "bin" / "kind"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'kind {version} go1.26 linux/amd64'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


def test_kind_on_path_is_used_when_it_says_the_pinned_version(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = on_path(tmp_path, monkeypatch, tools.versions().pins["kind"].version)
    assert tools.obtain("kind", silent) == program


def test_kind_on_path_in_another_version_is_not_used(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # v0.33.00 begins with the pinned version: a comparison by prefix would take it.
    on_path(tmp_path, monkeypatch, tools.versions().pins["kind"].version + "0")
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "go" else real(name))
    with pytest.raises(errors.HostUnfit, match="kind"):
        tools.obtain("kind", silent)


def test_a_changed_version_or_source_has_another_key(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    pin = tools.versions().pins["pause"]
    before = pin.key
    source = tmp_path / "kind" / "binaries" / "pause"
    source.mkdir(parents=True)
    (source / "main.go").write_text("package main")
    monkeypatch.setattr(cache, "KIND", tmp_path / "kind")
    other_source = pin.key
    assert len({before, other_source, dataclasses.replace(pin, version="v9.9.9").key}) == 3


@pytest.mark.parametrize("name", sorted(tools.versions().pins))
def test_go_modules_require_what_versions_yaml_names(name: str) -> None:
    pin = tools.versions().pins[name]
    if pin.source in ("install", "pause"):
        assert pin.version.startswith("v")
        return
    text = (cache.KIND / "binaries" / pin.source / "go.mod").read_text()
    assert re.search(rf"^(require)?\s*{re.escape(pin.module)} {re.escape(pin.version)}$", text, re.MULTILINE)


def test_kubernetes_has_one_version() -> None:
    assert tools.versions().kubernetes == tools.versions().pins["hyperkube"].version


def test_hyperkube_is_stamped_with_major_and_minor() -> None:
    flags = tools.versions().pins["hyperkube"].ldflags
    assert "version.gitMajor=1" in flags
    assert "version.gitMinor=34" in flags
    assert "version.gitVersion=v1.34.4" in flags


def test_every_image_that_is_pulled_is_named_by_digest() -> None:
    pins = tools.versions()
    for reference in (pins.node_pull, pins.debian_pull):
        assert re.fullmatch(r"[a-z/]+:[\w.-]+@sha256:[0-9a-f]{64}", reference)
