"""The Postgres places: what is sent, and what each answer of psql is taken for. The SQL itself is held by a real server
(tests/kind/test_store_faults)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench.outside import place, pods, postgres, postgres_kinds
from space_smoke.model import kinds, objects

REF = objects.Ref("apps/v1", "StatefulSet", "space", "postgres")
POD = pods.Pod("space", "postgres-0", "uid-1", "postgres", True, 0, {"kind": "StatefulSet"})
FIELD = {"setting": "work_mem", "database": "space", "role": "", "session": {"database": "space", "role": "app"}}
ABSENT = {"absent": True}
Answer = Callable[[list[str]], pods.Ended]


def said(value: Any) -> pods.Ended:
    return pods.Ended(0, json.dumps(value) + "\n", "")


def refused(state: str, message: str) -> pods.Ended:
    return pods.Ended(1, "", f"ERROR:  {state}: {message}\nLOCATION:  exec_stmt_raise, pl_exec.c:3911\n")


class Fake:
    """psql in a pod. `answers` are used up in order; `sent` are the SQL texts, `as_whom` role and database."""

    def __init__(self) -> None:
        self.answers: list[pods.Ended | Exception] = []
        self.sent: list[str] = []
        self.as_whom: list[tuple[str, str]] = []
        self.words: list[list[str]] = []

    def run(self, _cluster: Any, _pod: pods.Pod, argv: list[str], _deadline: pods.Deadline) -> pods.Ended:
        self.sent.append(argv[-1])
        self.as_whom.append((argv[argv.index("-U") + 1], argv[argv.index("-d") + 1]))
        self.words.append(list(argv))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Unwatched:
    """A cluster in which nothing changes."""

    def watch(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(pods, "run", made.run)
    monkeypatch.setattr(pods, "reached", lambda _cluster, _ref, _deadline, act: act(POD))
    return made


@pytest.fixture
def setting() -> postgres_kinds.Setting:
    return postgres_kinds.Setting(None)  # type: ignore[arg-type]


def test_a_claim_returns_the_value_that_was_read_after_the_fence_was_raised(
    fake: Fake, setting: postgres_kinds.Setting
) -> None:
    fake.answers = [said({"fence": 3, "value": ABSENT})]
    assert setting.claim(REF, FIELD, "d", 3, 5) == ABSENT
    sent = fake.sent[0]
    assert sent.index("INSERT INTO space_smoke.fence") < sent.index("pg_db_role_setting")
    assert "WHERE f.token <= EXCLUDED.token" in sent
    assert fake.as_whom == [("postgres", "postgres")]


def test_a_claim_below_the_fence_is_told_the_number(fake: Fake, setting: postgres_kinds.Setting) -> None:
    fake.answers = [said({"fence": 4, "value": ABSENT})]
    with pytest.raises(place.Refusal) as refusal:
        setting.claim(REF, FIELD, "d", 3, 5)
    assert (refusal.value.status, refusal.value.message) == (409, "4")


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (refused("SS409", "4"), 409, "4"),
        (refused("SS409", "none"), 409, ""),
        (refused("42P01", 'relation "space_smoke.fence" does not exist'), 409, ""),
        (refused("3F000", 'schema "space_smoke" does not exist'), 409, ""),
        (refused("SS412", '{"value": "1"}'), 412, '{"value": "1"}'),
        (refused("22023", "invalid value"), 422, "invalid value"),
    ],
)
def test_each_refusal_of_the_server_is_one_of_the_protocols(
    fake: Fake, setting: postgres_kinds.Setting, answer: pods.Ended, status: int, message: str
) -> None:
    fake.answers = [answer]
    with pytest.raises(place.Refusal) as refusal:
        setting.alter(REF, FIELD, "d", 3, ABSENT, {"value": "64kB"}, 5)
    assert (refusal.value.status, refusal.value.message) == (status, message)


@pytest.mark.parametrize("state", ["57014", "40P01", "55P03", "57P01"])
def test_a_server_that_gave_up_is_no_refusal(fake: Fake, setting: postgres_kinds.Setting, state: str) -> None:
    fake.answers = [refused(state, "canceling statement due to statement timeout")]
    with pytest.raises(errors.ApiError):
        setting.alter(REF, FIELD, "d", 3, ABSENT, {"value": "64kB"}, 5)


def test_a_connection_that_was_never_made_has_done_nothing_and_one_that_broke_may_have(
    fake: Fake, setting: postgres_kinds.Setting
) -> None:
    fake.answers = [
        pods.Ended(2, "", "psql: error: connection to server on socket failed: FATAL:  the database is starting up"),
        pods.Ended(2, "", "server closed the connection unexpectedly"),
    ]
    with pytest.raises(pods.NotYet, match="starting up"):
        setting.claim(REF, FIELD, "d", 3, 5)
    with pytest.raises(errors.ApiError, match="closed the connection"):
        setting.claim(REF, FIELD, "d", 3, 5)


def test_the_change_follows_fence_and_value_inside_one_block(fake: Fake, setting: postgres_kinds.Setting) -> None:
    fake.answers = [pods.Ended(0, "", "")]
    assert setting.alter(REF, FIELD, "d", 3, ABSENT, {"value": "64kB"}, 5) == {"value": "64kB"}
    sent = fake.sent[0]
    assert sent.startswith("DO $do$")
    order = [sent.index(part) for part in ("FOR UPDATE", "SS409", "SS412", "ALTER DATABASE")]
    assert order == sorted(order)
    assert "have IS DISTINCT FROM 3 " in sent


@pytest.mark.parametrize(
    ("whose", "after", "statement"),
    [
        ({}, {"value": "x"}, 'ALTER DATABASE "space" SET "work_mem" = \'x\''),
        ({"database": "", "role": "app"}, ABSENT, 'ALTER ROLE "app" RESET "work_mem"'),
        ({"role": "app"}, ABSENT, 'ALTER ROLE "app" IN DATABASE "space" RESET "work_mem"'),
        ({"setting": "app.mode"}, {"value": "x"}, 'ALTER DATABASE "space" SET "app"."mode" = \'x\''),
        ({"database": 'a"b'}, {"value": "it's"}, 'ALTER DATABASE "a""b" SET "work_mem" = \'it\'\'s\''),
    ],
)
def test_whose_setting_it_is_and_to_what(
    fake: Fake, setting: postgres_kinds.Setting, whose: dict[str, str], after: Any, statement: str
) -> None:
    fake.answers = [pods.Ended(0, "", "")]
    setting.alter(REF, {**FIELD, **whose}, "d", 3, {"value": "y"}, after, 5)
    assert f"EXECUTE {postgres.literal(statement)}" in fake.sent[0]


def test_no_value_can_end_the_block_that_it_stands_in() -> None:
    sql = postgres.guarded("d", 3, "NULL", {"value": "$do$ $doo$"}, ["SELECT '$dooo$'"])
    tag = sql.split()[1]
    assert sql.count(tag) == 2
    assert tag not in ("$do$", "$doo$", "$dooo$")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"database": False}, "no database 'space'"),
        ({"login": None}, "no role that logs in"),
        ({"login": False}, "no role that logs in"),
        ({"super": True}, "is a superuser"),
        ({"context": "postmaster"}, r"it is postmaster"),
        ({"context": None}, "not known to this server"),
    ],
)
def test_what_cannot_be_set_or_seen_is_refused_before_anything_is_recorded(
    fake: Fake, setting: postgres_kinds.Setting, change: dict[str, Any], says: str
) -> None:
    fit = {"value": ABSENT, "context": "user", "database": True, "login": True, "super": False}
    fake.answers = [said(fit), said({**fit, **change})]
    assert setting.sense(REF, FIELD) == (FIELD, ABSENT)
    with pytest.raises(place.Refusal, match=says) as refusal:
        setting.sense(REF, FIELD)
    assert refusal.value.status == 422


def test_a_list_that_is_stored_in_another_form_is_refused(setting: postgres_kinds.Setting) -> None:
    with pytest.raises(place.Refusal, match="a list"):
        setting.sense(REF, {**FIELD, "setting": "search_path"})


@pytest.mark.parametrize(
    ("expect", "stored", "shown", "seen", "done"),
    [
        ({"value": "5000"}, {"value": "5000"}, "5s", {"value": "5s", "source": "database"}, True),
        ({"value": "5000"}, {"value": "5000"}, "5s", {"value": "0", "source": "default"}, False),
        ({"value": "5000"}, ABSENT, "5s", {"value": "5s", "source": "database"}, False),
        (ABSENT, ABSENT, None, {"value": "0", "source": "default"}, True),
        (ABSENT, ABSENT, None, {"value": "9s", "source": "user"}, True),
        (ABSENT, ABSENT, None, {"value": "5s", "source": "database"}, False),
        (ABSENT, {"value": "5000"}, None, {"value": "0", "source": "default"}, False),
    ],
)
def test_a_setting_is_in_effect_when_a_new_session_of_the_application_has_it(
    fake: Fake, setting: postgres_kinds.Setting, expect: Any, stored: Any, shown: Any, seen: Any, done: bool
) -> None:
    fake.answers = [said({"stored": stored, "shown": shown}), said(seen)]
    state = setting.settled(REF, FIELD, expect)
    assert state.done is done
    assert state.thing is not None
    assert state.thing[kinds.OUTSIDE] == stored
    assert fake.as_whom == [("postgres", "postgres"), ("app", "space")]
    assert not [word for word in fake.words[1] if word.startswith("PGOPTIONS")], "it would hide the setting"


def test_a_restart_is_done_when_the_start_time_is_another_one(fake: Fake) -> None:
    there = postgres_kinds.Restart(None)  # type: ignore[arg-type]
    fake.answers = [
        said({"started": "100.5", "up_s": 5}),
        said({"done": False}),
        said({"done": True}),
        said({"done": True}),
    ]
    field, value = there.sense(REF, {"mode": "fast"})
    assert (field, value) == ({"mode": "fast", "started": "100.5"}, {"done": False})
    assert not there.settled(REF, field, {"done": True}).done
    assert there.settled(REF, field, {"done": True}).done
    assert there.settled(REF, field, {"done": False}).done
    assert "<> '100.5'" in fake.sent[-1]


@pytest.mark.parametrize(("restarts", "up_s", "fits"), [(3, 5, True), (4, 5, False), (4, 700, True)])
def test_a_server_whose_next_start_would_be_held_back_is_refused(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, restarts: int, up_s: int, fits: bool
) -> None:
    often = pods.Pod("space", "postgres-0", "uid-1", "postgres", True, restarts, {})
    monkeypatch.setattr(pods, "reached", lambda _cluster, _ref, _deadline, act: act(often))
    there = postgres_kinds.Restart(None)  # type: ignore[arg-type]
    fake.answers = [said({"started": "1", "up_s": up_s})] * 2
    if fits:
        assert there.sense(REF, {"mode": "fast"})[1] == {"done": False}
    else:
        with pytest.raises(place.Refusal, match="held back") as refusal:
            there.sense(REF, {"mode": "fast"})
        assert refusal.value.status == 422
    assert there.sense(REF, {"mode": "fast", "started": "1"})[1] == {"done": False}, "status reads it at any time"


def test_a_server_that_answers_in_a_pod_that_is_not_ready_has_not_recovered(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    starting = pods.Pod("space", "postgres-0", "uid-1", "postgres", False, 0, {})
    monkeypatch.setattr(pods, "reached", lambda _cluster, _ref, _deadline, act: act(starting))
    fake.answers = [said({"done": True})]
    there = postgres_kinds.Restart(None)  # type: ignore[arg-type]
    assert not there.settled(REF, {"mode": "fast", "started": "1"}, {"done": False}).done


@pytest.mark.parametrize(("mode", "signal"), [("fast", "INT"), ("immediate", "QUIT")])
@pytest.mark.parametrize("answer", [pods.Ended(0, "", ""), pods.Ended(2, "", "server closed the connection")])
def test_a_restart_is_told_as_done_only_when_another_server_answers(
    fake: Fake, mode: str, signal: str, answer: pods.Ended
) -> None:
    there = postgres_kinds.Restart(Unwatched())  # type: ignore[arg-type]
    field = {"mode": mode, "started": "1"}
    fake.answers = [answer, said({"done": False}), said({"done": True})]
    assert there.alter(REF, field, "d", 3, {"done": False}, {"done": True}, 5) == {"done": True}
    assert f"kill -{signal} " in fake.sent[0]
    assert not fake.answers


def test_a_restart_under_another_fence_sends_no_signal_twice_and_waits_for_nothing(fake: Fake) -> None:
    there = postgres_kinds.Restart(None)  # type: ignore[arg-type]
    fake.answers = [refused("SS409", "4")]
    with pytest.raises(place.Refusal) as refusal:
        there.alter(REF, {"mode": "fast", "started": "1"}, "d", 3, {"done": False}, {"done": True}, 5)
    assert (refusal.value.status, len(fake.sent)) == (409, 1)
