"""cordon's probe: the scheduler goes by a taint, which the node controller adds some time after the field was set."""

from __future__ import annotations

from space_smoke.bench import kube, wait
from space_smoke.bench.outside import place
from space_smoke.model import objects

_TAINT = "node.kubernetes.io/unschedulable"


class Cordon:
    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        thing = self._cluster.read(ref)
        tainted = any(one.get("key") == _TAINT for one in objects.dig(thing, "spec", "taints") or ())
        words = f"taint {_TAINT} is {'there' if tainted else 'not there'}"
        return wait.State(tainted == bool(expect.get("unschedulable")), words, thing=thing)

    def watching(self, ref: objects.Ref) -> place.Watched:
        return (("v1", "Node", ""),)
