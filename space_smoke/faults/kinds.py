"""Every kind of fault, by the word that scenarios use for it. A new one adds its file, its line here and its test; one that
lies outside of the API server also its place in bench/outside."""

from __future__ import annotations

from collections.abc import Mapping

from space_smoke.faults import (
    cordon,
    crd_prune,
    delete_pod,
    grid_values,
    helm_values,
    kill_container,
    network_drop,
    network_loss,
    pause_node,
    postgres_restart,
    postgres_setting,
    redis_config,
    redis_flush_scripts,
    redis_pause,
    scale,
    set_env,
    stop_node,
)
from space_smoke.model import kinds, scenario

_ALL = (
    set_env,
    scale,
    redis_config,
    redis_pause,
    redis_flush_scripts,
    postgres_restart,
    postgres_setting,
    cordon,
    pause_node,
    stop_node,
    network_drop,
    network_loss,
    delete_pod,
    kill_container,
    helm_values,
    grid_values,
    crd_prune,
)
KINDS: Mapping[str, kinds.FaultKind] = {one.KIND.name: one.KIND for one in _ALL}

# Target words of scenarios: what they name in the API.
TARGETS: Mapping[str, tuple[str, str]] = {
    "deployment": ("apps/v1", "Deployment"),
    "statefulset": ("apps/v1", "StatefulSet"),
    "node": ("v1", "Node"),
    "gridnetwork": (kinds.GRID_API, "GridNetwork"),
    "crd": ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
}

DOMAINS: tuple[str, ...] = tuple(sorted({kinds.GRID, *(kind.domain for kind in KINDS.values())}))


def domain_of(fault: scenario.Fault) -> str:
    """Under which Lease a scenario's fault may be up."""
    return KINDS[fault.kind].under(fault.target.namespace, fault.arguments)
