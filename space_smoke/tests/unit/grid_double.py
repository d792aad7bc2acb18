"""Three sites in memory with the manners of real ones: spend counts once for each request id, and each site's GridNetwork
shows the sum at once. For tests of loads."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from space_smoke import errors
from space_smoke.bench import http
from space_smoke.model import history, objects
from space_smoke.tests.unit import api_double


@dataclass
class Grid:
    """`down` says of a site whether its pod answers; `asked` is all that came: (site, method, path)."""

    down: Callable[[str], bool] = lambda _site: False
    unread: bool = False  # the API server does not answer
    declared: tuple[str, ...] = ("acme", "globex")
    taken: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, site: str, method: str, path: str, body: Any) -> tuple[int, bytes]:
        with self.turn:
            self.asked.append((site, method, path))
            if path != "/v1/spend":
                return 200, b"# TYPE grid_members gauge\ngrid_members 2.0\ngrid_other 1.0\n"
            name = f"{site} {body['requestId']}"
            replayed = name in self.taken
            self.taken.setdefault(name, body["cents"])
            told = {"replayed": replayed, "epoch": 1}
            return 200, json.dumps(told).encode()

    def read(self, ref: objects.Ref) -> Mapping[str, Any]:
        if self.unread:
            raise errors.ApiError("the API server does not answer", status=0)
        spend = sum(self.taken.values()) / 100
        return {
            "metadata": {"name": ref.name, "resourceVersion": "7", "generation": 2},
            "spec": {"budgetPolicy": {"tenants": [{"tenantId": tenant, "capUsd": 1.0} for tenant in self.declared]}},
            "status": {
                "observedGeneration": 2,
                "phase": "Active",
                "connectedSites": 2,
                "budgetEpoch": 1,
                "distributedProviderCount": 1,
                "providers": [{"site": "a", "name": "large", "models": ["m"]}],
                "budgetStatus": [{"tenantId": "acme", "spendUsd": spend, "capUsd": 1.0, "spendRatio": 0.5}],
                "conditions": [{"type": "MeshHealthy", "status": "True", "reason": "Reached", "message": "all answer"}],
            },
        }


@dataclass
class Door:
    """What loads know of http.Door."""

    cluster: Grid
    namespace: str = "space"
    service: str = "space-api"
    port: int = 8080

    def clock(self) -> float:
        return time.monotonic()

    def ask(self, method: str, path: str, *, pod: str | None = None, body: Any = None, **_more: Any) -> http.Answer:
        sent_s = self.clock()
        site = self.namespace.removeprefix("grid-")
        if self.cluster.down(site):
            return http.Answer(sent_s, None, self.clock(), None, error="connection refused")
        status, said = self.cluster.answer(site, method, path, body)
        return http.Answer(sent_s, self.clock(), self.clock(), status, {"x-space-pod": pod or ""}, said)


class Run(api_double.Run):
    """A load over the sites."""

    pods = ()
    began_wall_s = 1000.0

    def __init__(self, grid: Grid | None = None) -> None:
        self.grid = grid or Grid()
        self._open(Door(self.grid))

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.data) for event in history.of_kind(self.events, kind)]
