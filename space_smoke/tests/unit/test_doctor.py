"""Each rule of the preflight, against facts that keep it and facts that break it."""

from __future__ import annotations

import dataclasses
import pathlib
import socket
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import engine
from space_smoke.engine import doctor

GIB = 1024**3
GOOD = doctor.Host(
    docker_command=True,
    dockerd_command=True,
    engine={"ServerVersion": "20.10.24+dfsg1", "CgroupVersion": "1", "DefaultRuntime": "runc"},
    root=True,
    systemd=False,
    sys_resource=True,
    inotify_instances=512,
    inotify_used=100,
    inotify_watches=65536,
    free_bytes={"cache /c": 20 * GIB},
    images_ready=False,
    programs={"kind": "cache", "helm": "PATH", "hyperkube": "compile"},
    commands={"setpriv": True, "unshare": True, "debootstrap": True, "containerd": True, "zstd": True},
)


def test_a_good_host_has_findings_and_all_are_ok() -> None:
    findings = doctor.examine(GOOD)
    assert len(findings) > 10
    assert [finding for finding in findings if not finding.ok] == []
    doctor.require(findings)


# What is changed in GOOD; the finding that must turn red; whether it blocks; what its fix must name.
BROKEN: list[tuple[dict[str, Any], str, bool, str]] = [
    ({"docker_command": False, "engine": None}, "docker", True, "bootstrap.sh"),
    ({"engine": None, "dockerd_command": False}, "engine", True, "bootstrap.sh"),
    ({"engine": None, "root": False}, "engine", True, "bootstrap.sh"),
    ({"engine": None, "systemd": True}, "engine", True, "systemctl start docker"),
    ({"engine": {**(GOOD.engine or {}), "ServerVersion": "19.03.8"}}, "engine version", True, "newer Docker"),
    ({"sys_resource": False}, "capability", True, "within-bounds"),
    ({"commands": {**GOOD.commands, "setpriv": False}}, "setpriv", True, "util-linux"),
    ({"commands": {**GOOD.commands, "debootstrap": False}}, "debootstrap", False, "apt-get install debootstrap"),
    ({"programs": {**GOOD.programs, "kind": "nowhere"}}, "kind", True, "SPACE_SMOKE_PREBUILT"),
    ({"programs": {**GOOD.programs, "hyperkube": "nowhere"}}, "hyperkube", False, "install Go"),
    ({"free_bytes": {"cache /c": 7 * GIB}}, "disk (cache /c)", True, "free space"),
    ({"free_bytes": {"cache /c": 2 * GIB}, "images_ready": True}, "disk (cache /c)", True, "free space"),
    ({"kernel_overlay": False}, "overlay", True, "modprobe overlay"),
    ({"inotify_used": 460}, "inotify left", True, "sysctl -w fs.inotify.max_user_instances=1024"),
    (
        {"inotify_instances": 128, "inotify_used": 20},
        "inotify instances",
        False,
        "sysctl -w fs.inotify.max_user_instances=512",
    ),
    ({"inotify_watches": 8192}, "inotify watches", False, "sysctl -w fs.inotify.max_user_watches=65536"),
    ({"ports_taken": (6443,)}, "ports", True, "choose another"),
    ({"leftovers": ("old",)}, "left-over benches", False, "space_smoke down --name old"),
]


@pytest.mark.parametrize(
    ("change", "name", "blocks", "fix"), BROKEN, ids=[f"{b[1]} {next(iter(b[0]))}" for b in BROKEN]
)
def test_a_broken_rule_is_one_finding_with_its_cure(change: dict[str, Any], name: str, blocks: bool, fix: str) -> None:
    findings = doctor.examine(dataclasses.replace(GOOD, **change))
    bad = [finding for finding in findings if not finding.ok]
    assert [finding.name for finding in bad] == [name]
    assert fix in bad[0].fix
    assert bad[0].blocks is blocks
    if blocks:
        with pytest.raises(errors.HostUnfit, match="cannot carry a bench") as raised:
            doctor.require(findings)
        assert raised.value.exit_code == 5
        assert fix in str(raised.value)
    else:
        doctor.require(findings)


GOOD_ALL_THE_SAME: list[tuple[dict[str, Any], str]] = [
    ({"inotify_used": 500, "bench_there": True}, "a bench that is there needs no more instances"),
    ({"engine": None}, "an engine that root can start is no fault"),
    ({"sys_resource": False, "engine": {**(GOOD.engine or {}), "DefaultRuntime": "within-bounds"}}, "runc is wrapped"),
    ({"free_bytes": {"cache /c": 4 * GIB}, "images_ready": True}, "with images there less disk is enough"),
    ({"engine": {**(GOOD.engine or {}), "ServerVersion": "28.2.2"}}, "a newer engine"),
    ({"engine": {**(GOOD.engine or {}), "ServerVersion": "20.10.0-rc1"}}, "a version with a suffix"),
]


@pytest.mark.parametrize(("change", "why"), GOOD_ALL_THE_SAME, ids=[g[1] for g in GOOD_ALL_THE_SAME])
def test_what_is_no_fault_is_not_told(change: dict[str, Any], why: str) -> None:
    assert [finding for finding in doctor.examine(dataclasses.replace(GOOD, **change)) if not finding.ok] == [], why


def test_a_port_that_something_listens_on_is_read_as_taken(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path))
    monkeypatch.setattr(engine, "info", lambda: None)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert doctor.read(port).ports_taken == (port,)
    assert doctor.read(port).ports_taken == ()
