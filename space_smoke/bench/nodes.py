"""Puts the engine's images into the nodes of a bench, by hard links where that is possible.

`kind load` saves, hashes and unpacks an image once per node (39 s for 270 MB and three nodes). On overlay2, the
engine's own unpacked layers are hard-linked into the nodes' snapshots instead (1.3 s for two): both sides treat layers
as read-only, so sharing the files is safe, also after either side deletes its link. Where the engine stores layers
another way, or the node image is not ours, `kind load` is used and said. Called by engine.up; may run while kubeadm
does.
"""

from __future__ import annotations

import hashlib
import io
import json
import pathlib
import tarfile
from collections.abc import Iterable, Sequence
from concurrent import futures
from dataclasses import dataclass
from typing import Any

from space_smoke.bench import cache, engine, images, proc

_LOAD_S = 300.0
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"

# In the node: commits a still empty snapshot for every chain that is missing and prints "chain folder" for each that is
# to be filled. `.filling` remembers them, so that a load that was killed before it filled them is known as such; those
# of images that are no longer wanted are removed, children first.
_PREPARE = r"""
set -eu
filling=/var/lib/containerd/.filling
ctr() { command ctr -n k8s.io "$@"; }
touch $filling
wanted=$(cat)
tac $filling | while read -r chain _; do
  case $wanted in *"$chain"*) continue ;; esac
  ctr snapshots --snapshotter overlayfs rm "$chain" >/dev/null 2>&1 || true
  sed -i "/^$chain /d" $filling
done
have=$(ctr snapshots --snapshotter overlayfs ls | awk '{print $1}')
echo "$wanted" | while read -r chain parent; do
  case " $(echo $have) " in *" $chain "*) continue ;; esac
  sed -i "/^$chain /d" $filling
  ctr snapshots --snapshotter overlayfs rm "load-$chain" >/dev/null 2>&1 || true
  mounts=$(ctr snapshots --snapshotter overlayfs prepare --target /target "load-$chain" $parent)
  # One layer is a bind mount of its folder, a further one an overlay whose upper folder it is.
  folder=$(echo "$mounts" | grep -oE '(upperdir=)?/var/lib/containerd/[^, :]*/fs' | sort -r | head -1)
  echo "$chain ${folder#*=}" >>$filling
  ctr snapshots --snapshotter overlayfs commit "$chain" "load-$chain"
done
cat $filling
"""

# Once filled: import manifests and configs, tie the snapshots to their configs (an image without layers has no other
# hold on them, and containerd would collect them as garbage), and see that all are still there.
_FINISH = r"""
set -eu
ctr() { command ctr -n k8s.io "$@"; }
ctr images import --no-unpack --all-platforms - >/dev/null
for pair in "$@"; do
  ctr content label "${pair%=*}" "containerd.io/gc.ref.snapshot.overlayfs=${pair#*=}" >/dev/null
done
have=$(ctr snapshots --snapshotter overlayfs ls | awk '{print $1}')
for pair in "$@"; do
  case " $(echo $have) " in *" ${pair#*=} "*) ;; *) echo "snapshot ${pair#*=} was collected" >&2; exit 1 ;; esac
done
rm -f /var/lib/containerd/.filling
"""


@dataclass(frozen=True, slots=True)
class _Layers:
    """An image as the engine stores it: its config, and per layer, lowest first, the chain id and unpacked folder."""

    reference: str
    identity: str
    config: bytes
    diffs: tuple[str, ...]
    chains: tuple[str, ...]
    folders: tuple[str, ...]


def load(cluster: str, wanted: Sequence[images.Image], kind: pathlib.Path, emit: cache.Emit, *, linkable: bool) -> None:
    """Makes `wanted` present on every worker of `cluster`. Raises errors.BenchError when one could not be loaded."""
    workers = engine.node_containers(cluster, "worker")
    layers = _stored(wanted) if linkable else None
    if layers is None:
        emit(
            "image-load",
            how="kind load",
            saying="layers cannot be linked on this engine, so images are copied (slower)",
        )
        references = [image.reference for image in wanted]
        argv = [str(kind), "load", "docker-image", *references, "--name", cluster, "--nodes", ",".join(workers)]
        proc.run(argv, timeout_s=_LOAD_S)
        return
    with futures.ThreadPoolExecutor(max_workers=max(1, len(workers))) as pool:
        for done in [pool.submit(_link, worker, layers) for worker in workers]:
            done.result()


def present(node: str, references: Iterable[str]) -> bool:
    """Whether `node` has all images, named as Docker names them."""
    listed = engine.docker("exec", node, "ctr", "-n", "k8s.io", "images", "ls", "-q").stdout.split()
    return all(_full(reference) in listed for reference in references)


def _stored(wanted: Sequence[images.Image]) -> list[_Layers] | None:
    """What to link, or None when the engine's layers cannot be: another driver, a remote engine, no permission."""
    said = engine.info() or {}
    root = pathlib.Path(said.get("DockerRootDir", "/nonexistent"))
    inspected: list[dict[str, Any]] = json.loads(
        engine.docker("image", "inspect", *[i.identity for i in wanted]).stdout
    )
    found = []
    for image, seen in zip(wanted, inspected, strict=True):
        config = root / "image/overlay2/imagedb/content/sha256" / image.identity.removeprefix("sha256:")
        try:
            content = config.read_bytes()
        except OSError:
            return None
        data = (seen.get("GraphDriver") or {}).get("Data") or {}
        lower = (data.get("LowerDir") or "").split(":")
        folders = [folder for folder in [data.get("UpperDir", ""), *lower] if folder][::-1]
        diffs = seen["RootFS"]["Layers"]
        if said.get("Driver") != "overlay2" or len(diffs) != len(folders):
            return None
        found.append(_Layers(image.reference, image.identity, content, tuple(diffs), _chains(diffs), tuple(folders)))
    return found


def _chains(diffs: Sequence[str]) -> tuple[str, ...]:
    """The OCI chain ids: of the first layer its diff id, of each further one the digest of "parent diff"."""
    chains: list[str] = []
    for diff in diffs:
        chains.append(f"sha256:{hashlib.sha256(f'{chains[-1]} {diff}'.encode()).hexdigest()}" if chains else diff)
    return tuple(chains)


def _link(node: str, layers: Sequence[_Layers]) -> None:
    mounts = engine.inspect([node])[0]["Mounts"]
    var = next(mount["Source"] for mount in mounts if mount["Destination"] == "/var")
    sources: dict[str, str] = {}
    order: list[str] = []
    for image in layers:
        for position, chain in enumerate(image.chains):
            if chain not in sources:
                sources[chain] = image.folders[position]
                order.append(f"{chain} {image.chains[position - 1] if position else ''}".strip())
    text = "\n".join(order) + "\n"
    said = engine.docker("exec", "-i", node, "sh", "-c", _PREPARE, stdin=text.encode(), timeout_s=_LOAD_S)
    for line in said.stdout.splitlines():
        chain, folder = line.split()
        target = f"{var}{folder.removeprefix('/var')}"
        # A load that was killed may have filled some of it, and a link that exists is refused: so it is replaced.
        proc.run(["cp", "-al", "--remove-destination", f"{sources[chain]}/.", f"{target}/"], timeout_s=_LOAD_S)
    pairs = [f"{image.identity}={image.chains[-1]}" for image in layers]
    archive = _archive(layers)
    engine.docker("exec", "-i", node, "sh", "-c", _FINISH, "sh", *pairs, stdin=archive, timeout_s=_LOAD_S)


def _archive(layers: Sequence[_Layers]) -> bytes:
    """An OCI layout without layers: the manifest and the config are all that a node reads of an unpacked image."""
    files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}
    entries = []
    for image in layers:
        blobs = [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": d, "size": 1} for d in image.diffs]
        config = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": image.identity}
        config_size = {"size": len(image.config)}
        manifest = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": config | config_size, "layers": blobs}
        body = json.dumps(manifest).encode()
        digest = hashlib.sha256(body).hexdigest()
        files[f"blobs/sha256/{image.identity.removeprefix('sha256:')}"] = image.config
        files[f"blobs/sha256/{digest}"] = body
        named = {"annotations": {"io.containerd.image.name": _full(image.reference)}}
        entries.append({"mediaType": _MANIFEST, "digest": f"sha256:{digest}", "size": len(body)} | named)
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": entries}).encode()
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, body in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return sink.getvalue()


def _full(reference: str) -> str:
    """The name containerd knows an image by: registry and namespace are never left out."""
    first, slash, _ = reference.partition("/")
    if not slash:
        return f"docker.io/library/{reference}"
    return reference if "." in first or ":" in first or first == "localhost" else f"docker.io/{reference}"
