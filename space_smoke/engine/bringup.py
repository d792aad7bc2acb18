"""What the steps of `up` do. Each takes the work so far, adds to it, and returns a few words on the result.

Whatever is found is verified before it is relied on; whatever is changed is written to bench.json after it is done, so
that a kill between the two repeats the act instead of skipping it. Called by engine.up only, in the order of its list.
"""

from __future__ import annotations

import dataclasses
import pathlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from space_smoke import errors
from space_smoke.bench import (
    cache,
    engine,
    images,
    kind,
    kube,
    nodes,
    ready,
    register,
    releases,
    tools,
    wait,
)
from space_smoke.engine import doctor, down, steps
from space_smoke.model import objects

LOCK_S = 900.0
_RETURN_S = 90.0


@dataclass(frozen=True, slots=True)
class UpOptions:
    """`images` is auto, pull or build; `node_image` names one the engine has instead. `api_port` 0 means any free one.

    `ephemeral` benches belong to one run and are reaped after it died; `recreate` removes an existing bench first;
    `timeout_s` bounds each wait, not the whole; `extras` are optional releases that are wanted as well.
    """

    name: str = "space-smoke"
    images: str = "auto"
    node_image: str = ""
    api_port: int = 0
    run_id: str = ""
    ephemeral: bool = False
    recreate: bool = False
    timeout_s: float = 180.0
    extras: tuple[str, ...] = ()


class Work:
    """The work so far. Each attribute is set by one step, and read only by steps that come after it."""

    kind: pathlib.Path
    helm: pathlib.Path
    node: images.NodeImage
    services: Mapping[str, images.Image]
    kube: kube.Kube
    entry: register.Entry

    def __init__(self, options: UpOptions, emit: cache.Emit) -> None:
        self.options = options
        self.emit = emit
        self.marks = steps.Marks()
        self.reused = False
        before = None if options.recreate else register.read(options.name)
        self.stages = releases.stages(extras={*options.extras, *releases.kept(before.releases if before else ())})
        self.planned = [planned for stage in self.stages for planned in stage]
        self._writing = threading.Lock()

    def record(self, change: Callable[[register.Entry], Mapping[str, Any]]) -> None:
        """Changes fields of the bench's entry, on disk first."""
        with self._writing:
            entry = dataclasses.replace(self.entry, **change(self.entry))
            register.write(entry)
            self.entry = entry


class UntilFailure(kube.Kube):
    """Once a step has failed, the next read of any other raises: no wait of this `up` goes on in the background."""

    def __init__(self, kubeconfig: pathlib.Path, marks: steps.Marks) -> None:
        super().__init__(kubeconfig)
        self._marks = marks

    def send(self, method: str, path: str, **options: Any) -> tuple[int, kube.Json]:
        if self._marks.failure is not None:
            raise errors.WaitFailed("ended, because another step failed", last="")
        return super().send(method, path, **options)


def look_at_host(work: Work) -> str:
    findings = doctor.examine(doctor.read(work.options.api_port, work.options.name))
    for finding in findings:
        if not finding.ok:
            work.emit("finding", name=finding.name, value=finding.value, rule=finding.rule, fix=finding.fix)
    doctor.require(findings)
    return f"{len(findings)} findings, {sum(not finding.ok for finding in findings)} to improve"


def start_engine(work: Work) -> str:
    said = engine.start(work.emit)
    if engine.ensure_network():
        (cache.folder() / "network-made").touch()
    return f"Docker {said['ServerVersion']}, {said['Driver']}, cgroup v{said.get('CgroupVersion', '?')}"


def clear_leftovers(work: Work) -> str:
    """This bench first, then those that other dead runs left; whoever waits for the cluster waits for both."""
    told = _clear_own(work)
    reaped = down.reap(work.emit)
    return f"{told}; reaped {', '.join(reaped)}" if reaped else told


def _clear_own(work: Work) -> str:
    name = work.options.name
    entry = register.read(name)
    if entry is None:
        # Killed before bench.json was written, there can be files but no containers; others' clusters are refused.
        down.erase(name, work.emit)
        return "nothing there"
    if work.options.recreate:
        down.erase(name, work.emit)
        return "removed, as asked"
    if entry.state != register.READY:
        work.emit(
            "left-over", bench=name, saying=f"{name} was left half made by pid {entry.maker.pid}: making it again"
        )
        down.erase(name, work.emit)
        return f"removed what pid {entry.maker.pid} left half made"
    return "a finished bench"


def find_tools(work: Work) -> str:
    work.kind, work.helm = tools.obtain("kind", work.emit), tools.obtain("helm", work.emit)
    pins = tools.versions().pins
    return f"kind {pins['kind'].version}, helm {pins['helm'].version}"


def node_image(work: Work) -> str:
    work.node = images.node(work.emit, named=work.options.node_image, policy=work.options.images)
    return f"{work.node.reference} ({'built' if work.node.built else 'published'})"


def service_images(work: Work) -> str:
    work.services = images.for_releases({one.image for one in work.planned}, work.emit, policy=work.options.images)
    return ", ".join(image.reference for image in work.services.values())


def cluster(work: Work) -> str:
    name = work.options.name
    shape = [cache.KIND / "bench.yaml", cache.KIND / "kubeadm", cache.KIND / "audit"]
    config = cache.digest([*shape, work.node.identity, str(work.options.api_port)])
    entry = register.read(name)
    if entry is not None:
        why = "its configuration or node image changed" if entry.config != config else _why_not_reusable(work)
        if not why:
            work.entry, work.reused = entry, True
            work.marks.reach("nodes")
            work.marks.reach("api")
            return "the one that was there, checked"
        work.emit("remade", bench=name, saying=f"{name} is made again: {why}")
        down.erase(name, work.emit)
    work.entry = register.Entry(
        name=name,
        state=register.CREATING,
        run_id=work.options.run_id,
        maker=cache.Process.current(),
        created_s=time.time(),
        config=config,
        node_image=work.node.reference,
        node_image_id=work.node.identity,
        kubernetes=work.node.kubernetes,
        built_node_image=work.node.built,
        ephemeral=work.options.ephemeral,
    )
    register.write(work.entry)

    def reached(mark: str) -> None:
        if mark == "api":
            kind.write_kubeconfig(work.kind, name)
        work.marks.reach(mark)

    kind.create(work.kind, name, work.node, work.options.api_port, reached)
    work.record(lambda _: {"state": register.READY})
    return f"Kubernetes {work.node.kubernetes}"


def _why_not_reusable(work: Work) -> str:
    """Empty when the cluster's containers run (stopped ones are started) and its API server lists its nodes."""
    name = work.options.name
    containers = engine.inspect(engine.node_containers(name))
    if len(containers) != len(kind.roles()):
        return f"{len(containers)} of {len(kind.roles())} node containers exist"
    stopped = [one["Name"].lstrip("/") for one in containers if not one["State"]["Running"]]
    paused = [one["Name"].lstrip("/") for one in containers if one["State"]["Paused"]]
    since = datetime.now(UTC)
    for act, nodes_so in (("start", stopped), ("unpause", paused)):
        for node in nodes_so:
            work.emit("node-started", node=node, saying=f"{node} does not run: docker {act}")
            engine.docker(act, node, check=False)
    if not register.kubeconfig(name).exists():
        kind.write_kubeconfig(work.kind, name)
    access = kube.Kube(register.kubeconfig(name))
    try:
        wait.until(
            access,
            f"the nodes of {name}",
            lambda: ready.returned(access, stopped, paused, since),
            watching=[("v1", "Pod", "")] if stopped or paused else (),
            timeout_s=_RETURN_S,
        )
    except errors.WaitFailed as failure:
        return f"its API server does not answer ({failure.last})"
    return ""


def load_images(work: Work) -> str:
    wanted = images.table(work.services)
    workers = engine.node_containers(work.options.name, "worker")
    if work.reused and work.entry.images == wanted and all(nodes.present(worker, wanted) for worker in workers):
        return "already there"
    nodes.load(work.options.name, list(work.services.values()), work.kind, work.emit, linkable=work.node.built)
    work.record(lambda _: {"images": wanted})
    return f"{len(wanted)} images into {len(workers)} workers"


def node_groups(work: Work) -> str:
    wait.until(
        work.kube,
        "all nodes to be Ready",
        lambda: ready.nodes(work.kube),
        watching=[("v1", "Node", "")],
        timeout_s=work.options.timeout_s,
        emit=work.emit,
    )
    wanted = sorted(group for group in kind.groups() if group)
    found = sorted(
        labels[kind.GROUP]
        for node in work.kube.listed("v1", "Node")
        if kind.GROUP in (labels := objects.labels_of(node))
    )
    if found != wanted:
        raise errors.BenchError(
            f"nodes of groups {found} are there, and kind/bench.yaml asks for {wanted}",
            next_step=f"space_smoke up --name {work.options.name} --recreate",
        )
    return ", ".join(wanted)


def routes_and_dns(work: Work) -> str:
    daemons = "pod-routes" if work.node.built else "kindnet"
    wait.until(
        work.kube,
        f"{daemons} on every node",
        lambda: ready.daemons(work.kube, daemons),
        watching=[("v1", "Pod", "kube-system")],
        timeout_s=work.options.timeout_s,
        emit=work.emit,
    )
    dns = objects.Ref("apps/v1", "Deployment", "kube-system", "coredns")
    wait.rollout(work.kube, dns, timeout_s=work.options.timeout_s, emit=work.emit)
    return f"{daemons} and coredns"
