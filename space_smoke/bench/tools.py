"""The programs a bench needs (kind, helm, and the binaries of a node image), at the versions of kind/versions.yaml.

For each: the one on PATH if it says the pinned version (kind and helm only), else the cache, else a prebuilt copy from
$SPACE_SMOKE_PREBUILT, taken only when both digests match, else compiled from Go modules. Which it was is an event and
is kept beside the program, never silent. Called by engine.up; `Pin` is also what doctor compares with.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import cache, proc

NODE_BINARIES = ("hyperkube", "etcd", "coredns", "local-path-provisioner", "pause")
_COMPILE_S = 1500.0
_UNPACK_S = 120.0


@dataclass(frozen=True, slots=True)
class Pin:
    """One program of versions.yaml. `source` is a folder below kind/binaries, or "install" for a published module."""

    name: str
    module: str
    version: str
    source: str
    package: str
    sha256: str
    zst_sha256: str
    stamp: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Changes with anything that changes the program, so that an old cache is never taken for a new recipe."""
        folder = [] if self.source == "install" else [cache.KIND / "binaries" / self.source]
        return f"{self.name}-{cache.digest([self.module, self.version, self.package, *self.stamp, *folder])}"

    @property
    def ldflags(self) -> str:
        """The linker's flags. Their order is part of the program's build id, hence of its digest."""
        flags = ["-s", "-w"]
        for variable in self.stamp:
            flags.append(f"-X {variable}={self.version}")
            if self.name == "hyperkube":  # kubeadm and kubelet refuse to work together under the module's own version
                major, minor, _ = self.version.removeprefix("v").split(".")
                base = variable.rpartition(".")[0]
                flags += [f"-X {base}.gitMajor={major}", f"-X {base}.gitMinor={minor}", f"-X {base}.gitTreeState=clean"]
        return " ".join(flags)


@dataclass(frozen=True, slots=True)
class Versions:
    """kind/versions.yaml."""

    kubernetes: str
    suite: str
    debian_pull: str
    node_pull: str
    names: Mapping[str, str]
    go: str
    pins: Mapping[str, Pin]


@functools.cache
def versions() -> Versions:
    """Reads the pins. Raises errors.BenchError where kind/ is not there: a bare wheel lacks it, a checkout has it."""
    path = cache.KIND / "versions.yaml"
    if not path.exists():
        raise errors.BenchError(
            f"{path} is missing: a bench is made from a checkout", next_step="run from a git checkout"
        )
    read: dict[str, Any] = yaml.safe_load(path.read_text())
    pins = {
        name: Pin(name=name, **{**fields, "stamp": tuple(fields.get("stamp", ()))})
        for name, fields in read["binaries"].items()
    }
    debian, node = read["debian"], read["node"]
    return Versions(read["kubernetes"], debian["suite"], debian["pull"], node["pull"], node["names"], read["go"], pins)


def obtain(name: str, emit: cache.Emit) -> pathlib.Path:
    """The path of program `name`. Raises errors.HostUnfit when it can neither be found, unpacked nor compiled."""
    pin = versions().pins[name]
    kept = cache.folder() / "binaries" / pin.key / name
    if kept.exists():
        return kept
    on_path = _on_path(pin)
    if on_path is not None:
        emit("tool", name=name, origin="PATH", detail=f"{on_path} is {pin.version}")
        return on_path
    with cache.workshop(f"binary-{pin.key}", emit, timeout_s=_COMPILE_S) as place:
        if kept.exists():  # another run made it while we waited
            return kept
        prebuilt = os.environ.get("SPACE_SMOKE_PREBUILT")
        origin = "prebuilt" if prebuilt and (pathlib.Path(prebuilt) / f"{name}.zst").exists() else "compiled"
        emit("tool", name=name, origin=origin, detail=f"{pin.module} {pin.version}")
        made = place / "out" / name
        made.parent.mkdir()
        if origin == "prebuilt":
            _unpack(pin, pathlib.Path(str(prebuilt)) / f"{name}.zst", made)
        else:
            _compile(pin, place, made)
        made.chmod(0o755)
        seen = cache.sha256_of(made)
        if seen != pin.sha256 and pin.source != "install":  # published modules are packed by others, with their flags
            emit(
                "tool",
                name=name,
                origin=origin,
                detail=f"other bytes than pinned (not made by {versions().go}): {seen}",
            )
        (made.parent / "origin.json").write_text(
            json.dumps({"origin": origin, "sha256": seen, "as_pinned": seen == pin.sha256, "version": pin.version})
        )
        kept.parent.parent.mkdir(exist_ok=True)
        made.parent.rename(kept.parent)
    return kept


def _on_path(pin: Pin) -> pathlib.Path | None:
    if pin.name not in ("kind", "helm"):
        return None
    found = shutil.which(pin.name)
    if found is None:
        return None
    asked = [found, "version"] if pin.name == "kind" else [found, "version", "--template", "{{.Version}} "]
    said = proc.run(asked, timeout_s=15, check=False).stdout
    return pathlib.Path(found) if f"{pin.version} " in said else None


def _unpack(pin: Pin, packed: pathlib.Path, made: pathlib.Path) -> None:
    _must_match(packed, pin.zst_sha256)
    proc.run(["zstd", "-dqf", str(packed), "-o", str(made)], timeout_s=_UNPACK_S)
    _must_match(made, pin.sha256, named=f"{packed} (unpacked)")


def _must_match(path: pathlib.Path, expected: str, *, named: str = "") -> None:
    seen = cache.sha256_of(path)
    if seen != expected:
        raise errors.BenchError(
            f"{named or path} has sha256 {seen}, and kind/versions.yaml expects {expected}: it is not used",
            next_step="replace that file, or unset SPACE_SMOKE_PREBUILT to compile from Go modules",
        )


def _compile(pin: Pin, place: pathlib.Path, made: pathlib.Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise errors.HostUnfit(
            f"{pin.name} {pin.version} is not cached, not in $SPACE_SMOKE_PREBUILT, and there is no Go on PATH to compile it",
            next_step=f"install Go ({versions().go}), or name a folder of prebuilt programs in SPACE_SMOKE_PREBUILT",
        )
    env = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    flags = ["-trimpath", "-ldflags", pin.ldflags]
    if pin.source == "install":
        argv = [go, "install", *flags, f"{pin.package}@{pin.version}"]
        proc.run(argv, timeout_s=_COMPILE_S, env={**env, "GOBIN": str(place / "bin")})
        next((place / "bin").iterdir()).rename(made)
    else:
        argv = [go, "build", "-mod=readonly", *flags, "-o", str(made), pin.package]
        proc.run(argv, timeout_s=_COMPILE_S, env=env, cwd=cache.KIND / "binaries" / pin.source)


if (
    __name__ == "__main__"
):  # python -m space_smoke.bench.tools NAME...: has them ready beforehand, so that no test compiles
    for wanted in sys.argv[1:]:
        print(obtain(wanted, lambda *_arguments, **_more: None))  # noqa: T201
