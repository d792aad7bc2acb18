"""The API over HTTP: real Postgres, real Redis, real sandbox servers."""

from __future__ import annotations

import base64
import concurrent.futures
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from limiters import activation, concurrency
from tests import limiting, process, stores

LIMITS = {
    "SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST": "1000",
    "SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS": "smoke",
}


@pytest.fixture(scope="module")
def api(database: str) -> Iterator[process.Api]:
    """An API without a store, for what limiters do not matter to."""
    with process.starter({"SPACE_DATABASE_URL": database}) as start:
        yield start(**LIMITS)


@pytest.fixture
def limited(start_api: process.Start, redis_server: stores.Redis) -> process.Start:
    """Starts APIs on the test's Redis."""

    def start(**settings: str) -> process.Api:
        return start_api(SPACE_REDIS_URL=redis_server.url, **{**LIMITS, **settings})

    return start


def sandbox(api: process.Api) -> str:
    made = api.create()
    assert made.status == 201, made.data
    return f"/v1/sandboxes/{made.json()['id']}"


def output(answer: urllib3.BaseHTTPResponse, stream: str = "stdout") -> bytes:
    return base64.b64decode(answer.json()[f"{stream}_b64"])


def command(api: process.Api, path: str, *argv: str, **more: object) -> urllib3.BaseHTTPResponse:
    return api.call("POST", f"{path}/command", {"command": argv, **more})


def test_a_sandbox_lives_from_create_to_delete(api: process.Api) -> None:
    made = api.create("smoke")
    assert (made.status, made.json()["state"], made.json()["client"]) == (201, "running", "smoke")
    path = f"/v1/sandboxes/{made.json()['id']}"
    assert api.call("GET", path).json()["state"] == "running"
    assert made.json()["id"] in {one["id"] for one in api.call("GET", "/v1/sandboxes").json()["sandboxes"]}
    assert api.call("DELETE", path).status == 204
    assert api.call("DELETE", path).status == 204
    assert api.call("GET", path).json()["state"] == "deleted"
    assert made.json()["id"] not in {one["id"] for one in api.call("GET", "/v1/sandboxes").json()["sandboxes"]}
    refused = command(api, path, "true")
    assert (refused.status, refused.json()["error"]["code"]) == (409, "sandbox_deleted")


def test_a_command_gives_back_bytes_code_and_both_streams(api: process.Api) -> None:
    path, data = sandbox(api), bytes(range(256)) * 40
    ran = command(api, path, "sh", "-c", "cat; echo away >&2; exit 7", stdin_b64=base64.b64encode(data).decode())
    assert ran.status == 200
    assert (ran.json()["exit_code"], ran.json()["truncated"]) == (7, False)
    assert output(ran) == data
    assert output(ran, "stderr") == b"away\n"


def test_a_command_keeps_its_arguments_as_they_are(api: process.Api) -> None:
    ran = command(api, sandbox(api), "printf", "%s|", "a b", "ü\n", "", "$HOME")
    assert output(ran).decode() == "a b|ü\n||$HOME|"


def test_large_output_is_cut_and_says_so(api: process.Api) -> None:
    ran = command(api, sandbox(api), "head", "-c", "3000000", "/dev/zero")
    assert ran.json()["truncated"]
    assert output(ran) == bytes(1 << 20)


def test_a_command_that_takes_too_long_is_ended(api: process.Api) -> None:
    ran = command(api, sandbox(api), "sleep", "20", timeout_s=0.3)
    assert (ran.json()["exit_code"], ran.json()["timed_out"]) == (137, True)


def test_a_program_that_does_not_exist_is_an_exit_code(api: process.Api) -> None:
    assert command(api, sandbox(api), "no-such-program").json()["exit_code"] == 127


def test_pause_keeps_state_and_connect_wakes(api: process.Api) -> None:
    path = sandbox(api)
    command(
        api, path, "sh", "-c", "echo kept > file; (while :; do echo x >> ticks; sleep 0.01; done) >/dev/null 2>&1 &"
    )
    paused = api.call("POST", f"{path}/pause")
    assert (paused.status, paused.json()["state"]) == (200, "paused")
    assert api.call("POST", f"{path}/pause").status == 200
    refused = command(api, path, "true")
    assert (refused.status, refused.json()["error"]["code"]) == (409, "sandbox_paused")
    woken = api.call("POST", f"{path}/connect", {"hold_s": 0})
    assert woken.status == 200
    assert "x-space-activation-decision" in woken.headers
    assert [json.loads(line)["event"] for line in woken.data.splitlines()] == ["connected", "closed"]
    assert api.call("GET", path).json()["state"] == "running"
    assert output(command(api, path, "cat", "file")) == b"kept\n"
    ticks = int(output(command(api, path, "sh", "-c", "wc -l < ticks")))
    stores.wait_until(
        "background work goes on", lambda: int(output(command(api, path, "wc", "-l", "ticks")).split()[0]) > ticks
    )


def test_nothing_runs_while_paused(api: process.Api, database: str) -> None:
    path = sandbox(api)
    started = command(api, path, "sh", "-c", "(while :; do echo x >> ticks; done) >/dev/null 2>&1 & pwd")
    folder = output(started).decode().strip()
    api.call("POST", f"{path}/pause")
    with Path(folder, "ticks").open("rb") as ticks:
        size = ticks.seek(0, 2)
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            assert ticks.seek(0, 2) == size
    api.call("DELETE", path)


def test_connecting_to_a_running_sandbox_activates_nothing(api: process.Api) -> None:
    connected = api.call("POST", f"{sandbox(api)}/connect", {})
    assert connected.status == 200
    assert "x-space-activation-decision" not in connected.headers
    assert "x-space-concurrency-decision" in connected.headers


@pytest.mark.parametrize("method", ["GET", "DELETE", "command", "pause", "connect"])
@pytest.mark.parametrize("name", ["x", "00000000-0000-0000-0000-000000000000", "%00", "a%2Fb"])
def test_an_unknown_sandbox_is_404(api: process.Api, method: str, name: str) -> None:
    if method in ("GET", "DELETE"):
        answer = api.call(method, f"/v1/sandboxes/{name}")
    else:
        document = {"command": ["true"]} if method == "command" else {}
        answer = api.call("POST", f"/v1/sandboxes/{name}/{method}", document)
    assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", b"{"),
        ("", b"[]"),
        ("", b'{"surprise": 1}'),
        ("", b"[" * 100_000),
        ("", b"\xff\xfe"),
        ("/x/command", b"{}"),
        ("/x/command", b'{"command": "true"}'),
        ("/x/command", b'{"command": []}'),
        ("/x/command", b'{"command": [""]}'),
        ("/x/command", b'{"command": ["a\\u0000b"]}'),
        ("/x/command", b'{"command": ["\\ud800"]}'),
        ("/x/command", b'{"command": [1]}'),
        ("/x/command", b'{"command": ["true"], "stdin_b64": "%%"}'),
        ("/x/command", b'{"command": ["true"], "stdin_b64": 5}'),
        ("/x/command", b'{"command": ["true"], "timeout_s": true}'),
        ("/x/command", b'{"command": ["true"], "timeout_s": 1e999}'),
        ("/x/command", b'{"command": ["true"], "timeout_s": 601}'),
        ("/x/connect", b'{"hold_s": -1}'),
        ("/x/connect", b'{"hold_s": 61}'),
        ("/x/connect", b'{"hold_s": NaN}'),
        ("/x/connect", b'{"hold_s": "1"}'),
        ("/x/connect?hold_s=61", b""),
        ("/x/connect?hold_s=nan", b""),
        ("/x/connect?hold_s=soon", b""),
        ("/x/connect?holds=1", b""),
    ],
)
def test_a_malformed_body_is_400_and_decides_nothing(api: process.Api, path: str, body: bytes) -> None:
    answer = api.call("POST", f"/v1/sandboxes{path}", body=body)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "malformed")
    assert not any("decision" in name.lower() for name in answer.headers)


def test_an_oversize_body_is_413(api: process.Api) -> None:
    answer = api.call("POST", "/v1/sandboxes", body=b" " * (3 << 20))
    assert (answer.status, answer.json()["error"]["code"]) == (413, "too_large")


def test_a_wrong_method_is_405_in_the_same_shape(api: process.Api) -> None:
    answer = api.call("PUT", "/v1/sandboxes", {})
    assert (answer.status, answer.json()["error"]["code"]) == (405, "method_not_allowed")


def test_every_answer_names_its_pod_and_trace(api: process.Api) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/version", "/v1/state", "/nowhere"):
        answer = api.call("GET", path, headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
        assert answer.headers["X-Space-Pod"]
        assert answer.headers["X-Trace-Id"] == "a" * 32
    assert api.call("GET", "/healthz", headers={"X-Trace-Id": "given_1"}).headers["X-Trace-Id"] == "given_1"
    assert len(api.call("GET", "/healthz", headers={"X-Trace-Id": "bad id"}).headers["X-Trace-Id"]) == 32


def test_state_tells_the_limiters_and_never_the_url(limited: process.Start, redis_server: stores.Redis) -> None:
    api = limited(SPACE_MUTATION="no-retry-after", SPACE_VERSION="v1")
    answer = api.call("GET", "/v1/state")
    told = answer.json()
    assert told["limiters"]["activation"] == {
        "enabled": True,
        "store": "configured",
        "burst": 1000,
        "refill_per_second": 60,
    }
    assert told["limiters"]["client_concurrency"]["mode"] == "observe"
    assert told["limiters"]["client_concurrency"]["known_clients"] == 1
    assert (told["version"], told["mutations"]) == ("v1", ["no-retry-after"])
    assert str(redis_server.port) not in answer.data.decode()
    assert "postgresql" not in answer.data.decode()


def test_a_create_tells_both_decisions_in_headers_log_and_metrics(limited: process.Start) -> None:
    api = limited()
    before = time.time()
    made = api.create("smoke")
    assert made.headers["X-Space-Activation-Decision"] == "admitted; reason=none"
    assert made.headers["X-Space-Concurrency-Decision"] == "accepted; reason=none; client=smoke; would_reject=false"
    assert before <= float(made.headers["X-Space-Decided-At"]) <= time.time()
    assert len(made.headers["X-Space-Decided-At"].partition(".")[2]) == 6
    assert 0 < float(made.headers["Server-Timing"].removeprefix("limiter;dur=")) < 1000
    for limiter, outcome in (("activation", "admitted"), ("client_concurrency", "accepted")):
        labels = {"limiter": limiter, "outcome": outcome, "reason": "none"}
        assert api.metric("space_limiter_decisions_total", **labels) == 1
        assert api.metric("space_limiter_decision_seconds_count", **labels) == 1
    assert api.stop() == 0
    (line,) = [line for line in api.lines if line.get("path") == "/v1/sandboxes"]
    assert (line["activation"], line["activation_reason"]) == ("admitted", "none")
    assert (line["concurrency"], line["client"], line["would_reject"]) == ("accepted", "smoke", False)
    assert line["trace_id"] == made.headers["X-Trace-Id"]


@pytest.mark.parametrize(("url", "store"), [("", "none"), ("nonsense", "malformed")])
def test_without_a_store_everything_is_admitted_as_misconfigured(
    start_api: process.Start, url: str, store: str
) -> None:
    api = start_api(SPACE_REDIS_URL=url)
    made = api.create()
    assert made.status == 201
    assert "reason=misconfigured" in made.headers["X-Space-Activation-Decision"]
    assert "reason=misconfigured" in made.headers["X-Space-Concurrency-Decision"]
    assert api.call("GET", "/v1/state").json()["limiters"]["activation"]["store"] == store


def test_a_drained_bucket_refuses_with_code_and_retry_after_and_keeps_no_lease(
    limited: process.Start, redis_server: stores.Redis
) -> None:
    api = limited(
        SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST="1",
        SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND="0.1",
        SPACE_API_CLIENT_CONCURRENCY_MODE="enforce",
    )
    assert api.create().status == 201
    refused = api.create()
    assert (refused.status, refused.json()["error"]["code"]) == (429, "activation_limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 10
    assert refused.headers["X-Space-Activation-Decision"] == "refused; reason=none"
    assert refused.headers["X-Space-Concurrency-Decision"].startswith("accepted")
    assert limiting.leases(redis_server, concurrency.UNSPECIFIED) == 0


def test_waking_is_an_activation_and_a_refused_wake_leaves_the_sandbox_paused(limited: process.Start) -> None:
    api = limited(
        SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST="1", SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND="0.1"
    )
    path = sandbox(api)
    api.call("POST", f"{path}/pause")
    refused = api.call("POST", f"{path}/connect", {"hold_s": 0})
    assert (refused.status, refused.json()["error"]["code"]) == (429, "activation_limited")
    assert api.call("GET", path).json()["state"] == "paused"


def test_of_parallel_connects_exactly_the_limit_is_held(limited: process.Start, redis_server: stores.Redis) -> None:
    api = limited(SPACE_API_CLIENT_CONCURRENCY_MODE="enforce", SPACE_API_CLIENT_CONCURRENCY_LIMIT="7")
    path = f"{sandbox(api)}/connect"
    ask = {"preload_content": False, "headers": {"X-Client-ID": "smoke"}}
    with concurrent.futures.ThreadPoolExecutor(40) as threads:
        answers = list(threads.map(lambda _: api.call("POST", f"{path}?hold_s=20", **ask), range(40)))
    held = [answer for answer in answers if answer.status == 200]
    refused = [answer for answer in answers if answer.status == 429]
    assert (len(held), len(refused)) == (7, 33)
    assert {json.loads(answer.data)["error"]["code"] for answer in refused} == {"client_concurrency_limited"}
    assert {answer.headers["Retry-After"] for answer in refused} == {"1"}
    assert limiting.leases(redis_server, "smoke") == 7
    assert api.metric("space_limiter_leases") == 7
    assert api.call("POST", path, {"hold_s": 0}).status == 200, "another client is not concerned"
    for answer in held:
        answer.close()
    stores.wait_until("leases of gone clients are given back", lambda: limiting.leases(redis_server, "smoke") == 0)


def test_a_connect_answers_at_once_and_stays_open(limited: process.Start, redis_server: stores.Redis) -> None:
    api = limited()
    path = f"{sandbox(api)}/connect"
    started = time.monotonic()
    answer = api.call("POST", path, {"hold_s": 1}, preload_content=False)
    lines = answer.stream(amt=None)
    first = json.loads(next(lines).splitlines()[0])
    assert (first["event"], first["state"]) == ("connected", "running")
    assert time.monotonic() - started < 0.8
    assert limiting.leases(redis_server, concurrency.UNSPECIFIED) == 1
    assert json.loads(b"".join(lines)) == {"event": "closed", "reason": "held"}
    assert time.monotonic() - started >= 1
    stores.wait_until("the lease is gone", lambda: limiting.leases(redis_server, concurrency.UNSPECIFIED) == 0, 1)


def test_a_failed_start_is_503_recorded_and_keeps_no_lease(limited: process.Start, redis_server: stores.Redis) -> None:
    api = limited(SPACE_TEST_START_FAILS="1")
    failed = api.create()
    assert (failed.status, failed.json()["error"]["code"]) == (503, "sandbox_start_failed")
    assert limiting.leases(redis_server, concurrency.UNSPECIFIED) == 0
    assert {one["state"] for one in api.call("GET", "/v1/sandboxes").json()["sandboxes"]} >= {"failed"}


def test_repeated_client_headers_are_unspecified(limited: process.Start) -> None:
    api = limited()
    with socket.create_connection(("127.0.0.1", api.port), timeout=10) as raw:
        raw.sendall(
            b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nX-Client-ID: smoke\r\nX-Client-ID: smoke\r\n"
            b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"
        )
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert b"client=unspecified" in answer


def test_a_dead_store_neither_refuses_nor_unreadies_anyone(limited: process.Start, redis_server: stores.Redis) -> None:
    api = limited()
    assert api.create().status == 201
    redis_server.stop()
    made = api.create()
    assert made.status == 201
    assert made.headers["X-Space-Activation-Decision"] == "admitted; reason=store_unavailable"
    assert "accepted; reason=store_unavailable" in made.headers["X-Space-Concurrency-Decision"]
    assert float(made.headers["Server-Timing"].removeprefix("limiter;dur=")) <= 250
    assert api.call("GET", "/readyz").status == 200
    redis_server.start()
    assert "reason=none" in api.create().headers["X-Space-Activation-Decision"]


def test_decisions_add_up_to_the_requests(limited: process.Start) -> None:
    api = limited(
        SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST="3", SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND="0.1"
    )
    statuses = [api.create().status for _ in range(8)]
    assert sorted(statuses) == [201] * 3 + [429] * 5
    count = "space_limiter_decisions_total"
    assert api.metric(count, limiter="client_concurrency", outcome="accepted", reason="none") == 8
    assert api.metric(count, limiter="activation", outcome="admitted", reason="none") == 3
    assert api.metric(count, limiter="activation", outcome="refused", reason="none") == 5


def test_another_callers_numbers_are_counted(limited: process.Start, redis_server: stores.Redis) -> None:
    api = limited()
    api.create()
    redis_server.client.hset(activation.KEY, "burst", 2)
    api.create()
    assert api.metric("space_limiter_config_mismatch_total") == 1
