"""One image, made as `up` makes it and put onto the nodes as `up` puts it: what Tilt runs when a source changes.

    python -m space_smoke.bench.dev_image services --onto BENCH --reference-to FILE [--live]

The reference, whose tag says what is in the image, is the file's only line: the contract of Tilt's custom_build with
outputs_image_ref_to. `--live` adds the layer of kind/live, which takes changed Python code without a new image. Holds
the bench's lock while it loads, since nodes are changed by one at a time. Called by the Tiltfile.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from space_smoke import errors
from space_smoke.bench import cache, engine, images, nodes, proc, register, tools

_LIVE = cache.KIND / "live"
_LOCK_S = 600.0
_BUILD_S = 120.0


def onto(target: str, bench: str, emit: cache.Emit, *, live: bool) -> images.Image:
    """Makes image `target` present on every worker of Kind cluster `bench`. Raises errors.BenchError."""
    if not engine.node_containers(bench, "worker"):
        raise errors.BenchError(
            f"no Kind cluster {bench} with workers runs on this engine", next_step=f"space_smoke up --name {bench}"
        )
    image = images.telemetry(emit) if target == images.TELEMETRY else images.services(images.base(emit), emit)[target]
    if live:
        image = with_live_layer(image, emit)
    entry = register.read(bench)
    with cache.lock(f"bench-{bench}", emit, timeout_s=_LOCK_S):
        linkable = entry is not None and entry.built_node_image
        nodes.load(bench, [image], tools.obtain("kind", emit), emit, linkable=linkable)
    return image


def with_live_layer(image: images.Image, emit: cache.Emit) -> images.Image:
    """`image` with the layer of kind/live above it, under the same repository and a tag of its own."""
    key = cache.digest([image.identity, _LIVE])[:12]
    made = f"{image.repository}:live-in-{key}"
    if engine.image_id(made) is None:
        emit("progress", saying=f"building the live layer of {image.reference}")
        argv = ["docker", "build", "--quiet", "--build-arg", f"BASE={image.reference}", "--tag", made, str(_LIVE)]
        proc.run(argv, timeout_s=_BUILD_S, env={"DOCKER_BUILDKIT": "0"})
    identity = engine.image_id(made)
    assert identity is not None, "built a moment ago"
    named = images.Image(image.repository, f"live-{identity.removeprefix('sha256:')[:12]}", identity)
    if engine.image_id(named.reference) != identity:
        engine.docker("tag", made, named.reference)
    return named


def main(argv: Sequence[str], build: Callable[..., images.Image] = onto) -> int:
    """The command; 0, or the exit code of what went wrong, told on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m space_smoke.bench.dev_image", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("target", choices=images.EVERY, help="one of the images of ours")
    parser.add_argument("--onto", required=True, metavar="BENCH", help="the Kind cluster whose workers get the image")
    parser.add_argument("--reference-to", required=True, type=pathlib.Path, metavar="FILE", help="where to name it")
    parser.add_argument("--live", action="store_true", help="with the layer that takes changed Python code")
    given = parser.parse_args(argv)
    try:
        image = build(given.target, given.onto, _tell, live=given.live)
    except errors.SpaceSmokeError as error:
        sys.stderr.write(f"dev_image: {error}\n")
        return error.exit_code
    cache.write_whole(given.reference_to, f"{image.reference}\n")
    return errors.PASSED


def _tell(_event: str, **data: Any) -> None:
    if data.get("saying"):
        sys.stderr.write(f"{data['saying']}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
