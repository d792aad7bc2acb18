"""Connects that wait for each other, and the door by which they leave."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from space_smoke.bench import http, kube
from space_smoke.loads import ecw_crowd
from space_smoke.tests.unit import api_double

ROUND, ROUNDS = 6, 3


class Silent(api_double.Api):
    """The first connect gets no answer."""

    def __init__(self, down: Callable[[int], bool]) -> None:
        super().__init__(down)
        self.first = threading.Semaphore(1)

    def answer(self, asked: api_double.Asked) -> tuple[int, bytes]:
        if "/connect?" in asked.path and self.first.acquire(blocking=False):
            raise TimeoutError
        return super().answer(asked)


def crowd(api: api_double.Api, hold_s: float) -> api_double.Run:
    run = api_double.Run(api)
    load = run.load("ecw-crowd", requests=ROUND, rounds=ROUNDS, hold_s=hold_s, client="crowd", pods="each")
    ecw_crowd.drive(load)
    return run


def test_each_round_is_another_client_over_all_pods_and_all_of_it_stay_until_the_last_is_answered() -> None:
    run = crowd(api_double.Api(), 30.0)
    asked = [data for data in run.requests() if data["do"] == "connect"]
    assert sorted(data["n"] for data in asked) == list(range(ROUND * ROUNDS))
    for turn in range(ROUNDS):
        mine = [data for data in asked if data["client"] == f"crowd-{turn}"]
        assert sorted(data["pod_asked"] for data in mine) == ["space-api-a"] * 3 + ["space-api-b"] * 3
        assert max(data["answered_s"] for data in mine) <= min(data["ended_s"] for data in mine)
    assert run.api.states == {"sb-0": "deleted"}


def test_who_is_not_let_in_or_gets_no_answer_keeps_nobody() -> None:
    began_s = time.monotonic()
    run = crowd(Silent(down=lambda number: number == 3), 30.0)
    statuses = [data["status"] for data in run.requests()]
    assert (statuses.count(503), statuses.count(None)) == (1, 1)
    assert time.monotonic() - began_s < 20


def test_nobody_stays_for_an_answer_longer_than_the_hold() -> None:
    here = ecw_crowd._Here(2, 0.01)
    assert here.stay(0, 200)


def test_a_request_that_leaves_hangs_up_after_the_status_and_reads_nothing(tmp_path: Path) -> None:
    hung_up = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            caller, _ = server.accept()
            with caller:
                asked = b""
                while not asked.endswith(b"{}"):  # the body may come after the head
                    asked += caller.recv(65536)
                caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
                caller.settimeout(10)
                if caller.recv(1) == b"":
                    hung_up.set()

        serving = threading.Thread(target=serve)
        serving.start()
        config = {
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{server.getsockname()[1]}"}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "current-context": "here",
        }
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        cluster = kube.Kube(tmp_path / "kubeconfig")
        seen: list[int] = []

        def leave(status: int) -> bool:
            seen.append(status)
            return True

        door = http.Door(cluster, "space", "space-api", 8080, time.monotonic)
        answer = door.ask("POST", "/", body={}, leave=leave)
        serving.join()
    assert hung_up.is_set()
    assert (answer.status, answer.body, answer.error, seen) == (200, b"", None, [200])
