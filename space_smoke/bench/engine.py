"""The Docker engine: whether it answers, how to start it where nothing else does, and what is asked of it.

Where systemd runs, the engine is its business (`systemctl start docker`). Elsewhere, as root, `start` runs dockerd
itself, detached: it must outlive the command, and a Ctrl-C there is not for it. Called by engine.up and bench.images.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from space_smoke import errors
from space_smoke.bench import cache, proc

NETWORK = "kind"
_START_S = 60.0
_ASK_S = 60.0
_CHECK_S = 0.1
_WRAPPER = pathlib.Path("/usr/local/sbin/runc-within-bounds")
_CONFIG = pathlib.Path("/etc/docker/daemon.json")
_PID_FILE = pathlib.Path("/var/run/docker.pid")
_SYS_RESOURCE_BIT = 24


def docker(*argv: str, timeout_s: float = _ASK_S, check: bool = True, stdin: bytes | None = None) -> proc.Done:
    """`docker ARGV`. Raises errors.CommandFailed."""
    return proc.run(["docker", *argv], timeout_s=timeout_s, check=check, stdin=stdin)


def info() -> dict[str, Any] | None:
    """What the engine says of itself; None when there is no docker command or no engine answers it."""
    if shutil.which("docker") is None:
        return None
    done = docker("info", "--format", "{{json .}}", timeout_s=20, check=False)
    try:
        said: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return None
    return said if said.get("ServerVersion") else None


def start(emit: cache.Emit) -> dict[str, Any]:
    """The engine's `info`, started first where it does not run. Raises errors.HostUnfit saying what to do."""
    said = info()
    if said is not None:
        return said
    if pathlib.Path("/run/systemd/system").exists():
        raise errors.HostUnfit("no Docker engine answers", next_step="systemctl start docker")
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        raise errors.HostUnfit(
            "no Docker engine answers, and none can be started here (dockerd missing, or not root)",
            next_step="scripts/bootstrap.sh as root, or start a Docker engine and set DOCKER_HOST",
        )
    if not within_bounds():
        _install_wrapper(emit)
    _clear_pid_file()
    log = cache.folder() / "engine" / "dockerd.log"
    log.parent.mkdir(exist_ok=True)
    emit("engine-starting", saying=f"starting dockerd; its log is {log}")
    with log.open("ab") as sink:
        daemon = subprocess.Popen(
            ["dockerd"], stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
        )
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and daemon.poll() is None:
        said = info()
        if said is not None:
            return said
        time.sleep(_CHECK_S)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
    raise errors.HostUnfit(
        f"dockerd did not come up within {_START_S:g} s; its last lines:\n{tail}", next_step=f"read {log}"
    )


def within_bounds() -> bool:
    """Whether the bounding set holds CAP_SYS_RESOURCE, which runc asks for in every privileged container."""
    status = pathlib.Path("/proc/self/status").read_text()
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:"))
    return bool(int(bounding, 16) >> _SYS_RESOURCE_BIT & 1)


def _install_wrapper(emit: cache.Emit) -> None:
    """Puts a runc that drops the missing capability before the engine; an existing daemon.json is the user's."""
    if _CONFIG.exists():
        if "within-bounds" not in _CONFIG.read_text():
            raise errors.HostUnfit(
                f"CAP_SYS_RESOURCE is not in the bounding set, and {_CONFIG} exists without our runc wrapper",
                next_step=f'add runtime "within-bounds" ({_WRAPPER}) as the default to {_CONFIG}, or remove that file',
            )
        return
    shutil.copy2(cache.KIND / "node-image/files/usr/local/sbin/runc-within-bounds", _WRAPPER)
    runtime = {"default-runtime": "within-bounds", "runtimes": {"within-bounds": {"path": str(_WRAPPER)}}}
    cache.write_whole(_CONFIG, json.dumps(runtime) + "\n")
    emit("engine-configured", saying="CAP_SYS_RESOURCE is missing here: runc drops it from every container")


def _clear_pid_file() -> None:
    """dockerd refuses to start while its pid file names any live process, also one that is no dockerd."""
    try:
        pid = int(_PID_FILE.read_text())
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except (OSError, ValueError):
        name = ""
    if name != "dockerd":
        _PID_FILE.unlink(missing_ok=True)


def image_id(reference: str) -> str | None:
    """The image's id (sha256:...), or None when the engine does not have it."""
    done = docker("image", "inspect", "--format", "{{.Id}}", reference, check=False)
    return done.stdout.strip() or None if done.returncode == 0 else None


def registry_answers(reference: str, emit: cache.Emit) -> bool:
    """Pulls `reference` (by digest); false, with the reason as an event, where no registry serves it."""
    done = docker("pull", "--quiet", reference, timeout_s=600, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        emit("image-choice", choice="build", saying=f"no registry serves {reference}, so it is built here ({reason})")
        return False
    emit("image-choice", choice="pull", saying=f"pulled {reference}")
    return True


def node_containers(cluster: str, role: str = "") -> list[str]:
    """The names of the cluster's node containers, running or not."""
    filters = [f"label=io.x-k8s.kind.cluster={cluster}"] + ([f"label=io.x-k8s.kind.role={role}"] if role else [])
    flags = [flag for one in filters for flag in ("--filter", one)]
    return sorted(docker("ps", "-a", "--format", "{{.Names}}", *flags).stdout.split())


def inspect(containers: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(docker("inspect", *containers).stdout) if containers else []
    return found


def ensure_network() -> bool:
    """Makes kind's network before kind would; true when it was missing. Two first clusters would make it twice.

    Without IPv6, which kind asks for and falls back from where the kernel's ip6tables has no nat.
    """
    if docker("network", "inspect", NETWORK, check=False).returncode == 0:
        return False
    docker("network", "create", "-d", "bridge", "-o", "com.docker.network.bridge.enable_ip_masquerade=true", NETWORK)
    return True


def remove_network_if_unused() -> bool:
    """Removes kind's network unless a container, running or not, is on it; true when it was removed."""
    on_it = docker("ps", "-aq", "--filter", f"network={NETWORK}").stdout.split()
    return not on_it and docker("network", "rm", NETWORK, check=False).returncode == 0
