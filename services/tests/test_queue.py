"""The queue: one claim at a time, in order for each sandbox, fenced, and one operation for each idempotency key."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from common import database as databases
from common import notify
from fleet import claims, manifest, operations, records
from space_api import migrate, schema
from tests import limiting, queueing, stores


def _claims(pool: databases.Database, worker: str = "one", lease_s: float = 60) -> claims.Claims:
    return claims.Claims(pool, worker, lease_s)


def _kinds(queue: queueing.Queue, times: int) -> list[str]:
    """The kinds that this many claims in a row get; "" for none."""

    async def work(pool: databases.Database) -> list[str]:
        found = [await _claims(pool).claim() for _ in range(times)]
        return [one.kind if one else "" for one in found]

    return queue.use(work)


def test_many_workers_at_once_claim_each_operation_once(queue: queueing.Queue) -> None:
    put = {queue.put(operations.COMMAND, queue.sandbox()).id for _ in range(12)}

    async def work(pool: databases.Database) -> list[str]:
        found = await asyncio.gather(*(_claims(pool, str(number)).claim() for number in range(24)))
        return [one.id for one in found if one]

    claimed = queue.use(work)
    assert len(claimed) == len(set(claimed))
    # A worker that met a locked row may have left empty-handed; it would look again.
    rest = [one for one in _ids(queue, 12) if one]
    assert {*claimed, *rest} == put
    assert len(claimed) + len(rest) == 12


def _ids(queue: queueing.Queue, times: int) -> list[str]:
    async def work(pool: databases.Database) -> list[str]:
        found = [await _claims(pool).claim() for _ in range(times)]
        return [one.id if one else "" for one in found]

    return queue.use(work)


def test_operations_of_one_sandbox_run_in_order(queue: queueing.Queue) -> None:
    created = queue.put(operations.CREATE)
    queue.put(operations.COMMAND, created.sandbox)
    queue.put(operations.PAUSE, created.sandbox)
    assert _kinds(queue, 3) == [operations.CREATE, "", ""]


def test_a_running_command_holds_nothing_up(queue: queueing.Queue) -> None:
    sandbox = queue.sandbox()
    for kind in (operations.COMMAND, operations.COMMAND, operations.PAUSE, operations.COMMAND):
        queue.put(kind, sandbox)
    assert _kinds(queue, 5) == [operations.COMMAND, operations.COMMAND, operations.PAUSE, "", ""]


def test_sandboxes_do_not_wait_for_each_other(queue: queueing.Queue) -> None:
    for kind in (operations.PAUSE, operations.DELETE):
        queue.put(kind, queue.sandbox())
    assert _kinds(queue, 2) == [operations.PAUSE, operations.DELETE]


def test_a_claim_that_was_taken_over_can_write_nothing_more(queue: queueing.Queue) -> None:
    made = queue.put(operations.PAUSE, queue.sandbox())

    async def work(pool: databases.Database) -> None:
        first, second = _claims(pool, "first"), _claims(pool, "second")
        old = await first.claim()
        queue.expire()
        new = await second.claim()
        assert old is not None
        assert new is not None
        assert (old.attempt, new.attempt) == (1, 2)
        move = records.Move(records.PAUSED, records.STATES)
        for write in (
            lambda: first.succeed(old, {}, move),
            lambda: first.fail(old, "code", "message"),
            lambda: first.back(old, 0),
            lambda: first.renew(old),
            lambda: first.sent(old),
            lambda: first.decided(old, True, {}),
        ):
            with pytest.raises(claims.ClaimLost):
                await write()
        assert queue.record(old.sandbox)["state"] == records.RUNNING, "the state went with a result that was refused"
        await second.succeed(new, {"by": "second"})
        with pytest.raises(claims.ClaimLost):
            await second.fail(new, "again", "a finished operation stays as it is")

    queue.use(work)
    assert (queue.row(made.id)["state"], queue.row(made.id)["result"]) == ("succeeded", {"by": "second"})


def test_a_renewed_claim_is_not_taken_over(queue: queueing.Queue) -> None:
    queue.put(operations.PAUSE, queue.sandbox())

    async def work(pool: databases.Database) -> None:
        first = _claims(pool, "first")
        held = await first.claim()
        assert held is not None
        queue.expire()
        await first.renew(held)
        assert await _claims(pool, "second").claim() is None

    queue.use(work)


def test_a_result_for_a_sandbox_in_another_state_is_not_written(queue: queueing.Queue) -> None:
    made = queue.put(operations.PAUSE, queue.sandbox())

    async def work(pool: databases.Database) -> None:
        held = await _claims(pool).claim()
        assert held is not None
        queue.execute("UPDATE sandboxes SET state = 'deleted' WHERE id = %s", (held.sandbox,))
        with pytest.raises(claims.SandboxChanged):
            await _claims(pool).succeed(held, {}, records.Move(records.PAUSED, (records.RUNNING,)))

    queue.use(work)
    assert queue.row(made.id)["state"] == operations.RUNNING


def test_an_operation_put_back_is_due_when_its_delay_is_over(queue: queueing.Queue) -> None:
    made = queue.put(operations.PAUSE, queue.sandbox())

    async def work(pool: databases.Database) -> None:
        held = await _claims(pool).claim()
        assert held is not None
        await _claims(pool).back(held, 60, refused=True)
        assert await _claims(pool).claim() is None
        queue.execute("UPDATE operations SET not_before = now()")
        assert await _claims(pool).claim() is not None

    queue.use(work)
    assert (queue.row(made.id)["refusals"], queue.row(made.id)["attempt"]) == (1, 2)


def test_a_key_stands_for_one_operation_however_often_and_at_once_it_is_asked(queue: queueing.Queue) -> None:
    async def work(pool: databases.Database) -> set[tuple[str, str]]:
        order = operations.Order(operations.CREATE, "", {}, "key")
        queue_front = operations.Operations(pool)
        made = await asyncio.gather(*(queue_front.put(queueing.TENANT, order, "t") for _ in range(12)))
        return {(one.id, one.sandbox) for one in made}

    ((operation, sandbox),) = queue.use(work)
    assert len(queue.execute("SELECT FROM sandboxes WHERE id = %s", (sandbox,))) == 1
    assert len(queue.execute("SELECT FROM operations")) == 1
    assert queue.row(operation)["idempotency_key"] == "key"


def test_a_key_does_not_stand_for_another_request_and_tenants_do_not_share_keys(queue: queueing.Queue) -> None:
    sandbox = queue.sandbox()
    made = queue.put(operations.COMMAND, sandbox, key="key")
    assert queue.put(operations.COMMAND, sandbox, key="key").id == made.id
    for kind, other, request in (
        (operations.PAUSE, sandbox, None),
        (operations.COMMAND, queue.sandbox(), None),
        (operations.COMMAND, sandbox, {**queueing.COMMAND, "command": ["false"]}),
    ):
        with pytest.raises(operations.KeyReused):
            queue.put(kind, other, request, "key")
    order = operations.Order(operations.CREATE, "", {}, "key")
    assert queue.use(lambda pool: operations.Operations(pool).put("other", order, "t")).id != made.id


def test_operations_without_a_key_are_all_their_own(queue: queueing.Queue) -> None:
    assert queue.put(operations.CREATE).id != queue.put(operations.CREATE).id


@pytest.mark.parametrize("owner", ["", "another"])
def test_a_tenant_cannot_name_a_sandbox_that_is_not_its_own(owner: str, queue: queueing.Queue) -> None:
    sandbox = queue.sandbox()
    queue.execute("UPDATE sandboxes SET tenant = %s WHERE id = %s", (owner, sandbox))
    with pytest.raises(operations.UnknownSandbox):
        queue.put(operations.DELETE, sandbox)
    assert not queue.execute("SELECT FROM operations")


def test_a_new_operation_wakes_who_listens(queue: queueing.Queue) -> None:
    async def work(pool: databases.Database) -> None:
        woken = asyncio.Event()
        listening = asyncio.create_task(notify.listen(queue.url, operations.CHANNEL, "test", woken))
        async with asyncio.timeout(10):
            await woken.wait()  # it is connected
            woken.clear()
            order = operations.Order(operations.CREATE, "", {})
            await operations.Operations(pool).put(queueing.TENANT, order, "t")
            await woken.wait()
            woken.clear()
            queue_admin = queue.url.replace("app@", "postgres@")
            with psycopg.connect(queue_admin, autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
            await woken.wait()  # connected again, and whatever was missed is looked for
        listening.cancel()

    queue.use(work)


def test_a_failure_may_quote_anything(queue: queueing.Queue) -> None:
    made = queue.put(operations.PAUSE, queue.sandbox())

    async def work(pool: databases.Database) -> None:
        held = await _claims(pool).claim()
        assert held is not None
        await _claims(pool).fail(held, "code", "a\0b\N{SNOWMAN}")

    queue.use(work)
    assert queue.row(made.id)["error"] == {"code": "code", "message": "ab\N{SNOWMAN}"}


def test_a_database_of_the_step_before_is_brought_up_to_date_with_its_data() -> None:
    with stores.postgres() as pattern:
        owner = pattern.format(role="owner")
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute(schema.STEPS[0].encode())
            connection.execute("CREATE TABLE space_migrations (version int PRIMARY KEY, applied_at timestamptz)")
            connection.execute("INSERT INTO space_migrations VALUES (1, now())")
            # As the services of the step before write; they may still run while the next step is there.
            old = "INSERT INTO sandboxes (id, state, client, pod, address) VALUES (gen_random_uuid(), 'running', 'c', 'p', 'a')"
            connection.execute(old.encode())
            assert migrate.migrate(owner, "app") == len(schema.STEPS) - 1
            connection.execute(old.encode())

        async def work() -> None:
            pool = databases.Database(databases.Settings(pattern.format(role="app"), 1), "test")
            await pool.open()
            found = await records.Records(pool).list(records.NOBODY)
            assert [one.state for one in found] == ["running"] * 2
            await pool.close()

        limiting.run(work())


def test_the_pods_name_follows_from_the_sandbox(queue: queueing.Queue) -> None:
    made = queue.put(operations.CREATE)
    assert queue.record(made.sandbox)["pod"] == manifest.name(made.sandbox) == f"sandbox-{made.sandbox}"
    assert queue.record(made.sandbox)["state"] == records.STARTING
