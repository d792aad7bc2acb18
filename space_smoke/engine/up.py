"""Bringing a bench up: one visible list, from host preflight to the next command to type.

`up` twice gives the same bench, verified: what is there and as wanted is left alone, what differs is upgraded, what a
killed run left half made is removed and made again. Steps that do not need each other overlap; the list's order is the
order of doing it by hand. What each step does is in `bringup` and `releasing`. Called by the command, engine.run and the suite.
"""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.bench import cache, register
from space_smoke.engine import beforehand, bringup, releasing, steps

Step = steps.Step
UpOptions = bringup.UpOptions

STEPS: tuple[steps.Step[bringup.Work], ...] = (
    Step("doctor", "looking at this machine", bringup.look_at_host),
    Step("engine", "asking the Docker engine", bringup.start_engine, ("doctor",)),
    Step("left-overs", "looking for what an earlier run left", bringup.clear_leftovers, ("engine",)),
    Step("tools", "finding kind and helm", bringup.find_tools, ("doctor",)),
    Step("node image", "finding or building the node image", bringup.node_image, ("engine",)),
    Step("cluster", "creating the cluster", bringup.cluster, ("left-overs", "tools", "node image")),
    Step("service images", "finding or building the service images", bringup.service_images, ("engine",)),
    # The marks `nodes` and `api` are reached half way through `cluster`.
    Step("images onto nodes", "loading images into the workers", bringup.load_images, ("service images", "nodes")),
    Step("namespaces", "waiting for the API server, making namespaces and volumes", beforehand.namespaces, ("api",)),
    Step("node groups", "checking the nodes and their groups", bringup.node_groups, ("cluster", "namespaces")),
    Step("routes and DNS", "waiting for pod routes and DNS", bringup.routes_and_dns, ("cluster", "namespaces")),
    Step("releases", "installing releases", releasing.install, ("images onto nodes", "namespaces")),
    Step("health gate", "reading everything afresh", releasing.health, ("node groups", "routes and DNS", "releases")),
)


@dataclass(frozen=True, slots=True)
class BenchHandle:
    """A bench that is up. `images` maps references on the workers to ids; `step_seconds` is wall time by step."""

    name: str
    kubeconfig: pathlib.Path
    context: str
    node_image: str
    node_image_id: str
    images: Mapping[str, str]
    kubernetes: str
    step_seconds: Mapping[str, float]
    reused: bool
    backend: str = "kind"


def up(options: UpOptions, emit: cache.Emit) -> BenchHandle:
    """Brings bench `options.name` up and returns it once all of it answers.

    Raises errors.UsageError (name), errors.HostUnfit (machine), errors.Refused (a cluster that is not ours has the
    name), errors.BenchError and its kinds (what did not come). What was made until then stays: the next `up` goes on
    from it.
    """
    register.check_name(options.name)
    told = _one_at_a_time(emit)
    with cache.lock(f"bench-{options.name}", told, timeout_s=bringup.LOCK_S):
        work = bringup.Work(options, told)
        steps.run(STEPS, work, work.marks, told)
    handle = BenchHandle(
        name=options.name,
        kubeconfig=register.kubeconfig(options.name),
        context=f"kind-{options.name}",
        node_image=work.node.reference,
        node_image_id=work.node.identity,
        images=dict(work.entry.images),
        kubernetes=work.node.kubernetes,
        step_seconds=dict(work.marks.seconds),
        reused=work.reused,
    )
    told("up", bench=options.name, kubeconfig=str(handle.kubeconfig), next="space_smoke run --all")
    return handle


def _one_at_a_time(emit: cache.Emit) -> cache.Emit:
    """`emit` for several threads."""
    turn = threading.Lock()

    def told(event: str, **data: Any) -> None:
        with turn:
            emit(event, **data)

    return told
