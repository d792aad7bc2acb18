"""The images of a bench: kind's node image, one image per target of kind/images/Dockerfile on a Debian base, and, where it
is asked for, the one of kind/images/telemetry.Dockerfile.

Pulled by digest where a registry answers, built from Debian packages and Go modules where none does; which of the two
is an event. Everything is named by a digest of what it is made of (`space-smoke/node:v1.34.4-KEY`), so a changed recipe
builds anew and an unchanged one is never built twice. Nothing is ever called `latest`. Called by engine.up.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from space_smoke import errors
from space_smoke.bench import cache, engine, proc, tools

TARGETS = ("services", "redis", "postgres")
TELEMETRY = "telemetry"
EVERY = (*TARGETS, TELEMETRY)
_DEBOOTSTRAP_S = 900.0
_BUILD_S = 600.0


@dataclass(frozen=True, slots=True)
class Image:
    """An image the engine has. `identity` is its id (sha256:...); repository and tag are what charts are given."""

    repository: str
    tag: str
    identity: str

    @property
    def reference(self) -> str:
        return f"{self.repository}:{self.tag}"


@dataclass(frozen=True, slots=True)
class NodeImage:
    """`built` tells ours from a published one: it decides the kubelet's cgroup driver and how images are loaded."""

    reference: str
    identity: str
    kubernetes: str
    built: bool


def node(emit: cache.Emit, *, named: str = "", policy: str = "auto") -> NodeImage:
    """The node image: `named` if the engine has it, else pulled (policy auto, pull) or built (auto, build)."""
    pins = tools.versions()
    if named:
        return _named_node(named)
    built = f"space-smoke/node:{pins.kubernetes}-{_node_key()}"
    for reference, ours in ((built, True), (pins.node_pull, False)):
        identity = engine.image_id(reference) if policy in ("auto", "build" if ours else "pull") else None
        if identity:
            return NodeImage(reference, identity, _version_of(reference), ours)
    if policy != "build" and engine.registry_answers(pins.node_pull, emit):
        return NodeImage(
            pins.node_pull, engine.image_id(pins.node_pull) or "", _version_of(pins.node_pull), built=False
        )
    if policy == "pull":
        raise errors.HostUnfit(f"{pins.node_pull} could not be pulled", next_step="repeat with --images build")
    _build_node(built, emit)
    identity = engine.image_id(built)
    assert identity is not None, "the build ended well"
    return NodeImage(built, identity, pins.kubernetes, built=True)


def _named_node(reference: str) -> NodeImage:
    identity = engine.image_id(reference)
    if identity is None:
        raise errors.HostUnfit(
            f"node image {reference} is not in the engine; kind would pull it, which is never done unseen",
            next_step=f"docker pull {reference}",
        )
    return NodeImage(reference, identity, _version_of(reference), reference.startswith("space-smoke/node:"))


def _version_of(reference: str) -> str:
    return reference.partition("@")[0].rpartition(":")[2].partition("-")[0]


def _node_key() -> str:
    pins = tools.versions()
    programs = [pins.pins[name].key for name in tools.NODE_BINARIES]
    script = cache.KIND / "debian-root.sh"
    return cache.digest([pins.suite, *pins.names.values(), *programs, script, cache.KIND / "node-image"])[:12]


def _build_node(tag: str, emit: cache.Emit) -> None:
    _root_only("building the node image")
    binaries = {name: tools.obtain(name, emit) for name in tools.NODE_BINARIES}
    pins = tools.versions()
    debian = debian_root(cache.KIND / "node-image" / "packages.txt", emit)
    with cache.workshop(f"node-{tag.rpartition('-')[2]}", emit, timeout_s=_BUILD_S) as place:
        if engine.image_id(tag):
            return
        gathered = place / "binaries"
        gathered.mkdir()
        for name, path in binaries.items():
            (gathered / name).symlink_to(path)
        script = str(cache.KIND / "node-image" / "build.sh")
        argv = [script, str(gathered), str(debian), str(place / "work"), tag]
        names = {f"{name.upper()}_NAME": reference for name, reference in pins.names.items()}
        env = {"KUBERNETES_VERSION": pins.kubernetes, **names}
        proc.run(proc.contained(argv), timeout_s=_BUILD_S, env=env, on_line=lambda line: emit("progress", saying=line))


def debian_root(packages: pathlib.Path, emit: cache.Emit) -> pathlib.Path:
    """A tar archive of a minimal Debian with the packages that a file lists; made by debootstrap where it is missing."""
    _root_only("debootstrap")
    if shutil.which("debootstrap") is None:
        raise errors.HostUnfit("debootstrap is not on PATH", next_step="scripts/bootstrap.sh as root")
    suite = tools.versions().suite
    script = cache.KIND / "debian-root.sh"
    key = cache.digest([suite, script, packages])
    kept = cache.folder() / "debian" / f"{key}.tar"
    if not kept.exists():
        with cache.workshop(f"debian-{key}", emit, timeout_s=_DEBOOTSTRAP_S) as place:
            if not kept.exists():
                emit("progress", saying=f"debootstrap of {suite} for {packages.relative_to(cache.KIND)}")
                kept.parent.mkdir(exist_ok=True)
                argv = [str(script), suite, str(packages), str(place), str(kept)]
                proc.run(proc.contained(argv), timeout_s=_DEBOOTSTRAP_S)
    return kept


def base(emit: cache.Emit, *, policy: str = "auto", name: str = "base") -> str:
    """The reference of the Debian image that images of ours start from; `name`-packages.txt lists what is in it."""
    pins = tools.versions()
    packages = cache.KIND / "images" / f"{name}-packages.txt"
    key = cache.digest([pins.suite, cache.KIND / "debian-root.sh", packages])[:12]
    built = f"space-smoke/{name}:{pins.suite}-{key}"
    if policy != "pull" and engine.image_id(built):
        return built
    if policy != "build" and (engine.image_id(pins.debian_pull) or engine.registry_answers(pins.debian_pull, emit)):
        return pins.debian_pull
    if policy == "pull":
        raise errors.HostUnfit(f"{pins.debian_pull} could not be pulled", next_step="repeat with --images build")
    with cache.lock(f"base-{key}", emit, timeout_s=_DEBOOTSTRAP_S):
        if not engine.image_id(built):  # another run may have made it while we waited
            archive = debian_root(packages, emit)
            engine.docker("import", str(archive), built, timeout_s=_BUILD_S)
            archive.unlink()  # the engine has it now, and the archive is as large
    return built


def for_releases(named: Collection[str], emit: cache.Emit, *, policy: str = "auto") -> dict[str, Image]:
    """The images of a bench by their name: those that every bench has, and of the others the ones that are `named`."""
    made = services(base(emit, policy=policy), emit)
    return {**made, TELEMETRY: telemetry(emit, policy=policy)} if TELEMETRY in named else made


def services(base_reference: str, emit: cache.Emit) -> dict[str, Image]:
    """One image per target of kind/images/Dockerfile, by target. Built where the engine lacks what the inputs name."""
    recipe = cache.KIND / "images"
    common: list[str | pathlib.Path] = [engine.image_id(base_reference) or base_reference, recipe]
    keys = {target: cache.digest([target, *common])[:12] for target in TARGETS}
    keys["services"] = cache.digest(["services", *common, *_service_sources()])[:12]
    missing = [target for target in TARGETS if engine.image_id(_made(target, keys[target])) is None]
    if missing:
        with cache.workshop("service-images", emit, timeout_s=_BUILD_S) as place:
            _fill(place, emit)
            for target in missing:
                _build(target, keys[target], base_reference, place, emit)
    return {target: _named(target, keys[target]) for target in TARGETS}


def telemetry(emit: cache.Emit, *, policy: str = "auto") -> Image:
    """The image of the backends of telemetry: Prometheus as Debian packages it, VictoriaLogs from Go modules."""
    base_reference, file = base(emit, policy=policy, name="telemetry-base"), "telemetry.Dockerfile"
    program = tools.obtain("victoria-logs", emit)
    based_on = engine.image_id(base_reference) or base_reference
    key = cache.digest([TELEMETRY, based_on, cache.KIND / "images" / file, program])[:12]
    if engine.image_id(_made(TELEMETRY, key)) is None:
        with cache.workshop("telemetry-image", emit, timeout_s=_BUILD_S) as place:
            shutil.copy2(program, place)
            _build(TELEMETRY, key, base_reference, place, emit, file)
    return _named(TELEMETRY, key)


def _service_sources() -> list[str | pathlib.Path]:
    folder = cache.PROJECT / "services"
    left_out = ("tests", "__pycache__")  # and what linters keep in hidden folders
    return [path for path in sorted(folder.iterdir()) if path.name not in left_out and path.name[0] != "."]


def _made(target: str, key: str) -> str:
    return f"space-smoke/{target}:in-{key}"


def _named(target: str, key: str) -> Image:
    """The image under the name that charts get: its tag says which image it is, not what it was made of."""
    identity = engine.image_id(_made(target, key))
    assert identity is not None, "built a moment ago"
    image = Image(f"space-smoke/{target}", identity.removeprefix("sha256:")[:12], identity)
    if engine.image_id(image.reference) != identity:
        engine.docker("tag", _made(target, key), image.reference)
    return image


def _fill(place: pathlib.Path, emit: cache.Emit) -> None:
    """The build context: the services without their tests, their wheels, and the entrypoint scripts."""
    ignored = shutil.ignore_patterns("tests", "__pycache__", ".*")
    shutil.copytree(cache.PROJECT / "services", place / "services", ignore=ignored)
    shutil.copytree(_wheels(emit), place / "site")
    for script in (cache.KIND / "images").glob("*.sh"):
        shutil.copy2(script, place)


def _wheels(emit: cache.Emit) -> pathlib.Path:
    """The services' dependencies, installed here: inside `docker build` a registry need not be reachable."""
    requirements = cache.PROJECT / "services" / "requirements.txt"
    key = cache.digest([requirements])
    kept = cache.folder() / "wheels" / key
    if not kept.exists():
        with cache.workshop(f"wheels-{key}", emit, timeout_s=_BUILD_S) as place:
            if not kept.exists():
                # For bookworm's Python and machine, whatever this process runs on.
                argv = [
                    sys.executable,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--no-compile",
                ]
                argv += ["--require-hashes", "--only-binary", ":all:", "--target", str(place / "site")]
                argv += ["--python-version", "3.11", "--implementation", "cp", "--requirement", str(requirements)]
                argv += [f"--platform=manylinux{tag}_{os.uname().machine}" for tag in ("2014", "_2_17", "_2_28")]
                proc.run(argv, timeout_s=_BUILD_S)
                kept.parent.mkdir(exist_ok=True)
                (place / "site").rename(kept)
    return kept


def _build(
    target: str, key: str, base_reference: str, context: pathlib.Path, emit: cache.Emit, file: str = "Dockerfile"
) -> None:
    emit("progress", saying=f"building image {target}")
    argv = ["docker", "build", "--quiet", "--file", str(cache.KIND / "images" / file), "--target", target]
    argv += ["--build-arg", f"BASE={base_reference}", "--build-arg", f"VERSION={key}", "--tag", _made(target, key)]
    # The classic builder is on every engine; BuildKit's own needs a plugin that not every engine has.
    proc.run([*argv, str(context)], timeout_s=_BUILD_S, env={"DOCKER_BUILDKIT": "0"})


def _root_only(what: str) -> None:
    if os.geteuid() != 0:
        raise errors.HostUnfit(f"{what} needs root, and no registry serves the images instead", next_step="run as root")


def table(images: Mapping[str, Image]) -> dict[str, str]:
    """Reference by identity, for reports and for bench.json."""
    return {image.reference: image.identity for image in images.values()}
