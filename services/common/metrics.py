"""What every service counts, in a registry of its own so that two services can live in one process."""

from __future__ import annotations

import prometheus_client as prometheus


class Requests:
    """The registry, the process's own numbers, and the answers given. Labels have few values."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        self._requests = prometheus.Counter("space_requests", "Answers", ("route", "status"), registry=self.registry)

    def request(self, route: str, status: int) -> None:
        self._requests.labels(route, str(status)).inc()

    def exposition(self) -> bytes:
        return prometheus.generate_latest(self.registry)
