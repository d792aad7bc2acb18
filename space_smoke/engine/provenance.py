"""Provenance: what a scenario ran on, read before it and after it. What differs for another reason than the scenario's own
faults says that the bench changed under the run, and then the run proves nothing (outcome ENVIRONMENTAL).

A fact is a name, a value, and the things on whose faults it depends (`deployment/space-api`, `node/dev-worker`). Which
kinds of fault change what is the table `EXPLAINS`, closed: a kind that is not in it explains nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from space_smoke.bench import kube
from space_smoke.bench.outside import helm_storage
from space_smoke.engine import bearings
from space_smoke.model import objects, scenario

# Facts that depend on the pods of the thing a fault is on: which there are, and how often they restarted.
PODS = "pods"
NOTHING = ""
EXPLAINS: Mapping[str, str] = {
    "set-env": PODS,
    "scale": PODS,
    "delete-pod": PODS,
    "kill-container": PODS,
    "helm-values": PODS,
    "grid-values": NOTHING,
    "postgres-restart": PODS,
    "pause-node": PODS,
    "stop-node": PODS,
    "redis-config": NOTHING,
    "redis-pause": NOTHING,
    "redis-flush-scripts": NOTHING,
    "postgres-setting": NOTHING,
    "cordon": NOTHING,
    "crd-prune": NOTHING,
    "network-drop": NOTHING,
    "network-loss": NOTHING,
}


@dataclass(frozen=True, slots=True)
class Fact:
    """`depends`: the things whose own faults may change it; empty for what no fault may change."""

    value: str
    depends: frozenset[str] = frozenset()


Facts = Mapping[str, Fact]


def read(cluster: kube.Kube, namespace: str) -> Facts:
    """Everything, fresh. Raises ApiError."""
    found, version, releases = bearings.side_by_side(
        [
            lambda: bearings.read(cluster, namespace),
            lambda: cluster.send("GET", "/version")[1],
            lambda: _releases(cluster, namespace),
        ]
    )
    return dict(
        [
            ("Kubernetes version", Fact(str(version.get("gitVersion", "not told")))),
            *_nodes(found),
            *_images(found),
            *_pods(found),
            *(_release(secret) for secret in releases),
        ]
    )


def shown(facts: Facts) -> dict[str, str]:
    """Facts for the journal."""
    return {name: fact.value for name, fact in sorted(facts.items())}


def differences(before: Facts, after: Facts, explained: Iterable[str] = ()) -> list[str]:
    """A sentence for each fact that differs and that no thing in `explained` accounts for."""
    things = frozenset(explained)
    return [
        f"{name}: {_value(before.get(name))} before, {_value(after.get(name))} after"
        for name in sorted({*before, *after})
        if _value(before.get(name)) != _value(after.get(name))
        and not things & {thing for side in (before, after) if name in side for thing in side[name].depends}
    ]


def explained(the: scenario.Scenario, ref_of: Callable[[scenario.Target], objects.Ref]) -> set[str]:
    """The things whose pods this scenario's own faults replace or restart."""
    return {str(ref_of(fault.target)) for fault in the.faults if EXPLAINS.get(fault.kind) == PODS}


def _value(fact: Fact | None) -> str:
    return "not there" if fact is None else fact.value


def _nodes(found: bearings.Bearings) -> Iterator[tuple[str, Fact]]:
    for node in found.nodes:
        name, told = node["metadata"]["name"], objects.dig(node, "status", "nodeInfo") or {}
        yield f"node/{name}", Fact(str(node["metadata"].get("uid")))
        for key, what in (
            ("bootID", "boot id"),
            ("kubeletVersion", "kubelet"),
            ("containerRuntimeVersion", "container runtime"),
        ):
            yield f"{what} of node/{name}", Fact(str(told.get(key)))


def _images(found: bearings.Bearings) -> Iterator[tuple[str, Fact]]:
    """By workload: a pod that was replaced must run what the one before it ran."""
    by_owner: dict[str, set[str]] = {}
    for pod in found.pods:
        ids = by_owner.setdefault(str(bearings.owner(pod)), set())
        ids |= {str(status.get("imageID")) for status in bearings.containers(pod) if status.get("imageID")}
    for owner, ids in by_owner.items():
        yield f"image ids of {owner}", Fact(", ".join(sorted(ids)))


def _releases(cluster: kube.Kube, namespace: str) -> list[objects.Object]:
    """The Secrets in which Helm keeps what it installed."""
    return [
        secret
        for where in bearings.namespaces(cluster, namespace)
        for secret in cluster.listed("v1", "Secret", where, "owner=helm,status=deployed")
    ]


def _pods(found: bearings.Bearings) -> Iterator[tuple[str, Fact]]:
    """Which pods there are, by uid since a StatefulSet's keep their names, and how often each restarted."""
    for pod in found.pods:
        meta, node = pod["metadata"], f"node/{pod['spec'].get('nodeName', '')}"
        own = {str(bearings.owner(pod))} if meta["namespace"] in found.namespaces else set()
        name, depends = f"pod/{meta['name']}", frozenset({*own, node})
        yield f"{name}", Fact(str(meta.get("uid")), depends)
        yield f"restarts of {name}", Fact(str(bearings.restarts(pod)), depends)


def _release(secret: objects.Object) -> tuple[str, Fact]:
    """A release's chart and the values it was given; a release that was put back has the same digest again."""
    name = objects.labels_of(secret).get("name", secret["metadata"]["name"])
    kept = helm_storage.decode(secret)
    chart = kept.chart.get("metadata") or {}
    content = json.dumps([kept.chart, kept.config], sort_keys=True, default=str).encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    return f"release {name}", Fact(f"{chart.get('name')}-{chart.get('version')} sha256:{digest}")
