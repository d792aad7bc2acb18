"""Operations and sandboxes for tests of the queue: put in and looked at directly, worked by forked workers."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from psycopg import rows

from common import database as databases
from fleet import manifest, operations, records
from tests import cluster, killing, stores

T = TypeVar("T")
TENANT = "acme"
CONTENT = bytes(range(256))
COMMAND = {"command": ["true"], "stdin_b64": "", "timeout_s": 5.0}
REQUESTS: dict[str, dict[str, object]] = {
    operations.CREATE: {},
    operations.COMMAND: COMMAND,
    operations.PAUSE: {},
    operations.RESUME: {},
    operations.DELETE: {},
    operations.FILES_PUT: {"path": "put", "content_b64": base64.b64encode(CONTENT).decode()},
    operations.FILES_GET: {"path": "got"},
}


@dataclass
class Queue:
    """The tables and the cluster of one test. `environment` is what a worker is set by."""

    url: str
    cluster: cluster.Cluster
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connection = psycopg.connect(self.url, autocommit=True, row_factory=rows.dict_row)
        given = {"SPACE_DATABASE_URL": self.url, "SPACE_SANDBOX_IMAGE": "none", "SPACE_NAMESPACE": "space"}
        self.environment = {"SPACE_PROFILE": "kind", "SPACE_CONTROLLER_OPERATION_LEASE_S": "60", **given}

    def use(self, work: Callable[[databases.Database], Awaitable[T]]) -> T:
        """Run `work` with a pool of its own."""

        async def running() -> T:
            pool = databases.Database(databases.Settings(self.url, 4), "test")
            await pool.open()
            try:
                return await work(pool)
            finally:
                await pool.close()

        return asyncio.run(running())

    def put(self, kind: str, sandbox: str = "", request: Mapping[str, Any] | None = None, key: str = "") -> Any:
        """Queue an operation; returns it."""
        order = operations.Order(kind, sandbox, REQUESTS[kind] if request is None else request, key)
        return self.use(lambda pool: operations.Operations(pool).put(TENANT, order, "trace"))

    def sandbox(self, state: str = records.RUNNING) -> str:
        """A sandbox of the tenant in that state, with a pod."""
        made = str(uuid.uuid4())
        guest = self.cluster.add(made)
        guest.frozen = state == records.PAUSED
        guest.files["got"] = CONTENT
        values = (made, state, operations.CLIENT, manifest.name(made), guest.address, TENANT)
        self.execute(
            "INSERT INTO sandboxes (id, state, client, pod, address, tenant) VALUES (%s,%s,%s,%s,%s,%s)", values
        )
        return made

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> list[dict[str, Any]]:
        cursor = self._connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description is not None else []

    def close(self) -> None:
        self._connection.close()

    def row(self, operation: str) -> dict[str, Any]:
        return self.execute("SELECT * FROM operations WHERE id = %s", (operation,))[0]

    def record(self, sandbox: str) -> dict[str, Any]:
        return self.execute("SELECT * FROM sandboxes WHERE id = %s", (sandbox,))[0]

    def unfinished(self) -> int:
        query = "SELECT count(*) AS n FROM operations WHERE state IN ('queued', 'running')"
        return int(self.execute(query)[0]["n"])

    def expire(self) -> None:
        """As if every claim's time had passed."""
        self.execute("UPDATE operations SET claimed_until = now() WHERE state = 'running'")

    def finish_all(self, **changed: str) -> None:
        """Let one undisturbed worker finish what there is."""
        with self.worker(**changed):
            stores.wait_until("all operations are finished", lambda: self.unfinished() == 0)

    @contextlib.contextmanager
    def worker(self, kill_at: int = killing.NEVER, **changed: str) -> Iterator[Any]:
        process = killing.start({**self.environment, **changed}, self.cluster.port, kill_at)
        try:
            yield process
        finally:
            process.terminate()
            process.join(10)

    def killed(self, operation: str, kill_at: int) -> bool:
        """Let a worker begin that is killed at this boundary; False when it finished before it came to that."""
        with self.worker(kill_at) as process:
            ended = ("succeeded", "failed")
            stores.wait_until(
                "the worker is killed, or done",
                lambda: process.exitcode is not None or self.row(operation)["state"] in ended,
            )
            process.join(0.2 if self.row(operation)["state"] in ended else 10)
            return process.exitcode == -9
