"""How long `up` takes beside bare kind and beside the same steps by hand, in one run, images present.

    .venv/bin/python benchmarks/bring_up.py [ROUNDS]

bare   kind create cluster of the same shape and image, deleted again
hand   kind create --wait, kind load docker-image per image, helm upgrade --install --wait one release after another
up     space_smoke up, under a bench name of its own
Prints seconds of each round and the ratios of the medians. Needs a bench that was up once (`space_smoke up`), for its images.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from space_smoke.bench import images, kind, proc, releases, tools
from space_smoke.engine import down, up

NAME = "benchmark"


def quiet(*_arguments: object, **_more: object) -> None:
    """Nobody listens."""


def timed(what: Callable[[], object]) -> float:
    started = time.monotonic()
    what()
    return time.monotonic() - started


def bare(place: Path, *, wait: bool) -> None:
    program = str(tools.obtain("kind", quiet))
    node = images.node(quiet)
    (place / "audit").mkdir(exist_ok=True)
    (place / "audit" / "policy.yaml").write_text((Path("kind/audit/policy.yaml")).read_text())
    config = yaml.safe_dump(kind.configuration(node, place / "audit", 0)).encode()
    argv = [
        program,
        "create",
        "cluster",
        "--name",
        NAME,
        "--image",
        node.reference,
        "--kubeconfig",
        str(place / "config"),
    ]
    proc.run([*argv, *(["--wait", "120s"] if wait else []), "--config", "-"], timeout_s=300, stdin=config)


def by_hand(place: Path) -> None:
    bare(place, wait=True)
    program, helm = str(tools.obtain("kind", quiet)), str(tools.obtain("helm", quiet))
    built = images.services(images.base(quiet), quiet)
    for image in built.values():
        proc.run([program, "load", "docker-image", image.reference, "--name", NAME], timeout_s=600)
    for stage in releases.stages():
        for planned in stage:
            argv = [helm, "upgrade", "--install", planned.release, str(planned.chart), "--namespace", planned.namespace]
            argv += ["--create-namespace", "--wait", "--timeout", "180s", "--kubeconfig", str(place / "config")]
            argv += [word for file in planned.values for word in ("--values", str(file))]
            argv += [word for key, value in planned.sets(built).items() for word in ("--set", f"{key}={value}")]
            proc.run(argv, timeout_s=240)


def remove() -> None:
    proc.run([str(tools.obtain("kind", quiet)), "delete", "cluster", "--name", NAME], timeout_s=120)


def one_round(name: str) -> float:
    """Seconds of one bring-up; what it made is removed outside the clock."""
    if name == "up":
        seconds = timed(lambda: up.up(up.UpOptions(name=NAME), quiet))
        down.down(NAME, quiet)
        return seconds
    with tempfile.TemporaryDirectory() as folder:
        seconds = timed(lambda: by_hand(Path(folder)) if name == "hand" else bare(Path(folder), wait=False))
        remove()
        return seconds


def main(rounds: int) -> None:
    figures: dict[str, list[float]] = {"bare": [], "hand": [], "up": []}
    for number in range(rounds):
        for name in figures:
            figures[name].append(one_round(name))
            print(f"round {number + 1} {name:<5} {figures[name][-1]:6.1f} s", flush=True)
    middle = {name: statistics.median(seconds) for name, seconds in figures.items()}
    for other in ("bare", "hand"):
        print(f"up / {other}: {middle['up']:.1f} s / {middle[other]:.1f} s = {middle['up'] / middle[other]:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
