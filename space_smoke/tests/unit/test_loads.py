"""What each kind of load sends, and what it keeps of the answers."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench.outside import postgres
from space_smoke.loads import (
    api_health,
    ecw_churn,
    ecw_connect,
    ecw_create,
    ecw_ledger,
    ecw_remove,
    ecw_session,
    kinds,
    placement,
)
from space_smoke.model import history
from space_smoke.tests.unit import api_double, bench_objects

SPEED: dict[str, Any] = {"rate_rps": 2000.0, "concurrency": 1}


def of_kind(run: api_double.Run, kind: str) -> list[dict[str, Any]]:
    return [dict(event.data) for event in history.of_kind(run.events, kind)]


def test_every_kind_is_listed_under_its_own_name_with_its_driver() -> None:
    assert all(name == kind.name and kind.summary for name, kind in kinds.KINDS.items())
    assert set(kinds.KINDS) == set(kinds.DRIVERS)


def test_a_churning_lane_lives_one_sandbox_after_another_to_its_end() -> None:
    run = api_double.Run()
    done = threading.Timer(0.2, run.stop.set)
    done.start()
    ecw_churn.drive(run.load("ecw-churn", **SPEED, moves=1, through="later"))
    done.join()
    lives = [data["do"] for data in run.requests()]
    whole = ["create", "pause", "connect", "delete"]
    assert lives[:8] == whole * 2
    assert [data["made"] for data in run.requests() if data["do"] == "create"][:2] == ["sb-0", "sb-1"]
    assert all(data["sandbox"] == "sb-0" for data in list(run.requests())[1:4])


def test_a_churning_lane_repeats_nothing_and_leaves_what_was_not_acknowledged_as_it_is() -> None:
    run = api_double.Run(api_double.Api(down=lambda number: number == 2))  # the first pause
    ecw_churn.drive(run.load("ecw-churn", **SPEED, moves=1, for_s=0.1))
    asked = list(run.requests())
    assert [data["do"] for data in asked[:4]] == ["create", "pause", "create", "pause"]
    assert asked[1]["status"] == 503
    assert not [data for data in asked[2:] if data["sandbox"] == "sb-0"]
    assert run.api.states["sb-0"] == "running"


def test_lanes_together_keep_the_rate_and_take_the_pods_in_turn() -> None:
    run = api_double.Run()
    ecw_churn.drive(run.load("ecw-churn", concurrency=2, rate_rps=50.0, moves=5, pods="each", for_s=0.4))
    asked = list(run.requests())
    assert 2 <= len(asked) <= 22  # 20 are due in 0.4 s, and a lane that is late does not catch up
    assert {data["pod_asked"] for data in asked} == {"space-api-a", "space-api-b"}


def ledger(run: api_double.Run, monkeypatch: pytest.MonkeyPatch, rows: Any) -> list[dict[str, Any]]:
    def session(_server: object, ref: object, session: object, sql: str) -> Any:
        assert str(ref) == "statefulset/postgres"
        assert session == {"role": "postgres", "database": "space"}
        assert "'sb-0'" in sql
        if isinstance(rows, Exception):
            raise rows
        return rows

    monkeypatch.setattr(postgres.Server, "session", session)
    ecw_ledger.drive(run.load("ecw-ledger", name="ledger", of="load"))
    return of_kind(run, "records")


def test_a_ledger_holds_both_sides_and_then_removes_what_the_writes_left(monkeypatch: pytest.MonkeyPatch) -> None:
    run = api_double.Run(api_double.Api(states={}))
    ecw_create.drive(run.load("ecw-create", requests=2, concurrency=1, keep=True))
    run.api.states |= {"somebody-elses": "running", "sb-of-a-doubled-write": "running"}
    rows = [{"id": "sb-0", "state": "running"}, {"id": "sb-1", "state": "paused"}]
    rows.append({"id": "sb-of-a-doubled-write", "state": "running"})
    database, api = ledger(run, monkeypatch, rows)
    assert database["source"] == "database"
    assert database["records"] == {"sb-0": "running", "sb-1": "paused", "sb-of-a-doubled-write": "running"}
    assert api["source"] == "api"
    assert api["records"] == {"sb-0": "running", "sb-1": "running"}
    assert api["listed"] == ["sb-0", "sb-1", "somebody-elses", "sb-of-a-doubled-write"]
    assert {one for one, state in run.api.states.items() if state != "deleted"} == {"somebody-elses"}


def test_a_database_that_cannot_be_read_is_noted_and_the_rest_is_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = api_double.Run()
    ecw_create.drive(run.load("ecw-create", requests=1, concurrency=1, keep=True))
    (api,) = ledger(run, monkeypatch, errors.ApiError("postgres did not answer", status=0))
    assert api["source"] == "api"
    assert "postgres did not answer" in of_kind(run, "note")[0]["sentence"]


def test_the_question_to_the_database_quotes_what_it_was_told() -> None:
    assert "IN ('a', 'it''s')" in ecw_ledger.query(["a", "it's"])


def test_health_asks_each_pod_both_questions_at_the_same_pace() -> None:
    run = api_double.Run()
    api_health.drive(run.load("api-health", rate_rps=50.0, for_s=0.2))
    asked = [(path, pod) for _, path, pod in run.api.asked]
    assert {(path, pod) for path in api_health.PATHS for pod in ("space-api-a", "space-api-b")} == set(asked)
    assert len(asked) == 40
    assert {data["do"] for data in run.requests()} == {"healthz", "readyz"}


def test_health_without_any_ready_pod_asks_the_service() -> None:
    run = api_double.Run()
    load = run.load("api-health", rate_rps=100.0, for_s=0.05)
    load.pods.clear()
    api_health.drive(load)
    assert {pod for _, _, pod in run.api.asked} == {None}


def test_a_load_beside_the_phases_sends_until_it_is_stopped_and_nothing_after() -> None:
    run = api_double.Run()
    stopping = threading.Timer(0.15, run.stop.set)
    stopping.start()
    load = run.load("ecw-connect", rate_rps=200.0, concurrency=2, sandbox="missing", through="later")
    ecw_connect.drive(load)
    stopping.join()
    assert load.sent >= 5
    assert load.sent == len(run.api.asked)


def test_what_was_not_sent_when_a_load_is_stopped_is_never_sent() -> None:
    load, sent = api_double.Run().load("ecw-connect"), list[int]()
    stopping = threading.Timer(0.2, load.stop.set)  # by then all others have long been queued behind the first
    stopping.start()

    def one(number: int) -> None:
        sent.append(number)
        assert load.stop.wait(10)

    load.fan_out(5, 1, None, one)
    stopping.join()
    assert sent == [0]


@pytest.mark.parametrize(
    ("arguments", "total"),
    [
        ({"requests": 5}, 5),
        ({"rate_rps": 10.0, "for_s": 2.5}, 25),
        ({"rate_rps": 10.0, "through": "later"}, None),
        ({"requests": 3, "through": "later"}, 3),
        ({"through": "later"}, 1),
    ],
)
def test_how_many_requests_a_load_makes(arguments: dict[str, Any], total: int | None) -> None:
    assert api_double.Run().load("ecw-connect", **arguments).total() == total


def test_connects_may_share_a_sandbox_that_another_load_keeps_and_removes() -> None:
    run = api_double.Run()
    ecw_create.drive(run.load("ecw-create", name="base", requests=1, concurrency=1, keep=True))
    ecw_connect.drive(run.load("ecw-connect", requests=2, concurrency=1, kept_by="base"))
    assert [data["sandbox"] for data in run.requests()] == ["sb-0", "sb-0"]
    assert run.api.states == {"sb-0": "running"}
    ecw_remove.drive(run.load("ecw-remove", name="clean", of="base"))
    assert run.api.states == {"sb-0": "deleted"}


def session(run: api_double.Run, *steps: dict[str, Any]) -> list[dict[str, Any]]:
    ecw_session.drive(run.load("ecw-session", steps=[{"do": "create"}, *steps]))
    return [dict(data) for data in run.requests()][1:]


def test_a_file_is_sent_as_bytes_and_what_comes_back_is_kept_by_its_digest() -> None:
    put, got = session(
        api_double.Run(), {"do": "put", "path": "späße ☂", "text": "☂"}, {"do": "get", "path": "späße ☂"}
    )
    digest = hashlib.sha256("☂".encode()).hexdigest()
    assert (put["sha256"], put["size"]) == (digest, 3)
    assert (got["sha256"], got["size"], got["text"]) == (digest, 3, "☂")


def test_bytes_that_are_no_text_are_shown_in_base64_and_long_files_not_at_all() -> None:
    steps: list[dict[str, Any]] = [{"do": "put", "path": "a", "base64": "/wA="}, {"do": "get", "path": "a"}]
    steps += [{"do": "put", "path": "b", "size": 9000}, {"do": "get", "path": "b"}]
    _, small, put, large = session(api_double.Run(), *steps)
    assert small["text"] == "base64:/wA="
    assert (large["size"], large["text"], large["sha256"]) == (9000, None, put["sha256"])


def test_several_writers_send_different_bytes_to_one_path_under_one_step() -> None:
    run = api_double.Run()
    made = session(run, {"do": "put", "path": "a", "size": 500, "writers": 3}, {"do": "get", "path": "a"})
    puts = [data for data in made if data["do"] == "put"]
    assert len({data["sha256"] for data in puts}) == 3
    assert {data["step"] for data in puts} == {1}
    assert made[-1]["sha256"] in {data["sha256"] for data in puts}


def test_paths_are_encoded_and_lists_are_asked_for_by_their_own_word() -> None:
    run = api_double.Run()
    session(run, {"do": "put", "path": "../a b&list=c", "text": ""}, {"do": "pause"})
    assert run.api.asked[1][1] == "/v1/sandboxes/sb-0/files?path=..%2Fa+b%26list%3Dc"


def test_a_wait_sends_nothing_and_keeps_the_numbers_of_the_steps() -> None:
    run = api_double.Run()
    made = session(run, {"do": "pause"}, {"do": "wait", "for_s": 0.05}, {"do": "connect"})
    assert [(data["do"], data["step"]) for data in made] == [("pause", 1), ("connect", 3)]
    assert made[1]["sent_s"] - made[0]["sent_s"] >= 0.05


def test_a_session_on_a_kept_sandbox_makes_none_and_leaves_it() -> None:
    run = api_double.Run()
    ecw_create.drive(run.load("ecw-create", name="base", requests=1, concurrency=1, keep=True))
    ecw_session.drive(run.load("ecw-session", kept_by="base", steps=[{"do": "pause"}, {"do": "connect"}]))
    assert [(data["do"], data["sandbox"]) for data in run.requests()] == [("pause", "sb-0"), ("connect", "sb-0")]
    assert run.api.states == {"sb-0": "running"}


def sandbox_pod(name: str, **changes: Any) -> dict[str, Any]:
    thing = bench_objects.pod(name, owner=None)
    thing["metadata"]["labels"] = {placement.SANDBOX: name}
    return {**thing, **changes}


def placed(pods: list[dict[str, Any]], **arguments: Any) -> tuple[dict[str, Any], api_double.Run]:
    node = bench_objects.node() | {"metadata": {"name": "dev-worker", "labels": {"space-smoke.dev/group": "infra"}}}
    run = api_double.Run(cluster=bench_objects.Cluster(Node=[node], Pod=pods))
    placement.drive(run.load("placement", **arguments))
    return of_kind(run, "placed")[0], run


def test_a_placement_tells_nodes_groups_and_selectors_and_removes_what_it_made() -> None:
    spec = {"nodeName": "dev-worker", "nodeSelector": {"disk": "ssd"}}
    job = bench_objects.pod("migrate", owner=("Job", "migrate"))
    seen, run = placed([sandbox_pod("sandbox-1", spec=spec), bench_objects.pod(), job], requests=2, concurrency=1)
    assert seen["groups"] == {"dev-worker": "infra"}
    (sandbox,) = seen["sandboxes"]
    assert (sandbox["node"], sandbox["group"], sandbox["selector"]) == ("dev-worker", "infra", {"disk": "ssd"})
    assert [pod["name"] for pod in seen["services"]] == ["space-api-7c4-a"]
    assert set(run.api.states.values()) == {"deleted"}
    assert len(run.api.states) == 2


def test_a_pod_without_a_node_is_waited_for_and_seen_with_the_schedulers_reason() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    status = {"phase": "Pending", "conditions": [condition]}
    seen, run = placed([sandbox_pod("sandbox-1", spec={}, status=status)], until="pending", within_s=5.0)
    (sandbox,) = seen["sandboxes"]
    assert (sandbox["node"], sandbox["reason"], sandbox["message"]) == ("", "Unschedulable", "0/3 nodes")
    assert of_kind(run, "wait-ended")[0]["ok"]


def test_a_wait_for_a_pending_pod_that_is_over_tells_what_there_is_instead() -> None:
    spec = {"nodeName": "dev-worker"}
    seen, run = placed([sandbox_pod("sandbox-1", spec=spec)], until="pending", within_s=0.05)
    assert seen["sandboxes"][0]["node"] == "dev-worker"
    assert not of_kind(run, "wait-ended")[0]["ok"]
