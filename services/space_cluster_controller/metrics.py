"""What the controller counts, beside its answers and the limiter's decisions."""

from __future__ import annotations

from collections.abc import Callable

import prometheus_client as prometheus

_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    """Labels have few values: the seven kinds, machine codes."""

    def __init__(
        self, registry: prometheus.CollectorRegistry, leading: Callable[[], bool], running: Callable[[], int]
    ) -> None:
        self._finished = prometheus.Counter(
            "space_operations_finished", "Operations ended here", ("kind", "outcome"), registry=registry
        )
        self._returned = prometheus.Counter(
            "space_operations_returned", "Operations put back into the queue", ("kind", "reason"), registry=registry
        )
        self._lost = prometheus.Counter(
            "space_operations_claims_lost", "Claims that ended before their work", ("kind",), registry=registry
        )
        self._pruned = prometheus.Counter(
            "space_operations_pruned", "Operations removed long after they finished", registry=registry
        )
        self._orphaned = prometheus.Counter(
            "space_sandbox_orphans_deleted", "Pods deleted whose sandbox is no more", ("reason",), registry=registry
        )
        self._seconds = prometheus.Histogram(
            "space_operation_seconds", "Time of one attempt", ("kind",), buckets=_SECONDS, registry=registry
        )
        prometheus.Gauge("space_controller_leader", "1 while leading", registry=registry).set_function(
            lambda: float(leading())
        )
        prometheus.Gauge("space_operations_running", "Operations in work", registry=registry).set_function(running)

    def finished(self, kind: str, outcome: str) -> None:
        self._finished.labels(kind, outcome).inc()

    def returned(self, kind: str, reason: str) -> None:
        self._returned.labels(kind, reason).inc()

    def lost(self, kind: str) -> None:
        self._lost.labels(kind).inc()

    def pruned(self, operations: int) -> None:
        self._pruned.inc(operations)

    def orphaned(self, reason: str) -> None:
        """`reason`: the sandbox is `deleted`, or `unknown`."""
        self._orphaned.labels(reason).inc()

    def took(self, kind: str, seconds: float) -> None:
        self._seconds.labels(kind).observe(seconds)
