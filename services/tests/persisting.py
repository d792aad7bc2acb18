"""Claims about what goes through the database as functions that raise AssertionError, as in `limiting` about limiters."""

from __future__ import annotations

import contextlib
import uuid

import psycopg
from starlette.requests import Request

from common import about, refusals
from common import database as databases
from common import facts as common_facts
from fleet import records
from space_api import app, config, facts
from space_cluster_controller import config as controller_config
from tests import limiting, local_controller, queueing, serving, stores

APPLICATION = "claim"
CUT = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s"  # waits for its end


def cut_connections(queue: queueing.Queue) -> None:
    """End the sessions of APPLICATION on the server's side."""
    with psycopg.connect(queue.url.replace("app@", "postgres@"), autocommit=True) as admin:
        admin.execute(CUT, (APPLICATION,))


async def failures(table: records.Records, times: int) -> int:
    """How many of so many reads, one after another, found no database."""
    failed = 0
    for _ in range(times):
        try:
            await table.check()
        except databases.Unavailable:
            failed += 1
    return failed


def connections_that_the_server_closed_cost_nobody_an_error(world: serving.World, active: frozenset[str]) -> None:
    async def work() -> int:
        pool = databases.Database(databases.Settings(world.queue.url, 2), APPLICATION, active)
        await pool.open()
        try:
            table = records.Records(pool)
            await table.check()
            cut_connections(world.queue)
            return await failures(table, 6)
        finally:
            await pool.close()

    failed = limiting.run(work())
    assert failed == 0, f"{failed} of 6 reads after the restart failed"


def what_is_answered_is_written(world: serving.World, active: frozenset[str]) -> None:
    sandbox = world.queue.sandbox()

    async def work(pool: databases.Database) -> str:
        moved = await records.Records(pool, active).move(sandbox, records.PAUSED, origins=(records.RUNNING,))
        assert moved is not None
        assert moved.state == records.PAUSED
        return str(world.queue.record(sandbox)["state"])

    assert world.queue.use(work) == records.PAUSED, "the answer came before the write"


class _Unanswered(records.Records):
    """The first insert is done, and its answer lost."""

    _lost = False

    async def add(self, sandbox: str, client: str, pod: str) -> records.Record:
        added = await super().add(sandbox, client, pod)
        if not self._lost:
            self._lost = True
            raise databases.Unavailable("the connection broke off")
        return added


class _Runtime:
    """Sandboxes that are nowhere."""

    async def start(self, sandbox: str) -> str:
        return "nowhere:1"

    async def stop(self, sandbox: str) -> None:
        """There is nothing to end."""

    async def image_id(self) -> str:
        return ""


def a_create_without_an_answer_is_not_done_again(world: serving.World, active: frozenset[str]) -> None:
    client = f"client-{uuid.uuid4().hex}"
    settings = {"SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS": client, "SPACE_MUTATION": ",".join(active)}
    made = app.service(config.read({**world.queue.environment, **settings}), _Runtime())
    made.table = _Unanswered(made.database)
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"x-client-id", client.encode())]}
    common_facts.begin(scope, facts.Facts)

    async def work() -> None:
        await made.database.open()
        try:
            with contextlib.suppress(refusals.Refusal):
                await made.create(Request(scope, _no_body))
        finally:
            await made.database.close()

    limiting.run(work())
    rows = world.queue.execute("SELECT id FROM sandboxes WHERE client = %s", (client,))
    assert len(rows) == 1, f"one create made {len(rows)} rows"


def a_pod_without_its_database_is_not_ready(world: serving.World, active: frozenset[str]) -> None:
    nobody = f"postgresql://app@127.0.0.1:{stores.free_port()}/space"
    settings = {"SPACE_DATABASE_URL": nobody, "SPACE_MUTATION": ",".join(active)}

    async def work() -> int:
        made = local_controller.controller(controller_config.read({**world.queue.environment, **settings}), 1)
        told = about.About(made.base, ready=made.ready, image_id=made.runtime.image_id)
        await made.database.open()
        try:
            return (await told.readyz(Request({"type": "http"}))).status_code
        except refusals.Refusal as refusal:
            return refusal.status
        finally:
            await made.database.close()

    assert limiting.run(work()) == 503


async def _no_body() -> dict[str, object]:
    return {"type": "http.request", "body": b"", "more_body": False}
