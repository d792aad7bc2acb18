"""Which place each kind of fault uses that lies outside of the API server."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from space_smoke.bench import kube
from space_smoke.bench.outside import cordon, place, pruned

# By the kind's name: module and class, in this package. A command needs few of them and each brings libraries along whose
# import takes longer than a repair: so a place is imported when it is used.
_PLACES: Mapping[str, tuple[str, str]] = {
    "redis-config": ("redis_kinds", "Config"),
    "redis-pause": ("redis_kinds", "Pause"),
    "redis-flush-scripts": ("redis_kinds", "Scripts"),
    "postgres-restart": ("postgres_kinds", "Restart"),
    "postgres-setting": ("postgres_kinds", "Setting"),
    "delete-pod": ("pod_deletion", "PodDeletion"),
    "kill-container": ("killing", "Killing"),
    "helm-values": ("helm_values", "HelmValues"),
    "grid-values": ("grid_values", "GridValues"),
    "pause-node": ("nodes", "Containers"),
    "stop-node": ("nodes", "Containers"),
    "network-drop": ("network", "Network"),
    "network-loss": ("network", "Network"),
}


class _Lazy(Mapping[str, Any]):
    def __init__(self, factories: Mapping[str, Callable[[], Any]]) -> None:
        self._factories = factories

    def __getitem__(self, kind: str) -> Any:
        return self._factories[kind]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __len__(self) -> int:
        return len(self._factories)


def places(cluster: kube.Kube) -> Mapping[str, place.Place]:
    """By the kind's name; made for one cluster, connected only when used. Kinds of one place share the one object."""

    @functools.cache
    def made(module: str, name: str) -> Any:
        return getattr(importlib.import_module(f"{__package__}.{module}"), name)(cluster)

    return _Lazy({kind: functools.partial(made, *where) for kind, where in _PLACES.items()})


def probes(cluster: kube.Kube, there: Mapping[str, place.Place]) -> Mapping[str, place.Probe]:
    """By the kind's name, for kinds whose effect shows elsewhere than in the rollout of a Deployment: all `there`, and
    fields of other objects."""
    factories: dict[str, Callable[[], Any]] = {kind: functools.partial(there.__getitem__, kind) for kind in there}
    fields = {"cordon": lambda: cordon.Cordon(cluster), "crd-prune": lambda: pruned.Pruned(cluster)}
    return _Lazy({**factories, **fields})
