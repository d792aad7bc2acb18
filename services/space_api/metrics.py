"""The API's metrics, in a registry of their own so that two APIs can live in one process."""

from __future__ import annotations

from collections.abc import Callable

import prometheus_client as prometheus

from limiters import decision

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters and histograms; labels have few values (`client` is a known client or `unspecified`)."""

    def __init__(self, leases: Callable[[], float]) -> None:
        """`leases` tells how many concurrency leases this process holds."""
        self.registry = registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=registry)
        self._decisions = prometheus.Counter(
            "space_limiter_decisions", "Decisions", ("limiter", "outcome", "reason"), registry=registry
        )
        self._would_reject = prometheus.Counter(
            "space_limiter_would_reject", "Requests that enforce would have refused", ("client",), registry=registry
        )
        self._mismatch = prometheus.Counter(
            "space_limiter_config_mismatch", "Bucket last used with another burst or rate", registry=registry
        )
        self._decision_seconds = prometheus.Histogram(
            "space_limiter_decision_seconds", "Time of one decision", ("limiter",), buckets=_SECONDS, registry=registry
        )
        self._requests = prometheus.Counter("space_requests", "Answers", ("route", "status"), registry=registry)
        prometheus.Gauge("space_limiter_leases", "Leases held by this process", registry=registry).set_function(leases)

    def activation(self, made: decision.Activation, seconds: float) -> None:
        self._decisions.labels("activation", made.outcome, made.reason).inc()
        self._decision_seconds.labels("activation").observe(seconds)
        if made.mismatch:
            self._mismatch.inc()

    def concurrency(self, made: decision.Concurrency, seconds: float) -> None:
        self._decisions.labels("client_concurrency", made.outcome, made.reason).inc()
        self._decision_seconds.labels("client_concurrency").observe(seconds)
        if made.would_reject:
            self._would_reject.labels(made.client).inc()

    def request(self, route: str, status: int) -> None:
        self._requests.labels(route, str(status)).inc()

    def exposition(self) -> bytes:
        return prometheus.generate_latest(self.registry)
