"""The controller as a process: it leads or stands by, tells what it does, and leaves in order."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator

import pytest

from fleet import operations
from limiters import activation
from tests import process, queueing, stores

Start = Callable[..., process.Api]


@pytest.fixture
def start(queue: queueing.Queue) -> Iterator[Start]:
    """Starts controllers on the test's queue and cluster; short Leases, so that tests are short."""
    settings = {**queue.environment, "SPACE_TEST_CLUSTER": str(queue.cluster.port), "SPACE_CONTROLLER_LEASE_S": "3"}
    with process.starter(settings) as starter:

        def start(**changed: str) -> process.Api:
            return starter(process.CONTROLLER, **changed)

        yield start


def leads(controller: process.Api) -> bool:
    return bool(controller.call("GET", "/v1/state").json()["leader"])


def wait_leading(controller: process.Api) -> None:
    stores.wait_until("it leads", lambda: leads(controller))


def succeeded(queue: queueing.Queue, operation: str) -> Callable[[], bool]:
    return lambda: queue.row(operation)["state"] == "succeeded"


def test_one_leads_and_the_other_stands_by_ready(queue: queueing.Queue, start: Start) -> None:
    first = start(SPACE_POD_NAME="first")
    wait_leading(first)
    second = start(SPACE_POD_NAME="second", SPACE_VERSION="v2")
    assert not leads(second)
    assert {one.call("GET", "/readyz").status for one in (first, second)} == {200}
    assert (first.metric("space_controller_leader"), second.metric("space_controller_leader")) == (1, 0)
    assert second.call("GET", "/version").json() == {"version": "v2", "image_id": "", "pod": "second"}
    made = queue.put(operations.CREATE)
    stores.wait_until("it is performed", succeeded(queue, made.id))
    assert first.metric("space_operations_finished_total", kind="create", outcome="succeeded") == 1
    assert queue.cluster.lease()["holderIdentity"].startswith("first_")
    told = second.call("GET", "/v1/state").json()
    assert (told["leader"], told["running"]) == (False, 0)


def test_state_tells_the_limiter_and_its_key_and_no_url(start: Start, redis_server: stores.Redis) -> None:
    answer = start(SPACE_REDIS_URL=redis_server.url).call("GET", "/v1/state")
    limiter = answer.json()["limiters"]["activation"]
    assert (limiter["store"], limiter["burst"], limiter["key"]) == ("configured", 60, activation.KEY)
    assert str(redis_server.port) not in answer.data.decode()
    assert "postgresql" not in answer.data.decode()


def test_when_the_leader_is_killed_another_leads_after_the_lease_and_finishes_its_work(
    queue: queueing.Queue, start: Start
) -> None:
    first = start(SPACE_CONTROLLER_OPERATION_LEASE_S="2")
    wait_leading(first)
    second = start(SPACE_CONTROLLER_OPERATION_LEASE_S="2")
    sandbox = queue.sandbox()
    queue.cluster.guests[sandbox].open.clear()
    command = queue.put(operations.COMMAND, sandbox)
    stores.wait_until("the command runs", lambda: bool(queue.cluster.guests[sandbox].commands))
    first.stop(signal.SIGKILL)
    killed = time.monotonic()
    wait_leading(second)
    assert time.monotonic() - killed >= 1.5, "the Lease had not expired"
    stores.wait_until("its command is reported", lambda: queue.row(command.id)["state"] == "failed")
    assert queue.row(command.id)["error"]["code"] == "outcome_unknown"
    made = queue.put(operations.CREATE)
    stores.wait_until("new work is done", succeeded(queue, made.id))


def test_a_leader_told_to_stop_finishes_its_work_and_gives_the_lease_back(queue: queueing.Queue, start: Start) -> None:
    first = start(SPACE_DRAIN_S="60")
    wait_leading(first)
    sandbox = queue.sandbox()
    guest = queue.cluster.guests[sandbox]
    guest.open.clear()
    command = queue.put(operations.COMMAND, sandbox)
    stores.wait_until("the command runs", lambda: bool(guest.commands))
    first.process.send_signal(signal.SIGTERM)
    stores.wait_until("it is unready", lambda: first.call("GET", "/readyz").status == 503)
    late = queue.put(operations.PAUSE, queue.sandbox())
    guest.open.set()
    stores.wait_until("the command is finished", succeeded(queue, command.id))
    stores.wait_until("the Lease is free", lambda: queue.cluster.lease()["holderIdentity"] == "", 5)
    assert queue.row(late.id)["state"] == "queued", "a stopping controller took on something new"
    first.stop(signal.SIGKILL)  # it would serve on until its drain is over
    second = start()
    stores.wait_until("the next leads and does it", succeeded(queue, late.id))
    assert leads(second)


def test_what_a_stopping_leader_cannot_finish_is_handed_back_or_reported(queue: queueing.Queue, start: Start) -> None:
    first = start(SPACE_DRAIN_S="0")
    wait_leading(first)
    sandbox, pausing = queue.sandbox(), queue.sandbox()
    for one in (sandbox, pausing):
        queue.cluster.guests[one].open.clear()
    command = queue.put(operations.COMMAND, sandbox)
    stores.wait_until("the command runs", lambda: bool(queue.cluster.guests[sandbox].commands))
    queue.cluster.answering.clear()
    create = queue.put(operations.CREATE)
    stores.wait_until("the create is in work", lambda: queue.row(create.id)["state"] == "running")
    began = time.monotonic()
    assert first.stop() == 0
    assert time.monotonic() - began < 6
    assert queue.row(command.id)["error"]["code"] == "outcome_unknown"
    assert queue.row(create.id)["state"] == "queued"
    queue.cluster.answering.set()
    start()
    stores.wait_until("the next one makes it", succeeded(queue, create.id))
    assert queue.cluster.made[f"sandbox-{create.sandbox}"] == 1


def test_wrong_settings_end_the_start_with_every_mistake(queue: queueing.Queue) -> None:
    wrong = {
        "SPACE_CONTROLLER_LEASE_S": "1",
        "SPACE_CONTROLLER_PARALLEL": "0",
        "SPACE_CONTROLLER_OPERATION_LEASE_S": "x",
        "SPACE_CONTROLLER_OPERATION_KEEP_S": "3599",
    }
    done = process.run("space_cluster_controller", SPACE_DATABASE_URL="", **wrong)
    assert done.returncode == 64
    for name in (*wrong, "SPACE_DATABASE_URL"):
        assert f"{name}=" in done.stderr
    good = {"SPACE_DATABASE_URL": queue.url, "KUBERNETES_SERVICE_HOST": ""}
    outside = process.run("space_cluster_controller", **good)
    assert (outside.returncode, "service account" in outside.stderr) == (64, True)
