"""The decisions of the limiters as metrics; a service registers those of the limiters it has."""

from __future__ import annotations

import prometheus_client as prometheus

from limiters import decision

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Decisions:
    """Counters and one histogram; labels have few values (`client` is a known client or `unspecified`)."""

    def __init__(self, registry: prometheus.CollectorRegistry) -> None:
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
