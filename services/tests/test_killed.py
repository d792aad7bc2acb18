"""Wherever a worker is killed, its operation finishes once or is reported failed: never twice, never lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fleet import manifest, operations, records
from tests import queueing

Row = dict[str, Any]


def _create(queue: queueing.Queue, row: Row) -> None:
    name = manifest.name(str(row["sandbox"]))
    assert row["state"] == operations.SUCCEEDED
    assert queue.cluster.made[name] == 1
    assert name in queue.cluster.pods()
    record = queue.record(row["sandbox"])
    assert (record["state"], record["address"]) == (records.RUNNING, queue.cluster.guests[str(row["sandbox"])].address)


def _command(queue: queueing.Queue, row: Row) -> None:
    runs = len(queue.cluster.guests[str(row["sandbox"])].commands)
    if row["state"] == operations.SUCCEEDED:
        assert runs == 1
    else:
        assert row["error"]["code"] == "outcome_unknown"
        assert runs <= 1
        assert row["sent"], "a command that was never sent is not in doubt"


def _pause(queue: queueing.Queue, row: Row) -> None:
    assert row["state"] == operations.SUCCEEDED
    assert queue.record(row["sandbox"])["state"] == records.PAUSED
    assert queue.cluster.guests[str(row["sandbox"])].frozen


def _resume(queue: queueing.Queue, row: Row) -> None:
    assert row["state"] == operations.SUCCEEDED
    assert queue.record(row["sandbox"])["state"] == records.RUNNING
    assert not queue.cluster.guests[str(row["sandbox"])].frozen


def _delete(queue: queueing.Queue, row: Row) -> None:
    assert row["state"] == operations.SUCCEEDED
    assert queue.record(row["sandbox"])["state"] == records.DELETED
    assert manifest.name(str(row["sandbox"])) not in queue.cluster.pods()


def _put(queue: queueing.Queue, row: Row) -> None:
    assert row["state"] == operations.SUCCEEDED
    assert queue.cluster.guests[str(row["sandbox"])].files["put"] == queueing.CONTENT


def _get(queue: queueing.Queue, row: Row) -> None:
    assert row["state"] == operations.SUCCEEDED
    assert row["result"]["content_b64"] == queueing.REQUESTS[operations.FILES_PUT]["content_b64"]


# Each kind with the state of its sandbox, how it must have ended, and the fewest boundaries that it has.
KINDS: dict[str, tuple[str, Callable[[queueing.Queue, Row], None], int]] = {
    operations.CREATE: ("", _create, 15),
    operations.COMMAND: (records.RUNNING, _command, 9),
    operations.PAUSE: (records.RUNNING, _pause, 9),
    operations.RESUME: (records.PAUSED, _resume, 13),
    operations.DELETE: (records.RUNNING, _delete, 9),
    operations.FILES_PUT: (records.RUNNING, _put, 7),
    operations.FILES_GET: (records.RUNNING, _get, 7),
}


def test_every_kind_is_killed() -> None:
    assert KINDS.keys() == set(operations.KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_step_it_finishes_once_or_is_reported_failed(kind: str, queue: queueing.Queue) -> None:
    state, check, fewest = KINDS[kind]
    killed: list[str] = []
    while True:
        made = queue.put(kind, queue.sandbox(state) if state else "")
        if not queue.killed(made.id, len(killed) + 1):
            break
        assert queue.row(made.id)["state"] in ("running", "succeeded"), "it is neither lost nor handed to two"
        killed.append(made.id)
    assert len(killed) >= fewest, "a step was not seen"
    queue.expire()
    queue.finish_all()
    for boundary, operation in enumerate(killed, start=1):
        row = queue.row(operation)
        try:
            check(queue, row)
        except AssertionError as error:
            raise AssertionError(f"killed at boundary {boundary} of {kind}: {error}; {row}") from error


def test_a_command_killed_before_it_was_sent_is_run_and_after_that_is_not(queue: queueing.Queue) -> None:
    outcomes = []
    for boundary in (3, 5, 7):  # the sandbox was looked up; `sent` was recorded; the sandbox has answered
        made = queue.put(operations.COMMAND, queue.sandbox())
        assert queue.killed(made.id, boundary)
        outcomes.append(made.id)
    queue.expire()
    queue.finish_all()
    found = [queue.row(operation) for operation in outcomes]
    assert [row["state"] for row in found] == ["succeeded", "failed", "failed"]
    assert [len(queue.cluster.guests[str(row["sandbox"])].commands) for row in found] == [1, 0, 1]
