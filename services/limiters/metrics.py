"""The decisions of the limiters as metrics; a service registers those of the limiters it has."""

from __future__ import annotations

import prometheus_client as prometheus

from limiters import decision

# Close together around what is promised: 2 and 10 ms with a store, 5 and 250 ms without one.
SECONDS = (
    *(0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.025),
    *(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_LABELS = ("limiter", "outcome", "reason")


class Decisions:
    """Counters and one histogram; labels have few values (`client` is a known client or `unspecified`)."""

    def __init__(self, registry: prometheus.CollectorRegistry) -> None:
        self._decisions = prometheus.Counter("space_limiter_decisions", "Decisions", _LABELS, registry=registry)
        self._would_reject = prometheus.Counter(
            "space_limiter_would_reject", "Requests that enforce would have refused", ("client",), registry=registry
        )
        self._mismatch = prometheus.Counter(
            "space_limiter_config_mismatch", "Bucket last used with another burst or rate", registry=registry
        )
        self._decision_seconds = prometheus.Histogram(
            "space_limiter_decision_seconds", "Time of one decision", _LABELS, buckets=SECONDS, registry=registry
        )

    def activation(self, made: decision.Activation, seconds: float) -> None:
        self._made(("activation", made.outcome, made.reason), seconds)
        if made.mismatch:
            self._mismatch.inc()

    def concurrency(self, made: decision.Concurrency, seconds: float) -> None:
        self._made(("client_concurrency", made.outcome, made.reason), seconds)
        if made.would_reject:
            self._would_reject.labels(made.client).inc()

    def _made(self, labels: tuple[str, str, str], seconds: float) -> None:
        self._decisions.labels(*labels).inc()
        self._decision_seconds.labels(*labels).observe(seconds)
