"""The ground that drills are run on: light Deployments in a namespace of their own, processes to break, and the judges."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from space_smoke import errors
from space_smoke.bench import audit, cache, copies, kube, life, runner, wait
from space_smoke.engine import drilling
from space_smoke.lease import audit as replaying
from space_smoke.lease import view
from space_smoke.model import objects, record

IMAGE = "registry.k8s.io/pause:3.10.1"  # every node has it: it holds each pod's namespaces open
ENV = objects.Ref("apps/v1", "Deployment", drilling.NAMESPACE, "drill-env")
MODE = objects.Ref("apps/v1", "Deployment", drilling.NAMESPACE, "drill-mode")
SCALE = objects.Ref("apps/v1", "Deployment", drilling.NAMESPACE, "drill-scale")
REPLICAS = {ENV: 0, MODE: 0, SCALE: 1}  # what needs no pod has none: a cycle then waits for the API server alone
LEASE = view.ref(drilling.DOMAIN)
_CYCLE_S = 120.0
_MOVED_BY_STATUS = ("resourceVersion", "managedFields")


@dataclass(slots=True)
class Ground:
    """`bench` names the Kind bench of ours, or is "" on a cluster of the user's, whose audit log is not to be had.

    `standing` is each target's spec before anything was broken; `replay` is what the audit log has shown so far.
    """

    cluster: kube.Kube
    kubeconfig: Path
    context: str
    emit: Callable[..., Any]
    bench: str = ""
    standing: dict[objects.Ref, Any] = field(default_factory=dict)
    runs: int = 0
    started: list[runner.Runner] = field(default_factory=list)
    replay: replaying.Replay = field(default_factory=lambda: replaying.Replay(drilling.DOMAIN))
    entries: int = 0
    _log: audit.Reader | None = None
    _warm: runner.Warm | None = None

    def prepare(self) -> None:
        """Puts right what an earlier drill left, then makes the namespace and the targets. Raises BenchError."""
        self._log = audit.Reader(self.bench) if self.bench else None
        if self.go("repair").code != 0:
            raise errors.BenchError("what an earlier run left could not be put right", next_step="space_smoke status")
        self._gone()
        self._ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": drilling.NAMESPACE}})
        for ref, replicas in REPLICAS.items():
            self._ensure(manifest(ref.name, replicas))
            wait.rollout(self.cluster, ref, timeout_s=60, emit=self.emit)
        self.standing = {ref: self.cluster.read(ref)["spec"] for ref in REPLICAS}

    def remove(self) -> None:
        """Ends every runner that still lives and removes the namespace."""
        self.end_all()
        if self._warm is not None:
            self._warm.close()
            self._warm = None
        self.forget()
        self.cluster.delete(objects.Ref("v1", "Namespace", "", drilling.NAMESPACE))
        self._gone()

    def end_all(self) -> int:
        """Kills every runner that a drill left; how many those were."""
        left = list(self.started)
        for child in left:
            child.send(signal.SIGKILL)
            self.finish(child)
        return len(left)

    def start(
        self, mode: str, inject: str = "", *, kubeconfig: Path | None = None, env: Mapping[str, str] | None = None
    ) -> runner.Runner:
        """A runner in a session of its own. `inject` is as SPACE_SMOKE_DRILL; `kubeconfig` is another way to the bench."""
        if self._warm is None:
            self._warm = runner.Warm("space_smoke.engine.drilling", [str(self.kubeconfig), self.context])
        self.runs += 1
        where = [str(kubeconfig), ""] if kubeconfig else [str(self.kubeconfig), self.context]
        started = self._warm.start([*where, f"{self._prefix}{self.runs}", mode], inject, env)
        self.started.append(started)
        return started

    def finish(self, child: runner.Runner) -> runner.Ended:
        self.started.remove(child)
        return child.finish(_CYCLE_S)

    def go(self, mode: str, inject: str = "", *, env: Mapping[str, str] | None = None) -> runner.Ended:
        return self.finish(self.start(mode, inject, env=env))

    def held(self, mode: str = "hold", *, env: Mapping[str, str] | None = None) -> runner.Runner:
        """A runner with both faults up, alive; returns when the second one is."""
        child = self.start(mode, env=env)
        last = (drilling.PODS if mode.endswith("-pods") else drilling.LIGHT)[-1].name
        told = []
        for event in child.events():
            told.append(event["event"])
            if event["event"] == "fault-up" and event["fault"] == last:
                return child
        raise errors.BenchError(f"the holder ended early after {told[-3:]}: {self.finish(child).stderr[-300:]}")

    def problems(self) -> list[str]:
        """What is not standing: specs, records on targets, the Lease."""
        found = []
        for ref, spec in self.standing.items():
            thing = self.cluster.read(ref)
            if thing["spec"] != spec:
                found.append(f"{ref} is not standing")
            if any(key.startswith(record.PREFIX) for key in objects.annotations_of(thing)):
                found.append(f"{ref} carries a record")
            copied = [objects.ref_of(one) for one in copies.held(self.cluster, thing)]
            found += [f"{one} of {ref} holds copies of records" for one in copied]
        seen = self.lease()
        found += [f"the Lease has the record of {item.name}" for item in seen.records]
        found += [f"the Lease is held by {seen.holder}"] if seen.holder else []
        if not found:
            self.forget()
        return found

    def audited(self) -> list[str]:
        """What the API server wrote since the last call, judged: violations. Only where no request is under way."""
        if self._log is None:
            return []
        entries = self._log.entries()
        self.entries += len(entries)
        return self.replay.add(entries)

    def lease(self) -> view.View:
        return view.parse(self.cluster.read(LEASE))

    def backdate(self, seconds: float) -> None:
        """Makes the Lease look unrenewed for so long, as if its holder had been stopped all that time."""
        thing = self.cluster.read(LEASE)
        notes = objects.annotations_of(thing)
        info = json.loads(notes[view.HOLDER])
        info["boottime"] -= seconds
        body = {"metadata": {"annotations": {view.HOLDER: json.dumps(info)}}}
        self.cluster.send("PATCH", kube.path_of(LEASE), body=body, content="application/merge-patch+json")

    def snapshot(self) -> str:
        """Lease and targets, byte for byte; of the targets without what a controller moves when it reports status."""
        things = [self.cluster.read(LEASE)]
        for ref in REPLICAS:
            thing = self.cluster.read(ref)
            kept = {key: value for key, value in thing["metadata"].items() if key not in _MOVED_BY_STATUS}
            things.append({"metadata": kept, "spec": thing["spec"]})
        return json.dumps([{k: t[k] for k in ("metadata", "spec")} for t in things], sort_keys=True)

    def forget(self) -> None:
        """Removes the lock files of runners that are gone; only where no Lease names them any more."""
        for path in (cache.folder() / "runs").glob(f"{self._prefix}*.lock"):
            if life.lock_free(str(path)):
                path.unlink(missing_ok=True)

    @property
    def _prefix(self) -> str:
        return f"drill-{os.getpid()}-"

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

    def _ensure(self, body: Mapping[str, Any]) -> None:
        try:
            self.cluster.create(body)
        except errors.ApiError as error:
            if error.status != 409:
                raise


def manifest(name: str, replicas: int) -> dict[str, Any]:
    """A Deployment of pods that do nothing. No grace: a pod is gone from the API server as soon as it is deleted."""
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
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
            },
        },
    }
