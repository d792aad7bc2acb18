"""Start, readiness, drain and the database's comings and goings."""

from __future__ import annotations

import concurrent.futures
import json
import signal
import threading
import time

import psycopg
import pytest
import urllib3

from limiters import concurrency
from space_api import schema
from tests import limiting, process, stores


def test_an_idle_pod_exits_when_its_drain_is_over(start_api: process.Start) -> None:
    api = start_api(SPACE_DRAIN_S="0.5")
    started = time.monotonic()
    assert api.stop() == 0
    assert 0.5 <= time.monotonic() - started <= 5


def test_a_stopping_pod_is_unready_and_serves_on(start_api: process.Start) -> None:
    api = start_api(SPACE_DRAIN_S="1")
    api.process.send_signal(signal.SIGTERM)
    stores.wait_until("unready", lambda: api.call("GET", "/readyz").status == 503, 0.9)
    assert api.call("GET", "/healthz").status == 200
    made = api.create()
    assert made.status == 201
    assert made.headers["Connection"] == "close"
    assert api.stop(None) == 0


def test_stopping_ends_held_connections_in_order_and_gives_leases_back(
    start_api: process.Start, redis_server: stores.Redis
) -> None:
    api = start_api(SPACE_REDIS_URL=redis_server.url, SPACE_DRAIN_S="0.3")
    path = f"/v1/sandboxes/{api.create().json()['id']}/connect"
    answer = api.call("POST", path, {"hold_s": 60}, preload_content=False)
    stores.wait_until("the lease is held", lambda: limiting.leases(redis_server, concurrency.UNSPECIFIED) == 1)
    started = time.monotonic()
    api.process.send_signal(signal.SIGTERM)
    assert json.loads(answer.data.splitlines()[-1]) == {"event": "closed", "reason": "stopping"}
    assert api.stop(None) == 0
    assert time.monotonic() - started <= 5  # of the 60 s that were asked for
    assert limiting.leases(redis_server, concurrency.UNSPECIFIED) == 0


def test_work_in_hand_is_finished_before_the_pod_ends(start_api: process.Start) -> None:
    api = start_api(SPACE_DRAIN_S="0.1")
    path = f"/v1/sandboxes/{api.create().json()['id']}/command"
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        running = threads.submit(api.call, "POST", path, {"command": ["sleep", "0.7"]})
        stores.wait_until("the command runs", lambda: not running.done() and threading.active_count() > 1)
        time.sleep(0.2)
        api.process.send_signal(signal.SIGTERM)
        assert running.result().status == 200
    assert api.stop(None) == 0


def test_a_killed_pod_keeps_its_lease_only_until_it_expires(
    start_api: process.Start, redis_server: stores.Redis
) -> None:
    lease_ms = 4000
    settings = {
        "SPACE_REDIS_URL": redis_server.url,
        "SPACE_API_CLIENT_CONCURRENCY_MODE": "enforce",
        "SPACE_API_CLIENT_CONCURRENCY_LIMIT": "1",
        "SPACE_API_CLIENT_CONCURRENCY_LEASE_S": f"{lease_ms / 1000:g}",
    }
    api, other = start_api(**settings), start_api(**settings)
    path = f"/v1/sandboxes/{api.create().json()['id']}/connect"
    stores.wait_until("a lease is held", lambda: _decision(_hold(api, path)) == "accepted")
    api.stop(signal.SIGKILL)
    # By the store's clock, and by when a call was certainly not decided yet, or certainly was: a machine that stalls leaves
    # less to judge, and turns nothing red.
    killed_ms, held_until_ms = (
        redis_server.time_ms(),
        limiting.last_lease_ends_ms(redis_server, concurrency.UNSPECIFIED),
    )

    def lost_lease_ended() -> bool:
        asked_ms = redis_server.time_ms()
        decided = _decision(other.call("POST", path, {"hold_s": 0}))
        answered_ms = redis_server.time_ms()
        if decided == "refused":
            assert asked_ms <= killed_ms + lease_ms + 1000, "the lease outlived its time"
        if decided == "accepted":
            assert answered_ms >= held_until_ms, "the lease was gone before its time"
        return decided == "accepted"

    stores.wait_until("the lost lease ends", lost_lease_ended, 100)


def _hold(api: process.Api, path: str) -> urllib3.BaseHTTPResponse:
    return api.call("POST", path, {"hold_s": 60}, preload_content=False)


def _decision(answer: urllib3.BaseHTTPResponse) -> str:
    """What the store decided of a connect; "" when it was too slow to be asked."""
    outcome, reason, *_ = answer.headers["X-Space-Concurrency-Decision"].split("; ")
    return outcome if reason == "reason=none" else ""


def test_a_pod_without_its_database_lives_unready_and_answers_503_soon() -> None:
    with stores.postgres() as pattern:
        process.migrate(pattern.format(role="owner"), "app")
        with process.starter({"SPACE_DATABASE_URL": pattern.format(role="app")}) as start:
            api = start()
            assert api.create().status == 201
            with psycopg.connect(pattern.format(role="postgres"), autocommit=True) as admin:
                admin.execute("ALTER ROLE app NOLOGIN")
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")
                started = time.monotonic()
                gone = api.create()
                assert (gone.status, gone.json()["error"]["code"]) == (503, "records_unavailable")
                assert gone.headers["Retry-After"] == "1"
                assert time.monotonic() - started <= 3
                assert api.call("GET", "/readyz").status == 503
                assert api.call("GET", "/healthz").status == 200
                admin.execute("ALTER ROLE app LOGIN")
            stores.wait_until("ready again", lambda: api.call("GET", "/readyz").status == 200, 5)
            assert api.create().status == 201


def test_connections_cut_by_a_restart_cost_no_caller_an_error(database: str, start_api: process.Start) -> None:
    api = start_api()
    api.create()
    with psycopg.connect(database.replace("app@", "postgres@"), autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")
    assert {api.call("GET", "/v1/sandboxes").status for _ in range(10)} == {200}


def test_migrating_twice_and_at_once_changes_nothing() -> None:
    with stores.postgres() as pattern:
        owner = pattern.format(role="owner")
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            done = list(threads.map(lambda _: process.migrate(owner, "app"), range(3)))
        assert sum(one.stdout.count('"message":"migrated"') for one in done) == len(schema.STEPS)
        with psycopg.connect(owner) as connection:
            assert connection.execute("SELECT count(*) FROM space_migrations").fetchone() == (len(schema.STEPS),)


def test_the_app_role_reads_and_writes_and_defines_nothing(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SELECT 1 FROM sandboxes")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE mine (id int)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("ALTER TABLE sandboxes ADD COLUMN mine int")


def test_a_migration_without_a_database_fails_and_says_so() -> None:
    url = f"postgresql://owner@127.0.0.1:{stores.free_port()}/space"
    done = process.run("space_api.migrate", SPACE_DATABASE_URL=url, SPACE_MIGRATE_WAIT_S="0")
    assert done.returncode == 1
    assert "migration failed" in done.stdout
