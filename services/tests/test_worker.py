"""Workers of the queue: what they do with refusals, failures, lost claims and the limiter they share with the API."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import time
from typing import Any

import pytest

from fleet import manifest, operations, records
from space_cluster_controller import config, worker
from tests import limiting, local_controller, queueing, stores

ONE_TOKEN = {
    "SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST": "1",
    "SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND": "0.001",
}


def test_every_kind_gives_its_result(queue: queueing.Queue) -> None:
    running, paused = queue.sandbox(), queue.sandbox(records.PAUSED)
    made = {kind: queue.put(kind, running) for kind in ("command", "files.put", "files.get", "pause")}
    made["create"], made["resume"] = queue.put(operations.CREATE), queue.put(operations.RESUME, paused)
    made["delete"] = queue.put(operations.DELETE, queue.sandbox())
    assert made.keys() == set(operations.KINDS)
    queue.finish_all()
    rows = {kind: queue.row(one.id) for kind, one in made.items()}
    assert {row["state"] for row in rows.values()} == {"succeeded"}, rows
    assert rows["command"]["result"]["stdout_b64"] == "cmFu"
    assert rows["files.put"]["result"] == {"path": "put", "size": 256}
    assert rows["files.get"]["result"]["size"] == 256
    states = {kind: rows[kind]["result"]["state"] for kind in ("create", "pause", "resume", "delete")}
    assert states == {"create": "running", "pause": "paused", "resume": "running", "delete": "deleted"}


def test_a_refused_activation_is_queued_for_its_retry_after_and_not_failed(
    queue: queueing.Queue, redis_server: stores.Redis
) -> None:
    first, second = queue.put(operations.CREATE), queue.put(operations.CREATE)
    with queue.worker(SPACE_REDIS_URL=redis_server.url, **ONE_TOKEN):
        stores.wait_until("the second was refused", lambda: queue.row(second.id)["refusals"] == 1)
        stores.wait_until("the first is made", lambda: queue.row(first.id)["state"] == "succeeded")
    row = queue.row(second.id)
    assert (row["state"], row["activation"]["outcome"], row["returns"]) == (operations.QUEUED, "refused", 0)
    retry_after_s = math.ceil(row["activation"]["retry_after_ms"] / 1000)
    assert (row["not_before"] - row["updated_at"]).total_seconds() == retry_after_s > 900
    redis_server.client.flushall()  # the bucket is full again, and the time has come
    queue.execute("UPDATE operations SET not_before = now()")
    queue.finish_all(SPACE_REDIS_URL=redis_server.url, **ONE_TOKEN)
    row = queue.row(second.id)
    assert (row["state"], row["activation"]["outcome"], row["refusals"]) == ("succeeded", "admitted", 1)


def test_a_worker_goes_on_by_itself_when_the_retry_after_is_over(
    queue: queueing.Queue, redis_server: stores.Redis
) -> None:
    made = [queue.put(operations.CREATE) for _ in range(3)]
    queue.finish_all(
        SPACE_REDIS_URL=redis_server.url,
        SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST="1",
        SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND="1",
    )
    assert {queue.row(one.id)["state"] for one in made} == {"succeeded"}


def test_a_drained_bucket_does_not_hold_up_what_needs_no_token_and_is_not_asked_in_vain(
    queue: queueing.Queue, redis_server: stores.Redis
) -> None:
    for _ in range(4):
        queue.put(operations.CREATE)
    with queue.worker(SPACE_REDIS_URL=redis_server.url, SPACE_CONTROLLER_PARALLEL="1", **ONE_TOKEN):
        stores.wait_until("the bucket is drained", lambda: sum(row["refusals"] for row in _all(queue)) > 0)
        command = queue.put(operations.COMMAND, queue.sandbox())
        stores.wait_until("the command is run", lambda: queue.row(command.id)["state"] == "succeeded")
        # Older creates come first in the queue, so any that were asked for again would have been by now.
        assert sum(row["refusals"] for row in _all(queue)) == 1


def _all(queue: queueing.Queue) -> list[dict[str, Any]]:
    return queue.execute("SELECT * FROM operations")


def test_waking_draws_a_token_and_resuming_what_runs_does_not(
    queue: queueing.Queue, redis_server: stores.Redis
) -> None:
    queue.put(operations.RESUME, queue.sandbox())
    queue.finish_all(SPACE_REDIS_URL=redis_server.url)
    assert limiting.tokens(redis_server) is None
    queue.put(operations.RESUME, queue.sandbox(records.PAUSED))
    queue.finish_all(SPACE_REDIS_URL=redis_server.url, **ONE_TOKEN)
    assert limiting.tokens(redis_server) == pytest.approx(0, abs=0.01)


def test_an_admitted_activation_is_not_drawn_again_by_the_next_worker(
    queue: queueing.Queue, redis_server: stores.Redis
) -> None:
    queue.environment |= {"SPACE_REDIS_URL": redis_server.url, **ONE_TOKEN}
    made = queue.put(operations.CREATE)
    assert queue.killed(made.id, 8)  # its pod was just asked for
    assert queue.row(made.id)["activated"]
    queue.expire()
    queue.finish_all()
    assert (queue.row(made.id)["state"], queue.row(made.id)["refusals"]) == ("succeeded", 0)


def test_a_cluster_that_refuses_fails_the_operation_and_one_that_is_away_does_not(queue: queueing.Queue) -> None:
    queue.cluster.refuse_pods = 403
    refused = queue.put(operations.CREATE)
    queue.finish_all()
    assert queue.row(refused.id)["error"]["code"] == "cluster_refused"
    assert queue.record(refused.sandbox)["state"] == records.FAILED
    queue.cluster.refuse_pods = 503
    away = queue.put(operations.CREATE)
    with queue.worker():
        stores.wait_until("it is put back", lambda: queue.row(away.id)["returns"] == 1)
        queue.cluster.refuse_pods = 0
        stores.wait_until("it is finished", lambda: queue.row(away.id)["state"] == "succeeded")


def test_what_does_not_pass_is_reported_after_a_few_tries(queue: queueing.Queue) -> None:
    queue.cluster.refuse_pods = 503
    made = queue.put(operations.CREATE)
    queue.execute("UPDATE operations SET returns = 5")
    queue.finish_all()
    assert queue.row(made.id)["error"]["code"] == "cluster_unavailable"


def test_a_sandbox_in_another_state_fails_the_operation_with_its_code(queue: queueing.Queue) -> None:
    paused = queue.put(operations.COMMAND, queue.sandbox(records.PAUSED))
    missing = queue.put(operations.FILES_GET, queue.sandbox(), {"path": "nowhere"})
    queue.finish_all()
    assert queue.row(paused.id)["error"]["code"] == "sandbox_paused"
    assert queue.row(missing.id)["error"]["code"] == "file_not_found"


def test_pods_are_owned_by_the_deployment_that_is_named(queue: queueing.Queue) -> None:
    made = queue.put(operations.CREATE)
    queue.finish_all(SPACE_CONTROLLER_DEPLOYMENT="own")
    pod = queue.cluster.objects[f"/api/v1/namespaces/space/pods/{manifest.name(made.sandbox)}"]
    (owner,) = pod["metadata"]["ownerReferences"]
    assert owner == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "own", "uid": "u-1"}
    nameless = queue.put(operations.CREATE)
    queue.finish_all()
    pod = queue.cluster.objects[f"/api/v1/namespaces/space/pods/{manifest.name(nameless.sandbox)}"]
    assert "ownerReferences" not in pod["metadata"]


def test_a_worker_that_was_stopped_for_too_long_changes_nothing_when_it_goes_on(queue: queueing.Queue) -> None:
    sandbox = queue.sandbox()
    guest = queue.cluster.guests[sandbox]
    guest.open.clear()
    made = queue.put(operations.COMMAND, sandbox)
    with queue.worker() as first:
        stores.wait_until("the command runs", lambda: len(guest.commands) == 1)
        os.kill(first.pid, signal.SIGSTOP)
        queue.expire()
        queue.finish_all()
        assert queue.row(made.id)["error"]["code"] == "outcome_unknown"
        guest.open.set()
        os.kill(first.pid, signal.SIGCONT)
        later = queue.put(operations.COMMAND, queue.sandbox())
        stores.wait_until("the first worker goes on", lambda: queue.row(later.id)["state"] == "succeeded")
    row = queue.row(made.id)
    assert (row["state"], row["error"]["code"], len(guest.commands)) == ("failed", "outcome_unknown", 1)


def test_a_claim_is_renewed_for_as_long_as_the_command_runs(queue: queueing.Queue) -> None:
    sandbox = queue.sandbox()
    guest = queue.cluster.guests[sandbox]
    guest.open.clear()
    made = queue.put(operations.COMMAND, sandbox)
    with queue.worker(SPACE_CONTROLLER_OPERATION_LEASE_S="2"), queue.worker(SPACE_CONTROLLER_OPERATION_LEASE_S="2"):
        stores.wait_until("the command runs", lambda: len(guest.commands) == 1)
        began = time.monotonic()
        stores.wait_until("longer than any claim", lambda: time.monotonic() - began > 4.5)
        assert (queue.row(made.id)["state"], queue.row(made.id)["attempt"]) == ("running", 1)
        guest.open.set()
        stores.wait_until("it is finished", lambda: queue.row(made.id)["state"] == "succeeded")


class NoWork:
    """A queue without operations that counts how often it is asked."""

    lease_s = 60.0

    def __init__(self) -> None:
        self.asked = 0

    async def claim(self, kinds: object) -> None:
        self.asked += 1


def test_an_idle_worker_asks_no_more_often_than_once_a_second_and_at_once_when_woken() -> None:
    async def work() -> None:
        queue, wake, stopping = NoWork(), asyncio.Event(), asyncio.Event()
        made = worker.Worker(queue, None, 4, wake=wake, stopping=stopping, drain_s=0)  # type: ignore[arg-type]
        task = asyncio.create_task(made.run())
        await asyncio.sleep(3.5)
        assert 2 <= queue.asked <= 4
        for asked in range(queue.asked + 1, queue.asked + 4):
            wake.set()
            async with asyncio.timeout(0.5):
                while queue.asked < asked:
                    await asyncio.sleep(0.01)
        stopping.set()
        async with asyncio.timeout(0.5):
            await task

    limiting.run(work())


def test_an_operation_is_begun_by_its_notification(queue: queueing.Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "POLL_S", 600.0)  # so that only the notification can tell

    async def work() -> None:
        made = local_controller.controller(config.read(queue.environment), queue.cluster.port)
        await made.database.open()
        leading = asyncio.create_task(made.lead())
        front = operations.Operations(made.database)
        for kind in (operations.PAUSE, operations.RESUME):
            put = await front.put(queueing.TENANT, operations.Order(kind, sandbox, {}), "trace")
            async with asyncio.timeout(20):
                while (found := await front.get(put.id, queueing.TENANT)) and found.state != operations.SUCCEEDED:
                    await asyncio.sleep(0.02)
        made.base.life.stopping.set()
        await leading
        await made.store.close()
        await made.database.close()

    sandbox = queue.sandbox()
    limiting.run(work())
