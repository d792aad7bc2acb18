"""The check `writes-survive`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN


def write(do: str, sandbox: str, at_s: float, status: int | None = 200, **more: Any) -> dict[str, Any]:
    made = {"made": sandbox if status == 201 else None} if do == "create" else {"sandbox": sandbox}
    return histories.request(do, at_s=at_s) | {"status": status, **made, **more}


# One that lived a whole life, one that was paused, one whose pause is in doubt, and a create that is.
WRITES = [
    write("create", "a", 1.0, 201),
    write("pause", "a", 1.1),
    write("connect", "a", 1.2),
    write("delete", "a", 1.3, 204),
    write("create", "b", 2.0, 201),
    write("pause", "b", 2.1),
    write("create", "c", 3.0, 201),
    write("pause", "c", 3.1, 503),
    write("create", "d", 4.0, None),
]
STATES = {"a": "deleted", "b": "paused", "c": "running"}


def judge(
    rows: Mapping[str, str] | None = STATES,
    told: Mapping[str, str] | None = STATES,
    *,
    writes: list[dict[str, Any]] = WRITES,
    listed: tuple[str, ...] = ("b", "c"),
    others: list[dict[str, Any]] | None = None,
) -> verdict.Verdict:
    story = histories.Story()
    story.load("others", others or [])
    story.load("writes", writes, kind="ecw-churn")
    story.load("ledger", [histories.request("list", at_s=9.0)], kind="ecw-ledger")
    if rows is not None:
        story.add("records", load="ledger", source="database", records=rows)
    if told is not None:
        story.add("records", load="ledger", source="api", records=told, listed=list(listed))
    return histories.judged("writes-survive", story, load="writes", ledger="ledger")


@pytest.mark.parametrize(
    "rows",
    [STATES, {**STATES, "c": "paused"}, {**STATES, "d": "starting"}],
    ids=["as acknowledged", "a write in doubt was done", "a create in doubt left a row"],
)
def test_what_was_acknowledged_and_what_is_in_doubt_pass(rows: dict[str, str]) -> None:
    found = judge(rows, rows)
    assert found.judged == PASS, found.sentence
    assert "7 of 9 writes acknowledged; the database holds all 3 sandboxes" in found.sentence


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({"a": "deleted", "c": "running"}, "expected all 3 acknowledged creates in the database; saw 1 are not: b"),
        ({**STATES, "b": "running"}, "saw b is running, acknowledged paused"),
        ({**STATES, "a": "running"}, "saw a is running, acknowledged deleted"),
        ({**STATES, "c": "deleted"}, "saw c is deleted, acknowledged paused or running"),
        ({**STATES, "d": "failed", "e": "running"}, "at most 1 row that nobody was told of"),
    ],
)
def test_a_lost_or_doubled_write_fails_and_names_the_sandbox(rows: dict[str, str], sentence: str) -> None:
    found = judge(rows, rows)
    assert found.judged == FAIL
    assert sentence in found.sentence
    assert found.proof


def test_a_refused_request_changes_nothing_so_its_state_would_be_wrong() -> None:
    writes = [*WRITES, write("delete", "b", 2.2, 409)]
    assert judge(writes=writes).judged == PASS
    assert judge({**STATES, "b": "deleted"}, {**STATES, "b": "deleted"}, writes=writes).judged == FAIL


def test_an_api_that_says_otherwise_than_its_database_fails() -> None:
    found = judge(told={**STATES, "b": "status 404"})
    assert found.judged == FAIL
    assert "saw b: API status 404, database paused" in found.sentence


def test_a_sandbox_that_is_listed_twice_fails() -> None:
    found = judge(listed=("b", "c", "b"))
    assert found.judged == FAIL
    assert "saw twice: b" in found.sentence


def test_rows_that_other_loads_were_told_of_are_not_doubled() -> None:
    rows = {**STATES, "d": "failed", "x": "deleted"}
    assert judge(rows, rows).judged == FAIL
    assert judge(rows, rows, others=[write("create", "x", 5.0, 201)]).judged == PASS


@pytest.mark.parametrize(("rows", "told", "missing"), [(None, STATES, "database"), (STATES, None, "api")])
def test_a_side_that_was_not_read_is_unknown(
    rows: Mapping[str, str] | None, told: Mapping[str, str] | None, missing: str
) -> None:
    found = judge(rows, told)
    assert found.judged == UNKNOWN
    assert f"not read back: {missing}" in found.sentence


def test_without_any_acknowledged_create_it_is_unknown() -> None:
    found = judge(writes=[write("create", "a", 1.0, 503)])
    assert found.judged == UNKNOWN
    assert "no create of load writes was acknowledged" in found.sentence
