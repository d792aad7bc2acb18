"""What every service counts, in a registry of its own so that two services can live in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import prometheus_client as prometheus
from prometheus_client import metrics_core, registry


class Requests:
    """The registry, the process's own numbers, and the answers given. Labels have few values."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        self._requests = prometheus.Counter("space_requests", "Answers", ("route", "status"), registry=self.registry)

    def request(self, route: str, status: int) -> None:
        self._requests.labels(route, str(status)).inc()

    def lines(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Tell of log lines on their way to a backend: `counts` gives how many, by outcome."""
        self.registry.register(_Lines(counts))

    def exposition(self) -> bytes:
        return prometheus.generate_latest(self.registry)


class _Lines(registry.Collector):
    def __init__(self, counts: Callable[[], Mapping[str, int]]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[prometheus.Metric]:
        told = metrics_core.CounterMetricFamily("space_telemetry_lines", "Log lines for a backend", labels=["outcome"])
        for outcome, count in self._counts().items():
            told.add_metric([outcome], count)
        yield told
