"""Operators of one grid for tests: real processes over loopback, one database, one API server."""

from __future__ import annotations

import base64
import itertools
import signal
import socket
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import urllib3

from swim import signing
from tests import process, stores
from tests.grid_operator import api

COMMAND = ("tests.grid_operator.local", "{port}")
POLICY = {"epoch": 1, "tenants": [{"tenantId": "acme", "capUsd": 10}, {"tenantId": "none", "capUsd": 0}]}
_QUICK = {"probeInterval": "200ms", "suspicionTimeout": "400ms"}


def free_port() -> int:
    """A port that neither UDP nor TCP uses now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, socket.socket() as streams:
        streams.bind(("127.0.0.1", 0))
        datagrams.bind(streams.getsockname())
        return int(streams.getsockname()[1])


class Site:
    """One site: its GridNetwork, its Secret, and its operator once it is started."""

    def __init__(self, grid: Grid, name: str) -> None:
        self._grid, self.name, self.port = grid, name, free_port()
        self.network = f"{grid.id}-{name}"
        self.address = f"127.0.0.1:{self.port}"
        self.seed = uuid.uuid4().bytes * 2
        self.spec: dict[str, Any] = {}
        self.operator: process.Api | None = None

    @property
    def public(self) -> str:
        return base64.b64encode(signing.PrivateKey(self.seed).public).decode()

    def want(self, **changed: Any) -> None:
        """Change these fields of the spec; None removes one."""
        self.spec = {name: value for name, value in {**self.spec, **changed}.items() if value is not None}
        self._grid.api.put(api.NETWORKS, self.network, spec=self.spec)

    def start(self, *, state: str = "joined", **settings: str) -> process.Api:
        """Start its operator, and wait until it is a member that takes spend, or has another `state`, or for nothing."""
        self.operator = self._grid.starter(
            COMMAND,
            GRID_NETWORK_NAME=self.network,
            GRID_SWIM_SITE_NAME=self.name,
            GRID_SWIM_PROFILE="kind",
            GRID_SWIM_BIND_ADDR=self.address,
            GRID_SWIM_ADVERTISE_ADDR=self.address,
            SPACE_POD_NAME=self.name,
            **settings,
        )
        if state:
            stores.wait_until(f"{self.name} is {state}", lambda: bool(self.state().get(state)))
        return self.operator

    def state(self) -> dict[str, Any]:
        assert self.operator
        found: dict[str, Any] = self.operator.call("GET", "/v1/state").json()
        return found

    def kill(self) -> None:
        assert self.operator
        self.operator.stop(signal.SIGKILL)

    def leave(self) -> None:
        assert self.operator
        assert self.operator.stop() == 0

    def ask(
        self, request: object, tenant: object = "acme", cents: object = 1, **more: object
    ) -> urllib3.BaseHTTPResponse:
        assert self.operator
        body = {"requestId": request, "tenantId": tenant, "cents": cents, **more}
        return self.operator.call("POST", "/v1/spend", body)

    def spend(self, cents: int, tenant: str = "acme") -> str:
        """Spend under a new request id, which is returned."""
        request = str(uuid.uuid4())
        answer = self.ask(request, tenant, cents)
        assert answer.status == 200, answer.data
        return request

    @property
    def status(self) -> dict[str, Any]:
        return self._grid.api.status(api.NETWORKS, self.network)

    def condition(self, kind: str) -> tuple[str, str, str]:
        """(status, reason, message), empty while there is no such condition."""
        for one in self.status.get("conditions", ()):
            if one["type"] == kind:
                return one["status"], one["reason"], one["message"]
        return "", "", ""

    def shown(self, tenant: str = "acme") -> float | None:
        """What the status says that the tenant spent, in USD."""
        rows = {row["tenantId"]: row["spendUsd"] for row in self.status.get("budgetStatus", ())}
        return rows.get(tenant)

    @property
    def generation(self) -> int:
        return int(self._grid.api.objects[f"{api.NETWORKS}/{self.network}"]["metadata"]["generation"])

    def total(self, tenant: str = "acme") -> int:
        """Cents of all sites, as its ledger has them."""
        assert self.operator
        return int(self.operator.call("GET", f"/test/ledger/{tenant}").json()["cents"])

    def shows(self, usd: float, tenant: str = "acme") -> Callable[[], bool]:
        return lambda: self.shown(tenant) == usd


class Grid:
    """The sites of one test, under an id of their own."""

    _numbers = itertools.count()

    def __init__(self, server: api.ApiServer, url: str, starter: process.Start) -> None:
        self.api, self.url, self.starter = server, url, starter
        self.id = f"grid-{uuid.uuid4().hex[:12]}"
        self.sites: list[Site] = []

    def make(self, *names: str, chain: bool = False) -> Sequence[Site]:
        """Sites that believe one another; all seed the first one, or in a chain each the one before it."""
        made = [Site(self, name) for name in names]
        for site in made:
            self.api.put(api.SECRETS, f"{site.network}-key", data={"seed": _twice_encoded(site.seed)})
            for other in made:
                spec = {"gridNetworkRef": {"name": site.network}, "siteName": other.name, "publicKey": other.public}
                self.api.put(api.SITES, f"{site.network}-{other.name}", spec=spec)
        for before, site in zip([None, *made], made, strict=False):
            first = before if chain else made[0]
            site.want(
                gridId=self.id,
                seeds=[first.address] if first and first is not site else None,
                swim=_QUICK,
                tls={"siteKeyRef": {"name": f"{site.network}-key", "key": "seed"}},
                budgetPolicy=POLICY,
            )
        self.sites += made
        return made

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []


def code(answer: urllib3.BaseHTTPResponse) -> tuple[int, str]:
    """(status, machine code) of a refusal."""
    return answer.status, answer.json()["error"]["code"]


def _twice_encoded(key: bytes) -> str:
    """As a Secret holds it, whose entries are base64 of what the entry says."""
    return base64.b64encode(base64.b64encode(key)).decode()
