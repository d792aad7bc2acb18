"""What the leader clears away, and what it leaves alone."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import prometheus_client as prometheus
import pytest

from common import database as databases
from common import kube, wire
from fleet import claims, manifest, operations, records
from space_cluster_controller import config, metrics, upkeep
from tests import local_controller, queueing

DAY_S = 86400


def finished(queue: queueing.Queue, age_s: float, key: str = "", state: str = operations.SUCCEEDED) -> str:
    """An operation that reached its state so long ago."""
    made = queue.put(operations.CREATE, key=key)
    queue.execute(
        "UPDATE operations SET state = %s, updated_at = now() - make_interval(secs => %s) WHERE id = %s",
        (state, age_s, made.id),
    )
    return str(made.id)


def left(queue: queueing.Queue) -> set[str]:
    return {str(row["id"]) for row in queue.execute("SELECT id FROM operations")}


def clear(
    queue: queueing.Queue, what: str, clock: Callable[[], float] = lambda: 0.0, times: int = 1
) -> metrics.Metrics:
    """Let an upkeep that keeps operations for a day clear `what` away, `times` times."""
    meter = metrics.Metrics(prometheus.CollectorRegistry(), bool, int)

    async def work(pool: databases.Database) -> None:
        pods = kube.Pods(kube.Client(wire.Peer("127.0.0.1", queue.cluster.port), "space", None))
        made = upkeep.Upkeep(claims.Claims(pool, "w", 60), records.Records(pool), pods, DAY_S, meter, clock)
        for _ in range(times):
            await getattr(made, what)()

    queue.use(work)
    return meter


def test_what_finished_longer_ago_than_it_is_kept_goes_and_nothing_else(queue: queueing.Queue) -> None:
    finished(queue, DAY_S + 60)
    finished(queue, DAY_S + 60, state=operations.FAILED)
    kept = {
        finished(queue, DAY_S - 60),
        finished(queue, 30 * DAY_S, state=operations.QUEUED),
        finished(queue, 30 * DAY_S, state=operations.RUNNING),
    }
    clear(queue, "prune")
    assert left(queue) == kept
    clear(queue, "prune")
    assert left(queue) == kept


def test_a_batch_is_bounded_and_takes_the_oldest_first(queue: queueing.Queue) -> None:
    aged = [finished(queue, DAY_S + age_s) for age_s in (10, 30, 20)]

    async def work(pool: databases.Database) -> int:
        return await claims.Claims(pool, "w", 60).prune(DAY_S, 2)

    assert queue.use(work) == 2
    assert left(queue) == {aged[0]}


def test_all_batches_are_removed_in_one_go(queue: queueing.Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "OPERATIONS", 2)
    for _ in range(5):
        finished(queue, DAY_S + 60)
    clear(queue, "prune")
    assert left(queue) == set()


def test_a_key_stands_for_its_operation_for_as_long_as_that_is_kept(queue: queueing.Queue) -> None:
    young, old = finished(queue, DAY_S - 60, "young"), finished(queue, DAY_S + 60, "old")
    clear(queue, "prune")
    assert queue.put(operations.CREATE, key="young").id == young
    assert queue.put(operations.CREATE, key="old").id != old


def test_an_operation_removed_while_its_key_is_asked_for_again_makes_room_for_the_new_one(
    queue: queueing.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, asked = finished(queue, DAY_S + 60, "key"), databases.Session.query

    async def removed_meanwhile(session: databases.Session, kind: Any, statement: str, values: Any = ()) -> Any:
        if "idempotency_key = %s" in statement:
            queue.execute("DELETE FROM operations WHERE id = %s", (old,))
        return await asked(session, kind, statement, values)

    monkeypatch.setattr(databases.Session, "query", removed_meanwhile)
    made = queue.put(operations.CREATE, key="key")
    assert left(queue) == {made.id} != {old}


def test_pods_of_deleted_sandboxes_are_deleted_and_others_stay(
    queue: queueing.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "PODS", 2)
    kept = {queue.sandbox(state) for state in records.STATES if state != records.DELETED}
    for _ in range(3):
        queue.sandbox(records.DELETED)
    clear(queue, "sweep")
    assert queue.cluster.pods() == {manifest.name(sandbox) for sandbox in kept}


def test_a_pod_without_a_record_is_deleted_only_when_it_was_seen_so_for_long(queue: queueing.Queue) -> None:
    nobodys, moments = (
        str(uuid.uuid4()),
        iter((1000.0, 1000.0 + upkeep.UNKNOWN_FOR_S - 1, 1000.0 + upkeep.UNKNOWN_FOR_S)),
    )
    queue.cluster.add(nobodys)
    seen: list[bool] = []

    def clock() -> float:
        seen.append(manifest.name(nobodys) in queue.cluster.pods())
        return next(moments)

    meter = clear(queue, "sweep", clock, times=3)
    assert seen == [True] * 3
    assert queue.cluster.pods() == set()
    assert meter._orphaned.labels("unknown")._value.get() == 1


def test_a_pod_whose_label_names_no_sandbox_of_ours_or_that_ends_already_is_left_alone(queue: queueing.Queue) -> None:
    queue.cluster.add("somebody-elses")
    ending = queue.sandbox(records.DELETED)
    path = f"/api/v1/namespaces/space/pods/{manifest.name(ending)}"
    queue.cluster.objects[path]["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    moments = iter((0.0, 10 * upkeep.UNKNOWN_FOR_S))
    clear(queue, "sweep", lambda: next(moments), times=2)
    assert queue.cluster.pods() == {manifest.name("somebody-elses"), manifest.name(ending)}


def test_the_leader_clears_away_and_goes_on_after_a_fault(
    queue: queueing.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "EVERY_S", 0.02)
    tries = 0
    pruned = claims.Claims.prune

    async def first_in_vain(claimed: claims.Claims, keep_s: float, limit: int) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise databases.Unavailable("not now")
        return await pruned(claimed, keep_s, limit)

    monkeypatch.setattr(claims.Claims, "prune", first_in_vain)
    finished(queue, 8 * DAY_S)
    queue.sandbox(records.DELETED)

    async def work() -> None:
        made = local_controller.controller(config.read(queue.environment), queue.cluster.port)
        await made.database.open()
        leading = asyncio.create_task(made.lead())
        async with asyncio.timeout(20):
            while left(queue) or queue.cluster.pods():
                await asyncio.sleep(0.01)
        leading.cancel()
        await asyncio.wait({leading})
        await made.database.close()

    asyncio.run(work())
