"""The ground that drills are run on: two light Deployments in a namespace of their own, and processes to break."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from space_smoke import errors
from space_smoke.bench import kube, runner, wait
from space_smoke.engine import drilling
from space_smoke.lease import view
from space_smoke.model import objects, record

IMAGE = "registry.k8s.io/pause:3.10.1"  # every node has it: it holds each pod's namespaces open
ENV = objects.Ref("apps/v1", "Deployment", drilling.NAMESPACE, "drill-env")
SCALE = objects.Ref("apps/v1", "Deployment", drilling.NAMESPACE, "drill-scale")
LEASE = view.ref(drilling.DOMAIN)
_CYCLE_S = 120.0


@dataclass(slots=True)
class Ground:
    """`standing` is each target's spec before anything was broken."""

    cluster: kube.Kube
    kubeconfig: Path
    context: str
    emit: Callable[..., Any]
    standing: dict[objects.Ref, Any] = field(default_factory=dict)
    runs: int = 0
    started: list[runner.Runner] = field(default_factory=list)

    def prepare(self) -> None:
        """Puts right what an earlier drill left, then makes the namespace and the targets. Raises BenchError."""
        if self.go("repair").code != 0:
            raise errors.BenchError("what an earlier run left could not be put right", next_step="space_smoke status")
        self._gone()
        self._ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": drilling.NAMESPACE}})
        for ref, replicas in ((ENV, 0), (SCALE, 1)):
            self._ensure(manifest(ref.name, replicas))
            wait.rollout(self.cluster, ref, timeout_s=60, emit=self.emit)
        self.standing = {ref: self._spec(ref) for ref in (ENV, SCALE)}

    def remove(self) -> None:
        """Ends every runner that still lives and removes the namespace."""
        for child in list(self.started):
            child.send(signal.SIGKILL)
            self.finish(child)
        self.cluster.delete(objects.Ref("v1", "Namespace", "", drilling.NAMESPACE))
        self._gone()

    def start(self, mode: str, inject: str = "") -> runner.Runner:
        """A runner in a session of its own. `inject` is as SPACE_SMOKE_DRILL."""
        self.runs += 1
        arguments = [str(self.kubeconfig), self.context, f"drill-{os.getpid()}-{self.runs}", mode]
        started = runner.Runner("space_smoke.engine.drilling", arguments, inject)
        self.started.append(started)
        return started

    def finish(self, child: runner.Runner) -> runner.Ended:
        ended = child.finish(_CYCLE_S)
        self.started.remove(child)
        return ended

    def go(self, mode: str, inject: str = "") -> runner.Ended:
        return self.finish(self.start(mode, inject))

    def held(self, inject: str = "") -> runner.Runner:
        """A runner with both faults up, alive; returns when the second one is."""
        child = self.start("hold", inject)
        told = []
        for event in child.events():
            told.append(event["event"])
            if event["event"] == "fault-up" and event["fault"] == SCALE.name:
                return child
        raise errors.BenchError(f"the holder ended early after {told[-3:]}: {child.finish(_CYCLE_S).stderr[-300:]}")

    def problems(self) -> list[str]:
        """What is not standing: specs, records on targets, the Lease."""
        found = []
        for ref, spec in self.standing.items():
            thing = self.cluster.read(ref)
            if thing["spec"] != spec:
                found.append(f"{ref} is not standing")
            if any(key.startswith(record.PREFIX) for key in objects.annotations_of(thing)):
                found.append(f"{ref} carries a record")
        seen = view.parse(self.cluster.read(LEASE))
        found += [f"the Lease has the record of {item.name}" for item in seen.records]
        found += [f"the Lease is held by {seen.holder}"] if seen.holder else []
        return found

    def backdate(self, seconds: float) -> None:
        """Makes the Lease look unrenewed for so long, as if its holder had been stopped all that time."""
        thing = self.cluster.read(LEASE)
        notes = objects.annotations_of(thing)
        info = json.loads(notes[view.HOLDER])
        info["boottime"] -= seconds
        body = {"metadata": {"annotations": {view.HOLDER: json.dumps(info)}}}
        self.cluster.send("PATCH", kube.path_of(LEASE), body=body, content="application/merge-patch+json")

    def snapshot(self) -> str:
        """Lease and targets, byte for byte, without what the API server counts in status."""
        things = [self.cluster.read(ref) for ref in (LEASE, ENV, SCALE)]
        return json.dumps([{k: t[k] for k in ("metadata", "spec")} for t in things], sort_keys=True)

    def _gone(self) -> None:
        """Waits until a namespace that is being deleted is gone."""

        def look() -> wait.State:
            found = [
                ns for ns in self.cluster.listed("v1", "Namespace") if ns["metadata"]["name"] == drilling.NAMESPACE
            ]
            going = any("deletionTimestamp" in ns["metadata"] for ns in found)
            return wait.State(not going, "it is being deleted" if going else "it is gone, or was never deleted")

        namespace = f"namespace {drilling.NAMESPACE} to be deleted"
        wait.until(self.cluster, namespace, look, watching=[("v1", "Namespace", "")], timeout_s=60, emit=self.emit)

    def _spec(self, ref: objects.Ref) -> Any:
        return self.cluster.read(ref)["spec"]

    def _ensure(self, body: Mapping[str, Any]) -> None:
        try:
            self.cluster.create(body)
        except errors.ApiError as error:
            if error.status != 409:
                raise


def manifest(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": IMAGE, "env": [{"name": "MODE", "value": "standing"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": drilling.NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
            },
        },
    }
