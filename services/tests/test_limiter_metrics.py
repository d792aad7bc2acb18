"""How long decisions took, told so that each promise can be read from it."""

from __future__ import annotations

import prometheus_client as prometheus
import pytest

from limiters import decision, metrics

NAME = "space_limiter_decision_seconds"
PROMISES_S = (0.002, 0.005, 0.010, 0.250)  # each is a bucket's bound, or it could not be told whether it was kept


def told(registry: prometheus.CollectorRegistry, bound: str, limiter: str, outcome: str, reason: str) -> float | None:
    labels = {"le": bound, "limiter": limiter, "outcome": outcome, "reason": reason}
    return registry.get_sample_value(f"{NAME}_bucket", labels)


@pytest.mark.parametrize("promise_s", PROMISES_S)
def test_a_decision_within_a_promise_and_one_just_beyond_it_are_told_apart(promise_s: float) -> None:
    registry = prometheus.CollectorRegistry()
    meter = metrics.Decisions(registry)
    for seconds in (promise_s, promise_s * 1.01):
        meter.activation(decision.Activation(True, decision.NONE, 0.0), seconds)
    assert told(registry, str(promise_s), "activation", "admitted", "none") == 1
    assert told(registry, "+Inf", "activation", "admitted", "none") == 2


def test_decisions_are_timed_by_limiter_outcome_and_reason() -> None:
    registry = prometheus.CollectorRegistry()
    meter = metrics.Decisions(registry)
    meter.activation(decision.Activation(False, decision.NONE, 0.0, 10), 0.001)
    meter.concurrency(decision.Concurrency(True, decision.STORE_UNAVAILABLE, "client"), 0.2)
    meter.concurrency(decision.Concurrency(True, decision.NONE, "client"), 0.001)
    assert told(registry, "+Inf", "activation", "refused", "none") == 1
    assert told(registry, "0.15", "client_concurrency", "accepted", "store_unavailable") == 0
    assert told(registry, "0.2", "client_concurrency", "accepted", "store_unavailable") == 1
    assert told(registry, "0.001", "client_concurrency", "accepted", "none") == 1
