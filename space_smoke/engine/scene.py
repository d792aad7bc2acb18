"""A bench as a scenario meets it: the cluster, the namespace its releases live in, and the doors to the services."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.bench import http, kube, sites, wait
from space_smoke.engine import bearings
from space_smoke.faults import kinds as fault_kinds
from space_smoke.loads import kinds as load_kinds
from space_smoke.loads import traffic
from space_smoke.model import history, objects, scenario

SERVICE, PORT = "space-api", 8080
NAMESPACE = "space"
_WORKLOADS = ("Deployment", "StatefulSet")
# Charts whose releases are in namespaces of their own, by what each of them makes.
_ELSEWHERE = {
    bearings.GRID_OPERATOR: fault_kinds.TARGETS["statefulset"],
    "grid-site": fault_kinds.TARGETS["gridnetwork"],
}
_REACHABLE_S = 30.0
_SETTLE_S = 90.0


@dataclass(frozen=True, slots=True)
class Scene:
    """`clock` gives seconds since the run began; `began_wall_s` is the wall clock at that moment; `past` gives the events so
    far, for loads that read back what another one did."""

    cluster: kube.Kube
    namespace: str
    emit: Callable[..., history.Event]
    clock: Callable[[], float]
    began_wall_s: float
    seed: int
    past: Callable[[], Sequence[history.Event]] = tuple

    def door(self, service: str = SERVICE) -> http.Door:
        return http.Door(self.cluster, self.namespace, service, PORT, self.clock)

    def fit(self, the: scenario.Scenario) -> str:
        """Why this bench cannot run the scenario, or ""."""
        for name in the.bench.charts:
            found = self._installed(name)
            if not found:
                return f"chart {name} is not installed in namespace {self.namespace}"
            wanted = the.bench.replicas.get(name)
            for one in found if wanted is not None else ():
                if (have := objects.dig(one, "spec", "replicas")) != wanted:
                    return f"{one['metadata']['name']} has {have} replicas and the scenario needs {wanted}"
        return ""

    def settle(self, the: scenario.Scenario) -> None:
        """The gate before a scenario: its workloads are quiet, old pods of whatever was before are gone.

        Raises WaitFailed: then this bench is not fit to judge."""
        for name in the.bench.charts:
            for found in self._installed(name):
                ref = objects.ref_of(found)
                if ref.kind in _WORKLOADS and not wait.workload_state(self.cluster, ref).done:
                    wait.rollout(self.cluster, ref, timeout_s=_SETTLE_S, emit=self.emit)

    def _installed(self, name: str) -> Sequence[objects.Object]:
        """What stands for a chart: its workload here, or what its releases made elsewhere, as a grid's sites do."""
        found = self._workload(name)
        kinds = _ELSEWHERE.get(name) if found is None else None
        if kinds is None:
            return [] if found is None else [found]
        try:
            return self.cluster.listed(*kinds, "", f"app.kubernetes.io/name={name}")
        except errors.ApiError as error:
            if error.status != 404:  # the cluster has no such kind
                raise
            return []

    def _workload(self, name: str) -> objects.Object | None:
        """A release's main workload, which bears the release's name."""
        for kind in _WORKLOADS:
            try:
                return self.cluster.read(objects.Ref("apps/v1", kind, self.namespace, name))
            except errors.ApiError as error:
                if error.status != 404:
                    raise
        return None

    def find_targets(self, the: scenario.Scenario, ref_of: Callable[[scenario.Target], objects.Ref]) -> None:
        """Raises UsageError, naming place and nearest name, for a fault whose target matches nothing here."""
        wrong = []
        for fault in the.faults:
            ref = ref_of(fault.target)
            try:
                self.cluster.read(ref)
            except errors.ApiError as error:
                if error.status != 404:
                    raise
                there = [o["metadata"]["name"] for o in self.cluster.listed(ref.api_version, ref.kind, ref.namespace)]
                near = difflib.get_close_matches(ref.name, there, 1, 0.4)
                hint = f"; did you mean {fault.target.kind}/{near[0]}?" if near else f"; there are {sorted(there)}"
                if elsewhere := self._namespaces_with(ref):
                    hint = f"; it is in {' and '.join(elsewhere)}: say so with `namespace:`"
                where = f" in namespace {ref.namespace}" * bool(ref.namespace)
                wrong.append(
                    errors.Mistake(
                        fault.place or the.id,
                        f"fault {fault.name}: target {fault.target} matches nothing{where}{hint}",
                    )
                )
        if wrong:
            raise errors.SpecError(wrong)

    def _namespaces_with(self, ref: objects.Ref) -> list[str]:
        """Other namespaces in which something of this kind bears this name."""
        found = self.cluster.listed(ref.api_version, ref.kind) if ref.namespace else []
        return sorted(o["metadata"]["namespace"] for o in found if o["metadata"]["name"] == ref.name)

    def prepared(self, load: scenario.Load, stop: threading.Event) -> traffic.Traffic:
        """What drives a load, once the pods of whom it asks were listed afresh and each was reached from here."""
        service = str(load.arguments.get(traffic.SERVICE, SERVICE))
        if load_kinds.KINDS[load.kind].at_sites:
            pods = self._sites(load)
        else:
            pods = self._pods(load.name, service)
            self._reachable(pods, service)
        return traffic.Traffic(
            load,
            self.door(service),
            self.emit,
            pods,
            self.began_wall_s,
            self.seed,
            stop,
            namespace=self.namespace,
            past=lambda: history.of_scenario(self.past()),
        )

    def drive(self, flow: traffic.Traffic, phase: str) -> None:
        """The traffic of one load, from its first request to its last answer."""
        load = flow.load
        self.emit("load-started", load=load.name, kind=load.kind, phase=phase, arguments=dict(load.arguments))
        load_kinds.DRIVERS[load.kind](flow)
        self.emit("load-ended", load=load.name, phase=phase, requests=flow.sent)

    def _pods(self, load: str, service: str) -> list[str]:
        deployment = self.cluster.read(objects.Ref("apps/v1", "Deployment", self.namespace, service))
        pods = wait.pods_of(self.cluster, deployment)
        self.emit("pods", target=f"deployment/{service}", load=load, pods=[pod.shown() for pod in pods])
        return [pod.name for pod in pods if pod.ready]

    def _sites(self, load: scenario.Load) -> list[str]:
        """The same for a load that asks sites of the grid: each has one pod, and is asked by no Service."""
        asked = [sites.Site(name) for name in load.arguments["sites"]]
        pods = [pod for site in asked for pod in sites.pods(self.cluster, site)]
        self.emit("pods", target="the grid's sites", load=load.name, pods=[pod.shown() for pod in pods])
        doors = {site.pod: site.door(self.door()) for site in asked}
        self._answering(
            "the grid's sites to be reachable",
            lambda: ((pod, door.ask("GET", "/healthz", pod=pod, timeout_s=5)) for pod, door in doors.items()),
            [("v1", "Pod", site.namespace) for site in asked],
        )
        return [pod.name for pod in pods if pod.ready]

    def _reachable(self, pods: list[str], service: str) -> None:
        """Ready is not reachable: asks through the Service and each pod, from where the load will come."""
        door = self.door(service)
        self._answering(
            f"{service} to be reachable",
            lambda: (
                (pod or "the Service", door.ask("GET", "/healthz", pod=pod, timeout_s=5)) for pod in (None, *pods)
            ),
            [("v1", "Pod", self.namespace), ("discovery.k8s.io/v1", "EndpointSlice", self.namespace)],
        )

    def _answering(
        self,
        saying: str,
        ask: Callable[[], Iterable[tuple[str, http.Answer]]],
        watching: Sequence[tuple[str, str, str]],
    ) -> None:
        """Waits until all that are asked answer. Raises WaitFailed."""

        def look() -> wait.State:
            for who, answer in ask():
                if answer.status != 200:
                    return wait.State(False, f"{who} answered {answer.status or answer.error}")
            return wait.State(True, "every pod answers")

        if not look().done:
            wait.until(self.cluster, saying, look, watching=watching, timeout_s=_REACHABLE_S, emit=self.emit)


def everything(scene: Scene, gather: Callable[..., Any], lease_namespace: str) -> None:
    """Diagnostics as events."""
    try:
        own = bearings.namespaces(scene.cluster, scene.namespace)
    except errors.ApiError:  # what follows says so itself
        own = (scene.namespace,)
    for what, text in gather(scene.cluster, own, lease_namespace):
        if text:
            scene.emit("diagnostics", what=what, text=text)
