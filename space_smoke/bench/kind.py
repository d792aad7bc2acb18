"""kind: the configuration of a bench's cluster, creating it with milestones, its kubeconfig, and removing all of it.

kind itself stays as released. What is added here: it is refused when it would pull anything (its image must be in the
engine, one control plane only); the kubeconfig can be had as soon as the API server answers, long before kind is done;
removal is by label, so it needs no kind and also clears what a killed run left. Called by engine.up and engine.down.
"""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import cache, engine, images, proc, register

CREATE_S = 300.0
GROUP = "space-smoke.dev/group"  # the label of a node in kind/bench.yaml

# What kind says when a stage begins, and what that means to others.
MILESTONES = {"Starting control-plane": "nodes", "Installing CNI": "api"}


def _shape() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((cache.KIND / "bench.yaml").read_text())
    return read


def roles() -> list[str]:
    """The role of each node of a bench."""
    return [node["role"] for node in _shape()["nodes"]]


def groups() -> list[str]:
    """The node group of each node; "" for a node without one."""
    return [node.get("labels", {}).get(GROUP, "") for node in _shape()["nodes"]]


def configuration(node_image: images.NodeImage, audit_folder: pathlib.Path, api_port: int) -> dict[str, Any]:
    """bench.yaml with the kubeadm patches, the audit policy and the API server's port (0: any free one)."""
    config = _shape()
    planes = roles().count("control-plane")
    if planes != 1:
        raise errors.BenchError(
            f"kind/bench.yaml has {planes} control planes; kind pulls a load balancer unless it is 1",
            next_step="leave one control plane in kind/bench.yaml",
        )
    patches = ["every-node-image.yaml"] + (["built-node-image.yaml"] if node_image.built else [])
    texts = [text for name in patches for text in (cache.KIND / "kubeadm" / name).read_text().split("\n---\n")]
    mount = {"hostPath": str(audit_folder), "containerPath": "/kind/audit", "readOnly": True}
    for node in config["nodes"]:
        if node["role"] == "control-plane":
            node["extraMounts"] = [mount]
    networking = {"apiServerAddress": "127.0.0.1"} | ({"apiServerPort": api_port} if api_port else {})
    return config | {"kubeadmConfigPatches": texts, "networking": networking}


def create(
    kind: pathlib.Path, name: str, node_image: images.NodeImage, api_port: int, reached: Callable[[str], None]
) -> None:
    """Creates the cluster; `reached` is told "nodes" (they run, images may be loaded) and "api" (it answers).

    Raises errors.CommandFailed with kind's last lines; what kind made until then is left for `remove`.
    """
    if engine.image_id(node_image.reference) is None:
        raise errors.BenchError(
            f"node image {node_image.reference} is not in the engine; kind would pull it, which is never done unseen",
            next_step="space_smoke up --images build",
        )
    place = register.folder(name)
    audit = place / "audit"
    shutil.copytree(cache.KIND / "audit", audit, dirs_exist_ok=True)
    config = yaml.safe_dump(configuration(node_image, audit, api_port))
    # kind writes its kubeconfig last; ours is complete by then and is not touched by kind.
    argv = [str(kind), "create", "cluster", "--name", name, "--image", node_image.reference, "--retain"]
    argv += ["--kubeconfig", str(place / "kind.kubeconfig"), "--config", "-"]

    def tell(line: str) -> None:
        for said, milestone in MILESTONES.items():
            if said in line:
                reached(milestone)

    proc.run(argv, timeout_s=CREATE_S, stdin=config.encode(), on_line=tell)


def write_kubeconfig(kind: pathlib.Path, name: str) -> pathlib.Path:
    """Fetches the cluster's kubeconfig into the bench's folder, whole. It holds a key: only the owner may read it."""
    text = proc.run([str(kind), "get", "kubeconfig", "--name", name], timeout_s=60).stdout
    path = register.kubeconfig(name)
    part = path.with_suffix(".part")
    part.touch(mode=0o600)
    part.write_text(text)
    part.replace(path)
    return path


def remove(name: str) -> None:
    """Removes the cluster's containers and their volumes, running, stopped or half made. Verified, else BenchError.

    A volume has no name of its bench, only a container that uses it; killed when the container is gone and its volume is
    not, the next `remove` could not tell whose it is. So the volumes are written down in the bench's folder first.
    """
    containers, noted = engine.node_containers(name), register.folder(name) / "volumes"
    found = engine.inspect(containers) if containers else []
    volumes = {mount["Name"] for one in found for mount in one["Mounts"] if mount["Type"] == "volume"}
    volumes |= set(noted.read_text().split()) if noted.exists() else set()
    if volumes and noted.parent.exists():
        part = noted.with_suffix(".part")
        part.write_text("\n".join(sorted(volumes)))
        part.replace(noted)
    if containers:
        engine.docker("rm", "--force", "--volumes", *containers, timeout_s=120)
    if orphans := sorted(volumes & _volumes()):
        engine.docker("volume", "rm", "--force", *orphans, timeout_s=60)
    left, kept = engine.node_containers(name), sorted(volumes & _volumes())
    if left or kept:
        raise errors.BenchError(
            f"of cluster {name} there remain containers {left} and volumes {kept}",
            next_step=f"docker rm -fv {' '.join(left)}; docker volume rm {' '.join(kept)}",
        )


def _volumes() -> set[str]:
    return set(engine.docker("volume", "ls", "--quiet").stdout.split())
