"""Which place each kind of fault uses that lies outside of the API server."""

from __future__ import annotations

from collections.abc import Mapping

from space_smoke.bench import kube
from space_smoke.bench.outside import cordon, helm_values, nodes, place, pod_deletion, postgres_kinds, redis_kinds
from space_smoke.bench.outside import network as network_rules


def places(cluster: kube.Kube) -> Mapping[str, place.Place]:
    """By the kind's name; made for one cluster, connected only when used."""
    containers, network = nodes.Containers(cluster), network_rules.Network(cluster)
    return {
        "redis-config": redis_kinds.Config(cluster),
        "redis-pause": redis_kinds.Pause(cluster),
        "redis-flush-scripts": redis_kinds.Scripts(cluster),
        "postgres-restart": postgres_kinds.Restart(cluster),
        "postgres-setting": postgres_kinds.Setting(cluster),
        "delete-pod": pod_deletion.PodDeletion(cluster),
        "helm-values": helm_values.HelmValues(cluster),
        "pause-node": containers,
        "stop-node": containers,
        "network-drop": network,
        "network-loss": network,
    }


def probes(cluster: kube.Kube, there: Mapping[str, place.Place]) -> Mapping[str, place.Probe]:
    """By the kind's name, for kinds whose effect shows elsewhere than in the rollout of a Deployment: all `there`, and
    fields of other objects."""
    return {
        **there,
        "cordon": cordon.Cordon(cluster),
    }
