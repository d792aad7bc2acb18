"""Host preflight: every finding with its value, the rule it is held against, and its cure.

`read` gathers facts and judges nothing; `examine` is pure and judges facts, so each rule is tested without a machine
that breaks it. A finding that does not block is advice: `up` tells it and goes on. Called by the command and by
engine.up.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.bench import cache, engine, register, tools

_GIB = 1024**3
BUILD_BYTES = 8 * _GIB  # debootstrap roots, Go caches and two images, measured 6.3 GiB with everything from nothing
RUN_BYTES = 3 * _GIB
INOTIFY_INSTANCES = 512
# Three nodes with everything on them take 62. Without them systemd and kubelets fail in ways that say nothing of it.
INOTIFY_PER_BENCH = 72
INOTIFY_WATCHES = 65536
LEFTOVER_GUARD_S = 600.0
_COMMANDS = {"setpriv": "util-linux", "unshare": "util-linux"}


@dataclass(frozen=True, slots=True)
class Finding:
    """`rule` is what `value` must satisfy; `fix` a command or sentence, empty when `ok`."""

    name: str
    ok: bool
    value: str
    rule: str
    fix: str
    blocks: bool = True


@dataclass(frozen=True, slots=True)
class Host:
    """Facts about this machine. `programs`: where each would come from (cache, PATH, prebuilt, compile, nowhere)."""

    docker_command: bool
    dockerd_command: bool
    engine: Mapping[str, Any] | None
    root: bool
    systemd: bool
    sys_resource: bool
    inotify_instances: int
    inotify_used: int
    inotify_watches: int
    free_bytes: Mapping[str, int]
    images_ready: bool
    programs: Mapping[str, str]
    commands: Mapping[str, bool]
    ports_taken: tuple[int, ...] = ()
    leftovers: tuple[str, ...] = ()
    kernel_overlay: bool = True
    bench_there: bool = False


def read(api_port: int = 0, name: str = "") -> Host:
    """Looks at this machine: files, PATH, one `docker info`. Changes nothing. `name` is the bench that is wanted."""
    entry = register.read(name) if name else None
    said = engine.info()
    folder = cache.folder()
    places = {"cache": folder} | ({"engine": pathlib.Path(said["DockerRootDir"])} if said else {})
    limits = pathlib.Path("/proc/sys/fs/inotify")
    return Host(
        docker_command=shutil.which("docker") is not None,
        dockerd_command=shutil.which("dockerd") is not None,
        engine=said,
        root=os.geteuid() == 0,
        systemd=pathlib.Path("/run/systemd/system").exists(),
        sys_resource=engine.within_bounds(),
        inotify_instances=int((limits / "max_user_instances").read_text()),
        inotify_used=_inotify_used(),
        inotify_watches=int((limits / "max_user_watches").read_text()),
        free_bytes={f"{name} {path}": shutil.disk_usage(path).free for name, path in places.items() if path.exists()},
        images_ready=said is not None
        and "space-smoke/node" in engine.docker("images", "--format", "{{.Repository}}").stdout,
        programs={name: _origin(name) for name in ("kind", "helm", *tools.NODE_BINARIES)},
        commands={name: shutil.which(name) is not None for name in (*_COMMANDS, "debootstrap", "containerd", "zstd")},
        ports_taken=(api_port,) if api_port and not _free(api_port) else (),
        leftovers=tuple(entry.name for entry in register.leftovers(LEFTOVER_GUARD_S)),
        kernel_overlay="overlay" in pathlib.Path("/proc/filesystems").read_text(),
        bench_there=entry is not None and entry.state == register.READY,
    )


def _inotify_used() -> int:
    """The inotify instances of all processes that we may look into; the limit is per user, and nodes run as root."""
    used = 0
    for link in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            used += str(link.readlink()) == "anon_inode:inotify"
    return used


def _origin(name: str) -> str:
    pin = tools.versions().pins[name]
    prebuilt = os.environ.get("SPACE_SMOKE_PREBUILT")
    if (cache.folder() / "binaries" / pin.key / name).exists():
        return "cache"
    if prebuilt and (pathlib.Path(prebuilt) / f"{name}.zst").exists():
        return "prebuilt"
    if name in ("kind", "helm") and shutil.which(name):
        return "PATH"
    return "compile" if shutil.which("go") else "nowhere"


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def examine(host: Host) -> list[Finding]:
    """Every finding about `host`, good ones included, most basic first."""
    return [
        *_engine(host),
        *_commands(host),
        *_programs(host),
        *_disk(host),
        *_kernel(host),
        *_benches(host),
    ]


def _engine(host: Host) -> list[Finding]:
    startable = host.root and host.dockerd_command and not host.systemd
    version = str((host.engine or {}).get("ServerVersion", "none answers"))
    if not host.docker_command:
        return [_finding("docker", False, "no docker command", "docker is on PATH", "scripts/bootstrap.sh as root")]
    how = "systemctl start docker" if host.systemd and host.dockerd_command else "scripts/bootstrap.sh as root"
    ok = host.engine is not None or startable
    value = version if host.engine is not None or not startable else "not running; up starts it"
    return [
        _finding("engine", ok, value, "a Docker engine answers, or can be started", how),
        _finding("engine version", _at_least_20_10(version), version, "20.10 or newer", "install a newer Docker engine")
        if host.engine is not None
        else _finding("engine version", True, "not known yet", "20.10 or newer", ""),
        _capability(host),
    ]


def _at_least_20_10(version: str) -> bool:
    numbers = [int(part) for part in version.split("+")[0].split("-")[0].split(".")[:2] if part.isdigit()]
    return numbers >= [20, 10]


def _capability(host: Host) -> Finding:
    rule = "CAP_SYS_RESOURCE is in the bounding set, or runc is wrapped"
    if host.sys_resource:
        return _finding("capability", True, "CAP_SYS_RESOURCE is there", rule, "")
    wrapped = host.engine is None or host.engine.get("DefaultRuntime") == "within-bounds"
    value = "missing; runc drops it" if wrapped else "missing, and the engine runs plain runc"
    fix = 'set "default-runtime": "within-bounds" in /etc/docker/daemon.json, restart the engine'
    return _finding("capability", wrapped, value, rule, fix)


def _commands(host: Host) -> list[Finding]:
    packages = _COMMANDS | {name: name for name in ("debootstrap", "containerd", "zstd")}
    found = []
    for name, there in host.commands.items():
        needed = name in _COMMANDS or (name == "zstd" and "prebuilt" in host.programs.values()) or not host.images_ready
        value = "there" if there else "not on PATH"
        rule = "on PATH" if name in _COMMANDS else "on PATH, to build images where no registry answers"
        # Without debootstrap a registry may still serve, so that is advice until it is tried.
        found.append(
            _finding(name, there, value, rule, f"apt-get install {packages[name]}", needed and name in _COMMANDS)
        )
    return found


def _programs(host: Host) -> list[Finding]:
    pins = tools.versions()
    found = []
    for name, origin in host.programs.items():
        version = pins.pins[name].version
        fix = f"install Go ({pins.go}), or name a folder of prebuilt programs in SPACE_SMOKE_PREBUILT"
        blocks = name in ("kind", "helm")  # the others are in a published node image, where one can be pulled
        ok = origin != "nowhere" or (host.images_ready and not blocks)
        found.append(_finding(name, ok, f"{version} from {origin}", f"{version} can be had", fix, blocks))
    return found


def _disk(host: Host) -> list[Finding]:
    needed = RUN_BYTES if host.images_ready else BUILD_BYTES
    rule = f">= {needed / _GIB:.0f} GiB free"
    return [
        _finding(
            f"disk ({place})", free >= needed, f"{free / _GIB:.1f} GiB free", rule, "free space, or docker system prune"
        )
        for place, free in host.free_bytes.items()
    ]


def _kernel(host: Host) -> list[Finding]:
    cgroup = str((host.engine or {}).get("CgroupVersion", "?"))
    low = f"sysctl -w fs.inotify.max_user_instances={INOTIFY_INSTANCES}"
    few = f"sysctl -w fs.inotify.max_user_watches={INOTIFY_WATCHES}"
    instances, watches = host.inotify_instances, host.inotify_watches
    left = instances - host.inotify_used
    room = host.bench_there or left >= INOTIFY_PER_BENCH
    needed = f">= {INOTIFY_PER_BENCH} for a new bench"
    more = f"sysctl -w fs.inotify.max_user_instances={max(INOTIFY_INSTANCES, 2 * instances)}, or space_smoke down"
    return [
        _finding(
            "overlay", host.kernel_overlay, str(host.kernel_overlay), "the kernel knows overlay", "modprobe overlay"
        ),
        _finding("cgroup", True, f"v{cgroup}", "v2, or v1 up to Kubernetes 1.37", "", blocks=False),
        _finding("inotify left", room, f"{left} of {instances} instances", needed, more),
        _finding(
            "inotify instances", instances >= INOTIFY_INSTANCES, str(instances), f">= {INOTIFY_INSTANCES}", low, False
        ),
        _finding("inotify watches", watches >= INOTIFY_WATCHES, str(watches), f">= {INOTIFY_WATCHES}", few, False),
    ]


def _benches(host: Host) -> list[Finding]:
    names = ", ".join(host.leftovers)
    taken = ", ".join(str(port) for port in host.ports_taken)
    fix = f"space_smoke down --name {host.leftovers[0]}" if host.leftovers else ""
    return [
        _finding(
            "ports", not taken, f"{taken} taken" if taken else "free", "the API port is free", "choose another", True
        ),
        _finding("left-over benches", not names, names or "none", "no bench of a dead run", fix, blocks=False),
    ]


def _finding(name: str, ok: bool, value: str, rule: str, fix: str, blocks: bool = True) -> Finding:
    return Finding(name, ok, value, rule, "" if ok else fix, blocks)


def require(findings: list[Finding]) -> None:
    """Raises errors.HostUnfit naming every finding that blocks, each with its cure."""
    bad = [finding for finding in findings if finding.blocks and not finding.ok]
    if bad:
        told = "\n".join(f"  {one.name}: {one.value}; rule: {one.rule}; fix: {one.fix}" for one in bad)
        raise errors.HostUnfit(f"this machine cannot carry a bench:\n{told}", next_step=bad[0].fix)
