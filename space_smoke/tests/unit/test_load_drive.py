"""The traffic of `load` against a cluster on this machine: what it asks, what it deletes, how it ends, what it never does."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from space_smoke.bench import kube
from space_smoke.engine import load, scene
from space_smoke.model import history
from space_smoke.tests.unit import load_server

FAST = load.Plan("connect", rate_rps=200, for_s=0.1, clients=3, seed=7)


@pytest.fixture
def cluster() -> Iterator[load_server.Cluster]:
    with load_server.running() as made:
        yield made


@pytest.fixture
def on(cluster: load_server.Cluster, tmp_path: Path) -> scene.Scene:
    past = history.History(clock=time.monotonic)
    access = kube.Kube(cluster.kubeconfig(tmp_path), "here")
    return scene.Scene(access, "space", past.emit, past.clock, 0.0, 0)


@dataclasses.dataclass
class Driven:
    ended: load.Ended
    events: list[history.Event]

    def requests(self, part: str = load.NAME) -> list[Any]:
        found = [one.data for one in self.events if one.kind == "request" and one.data["load"] == part]
        return sorted(found, key=lambda data: data["n"])


def drive(on: scene.Scene, plan: load.Plan = FAST, each_second: Callable[[float], None] = lambda _at_s: None) -> Driven:
    events: list[history.Event] = []
    driver = load.Driver(plan, on.door(), events.append, lambda: load.pods(on), 0.0)
    return Driven(driver.drive(each_second), events)


def test_every_turn_is_asked_once_by_the_client_that_the_seed_chooses(on: scene.Scene) -> None:
    asked = [(data["n"], data["client"]) for data in drive(on).requests()]
    assert asked == [(turn, FAST.client(turn)) for turn in range(20)]
    assert {client for _, client in asked} == {"client-0", "client-1", "client-2"}
    other = dataclasses.replace(FAST, seed=8)
    assert [other.client(turn) for turn in range(20)] != [client for _, client in asked]


def test_connect_uses_one_sandbox_and_deletes_it(cluster: load_server.Cluster, on: scene.Scene) -> None:
    driven = drive(on)
    assert {data["do"] for data in driven.requests()} == {"connect"}
    assert {data["status"] for data in driven.requests()} == {200}
    assert (cluster.made, cluster.sandboxes, driven.ended) == (1, set(), load.Ended((), interrupted=False))


def test_the_schedule_begins_when_what_it_needs_is_there(on: scene.Scene) -> None:
    events = drive(on).events
    (begun,) = [event for event in events if event.kind == "load-started"]
    (setup,) = [event for event in events if event.data.get("load") == f"{load.NAME}.setup"]
    first_s = min(event.at_s for event in events if event.kind == "request" and event.data["load"] == load.NAME)
    assert setup.at_s <= begun.at_s <= first_s


def test_a_sandbox_that_could_not_be_made_is_told_and_ends_nothing(
    cluster: load_server.Cluster, on: scene.Scene
) -> None:
    cluster.dropping = True
    driven = drive(on)
    notes = [event.data["sentence"] for event in driven.events if event.kind == "note"]
    assert notes == ["the sandbox to connect to could not be made: one that never was is asked for"]
    assert {data["sandbox"] for data in driven.requests()} == {"sb-none"}


def test_create_deletes_each_sandbox_that_it_made(cluster: load_server.Cluster, on: scene.Scene) -> None:
    driven = drive(on, load.Plan("create", rate_rps=20, for_s=0.3, clients=1, seed=0))
    assert [data["do"] for data in driven.requests()] == ["create"] * 6
    assert len(driven.requests(f"{load.NAME}.cleanup")) == 6
    assert (cluster.made, cluster.sandboxes) == (6, set())
    methods = "".join(method[0] for method, path, _ in cluster.asked if path.startswith("/v1/sandboxes"))
    assert "DP" in methods, "the first is deleted before the last is made"


def test_a_session_goes_from_create_to_delete_on_its_own_sandbox(cluster: load_server.Cluster, on: scene.Scene) -> None:
    driven = drive(on, load.Plan("session", rate_rps=10, for_s=0.2, clients=1, seed=0))
    for turn in range(2):
        own = [data for data in driven.requests() if data["n"] == turn]
        assert [data["do"] for data in own] == ["create", "info", "command", "pause", "connect", "delete"]
        assert len({data["sandbox"] for data in own[1:]}) == 1
    assert (cluster.made, cluster.sandboxes) == (2, set())


def test_it_takes_no_lease_and_writes_to_its_own_sandboxes_only(cluster: load_server.Cluster, on: scene.Scene) -> None:
    for profile in load.PROFILES:
        drive(on, dataclasses.replace(FAST, profile=profile, for_s=0.02))
    assert cluster.asked
    assert not [path for _, path, _ in cluster.asked if "lease" in path.lower()]
    written = {path.split("/")[2] for method, path, _ in cluster.asked if method != "GET"}
    assert written == {"sandboxes"}
    assert not [path for method, path, _ in cluster.asked if method != "GET" and not path.startswith("/v1/sandboxes")]


def test_each_ready_pod_is_asked_for_its_store_and_no_other(on: scene.Scene) -> None:
    asked = {data["pod_asked"] for data in drive(on).requests(load.STATE)}
    assert asked == {"space-api-a", "space-api-b"}


def test_the_service_is_asked_when_no_pod_is_known(cluster: load_server.Cluster, on: scene.Scene) -> None:
    cluster.ready = {}
    assert {data["pod_asked"] for data in drive(on).requests(load.STATE)} == {None}


def test_a_request_that_has_to_wait_for_its_turn_is_told_as_behind(
    cluster: load_server.Cluster, on: scene.Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "_UNDER_WAY", 1)
    cluster.slow_s = 0.03
    behind = [data["behind_s"] for data in drive(on).requests()]
    assert behind[0] < behind[19]
    assert behind[19] > 19 * 0.03 - 0.1, "the twentieth is due after 0.1 s and begins after nineteen others"


def test_the_api_going_away_ends_nothing(cluster: load_server.Cluster, on: scene.Scene) -> None:
    cluster.dropping = True
    driven = drive(on)
    assert len(driven.requests()) == 20
    assert {data["status"] for data in driven.requests()} == {None}
    assert driven.ended == load.Ended((), interrupted=False)


def interrupts(times: int) -> Callable[[float], None]:
    left = iter(range(times))

    def each_second(_at_s: float) -> None:
        if next(left, None) is not None:
            raise KeyboardInterrupt

    return each_second


@pytest.mark.parametrize("profile", list(load.PROFILES))
def test_ctrl_c_ends_the_traffic_and_deletes_the_sandboxes(
    cluster: load_server.Cluster, on: scene.Scene, profile: str
) -> None:
    driven = drive(on, load.Plan(profile, rate_rps=5, for_s=600, clients=1, seed=0), interrupts(1))
    assert driven.ended == load.Ended((), interrupted=True)
    assert cluster.made
    assert cluster.sandboxes == set()
    assert [event.data["sentence"] for event in driven.events if event.kind == "note"] == [
        "stopped: waiting for what is under way, then deleting the sandboxes of this load"
    ]


def test_a_second_ctrl_c_waits_no_longer_and_names_what_is_left(cluster: load_server.Cluster, on: scene.Scene) -> None:
    cluster.deletes.clear()
    driven = drive(on, load.Plan("connect", rate_rps=5, for_s=600, clients=1, seed=0), interrupts(2))
    assert driven.ended == load.Ended(tuple(cluster.sandboxes), interrupted=True)
    assert len(driven.ended.left) == 1


def test_a_sandbox_that_cannot_be_deleted_is_left_by_name(cluster: load_server.Cluster, on: scene.Scene) -> None:
    cluster.keeping = True
    driven = drive(on)
    assert set(driven.ended.left) == cluster.sandboxes
    assert len(cluster.sandboxes) == 1


def test_what_breaks_the_traffic_itself_is_not_lost(on: scene.Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: Any, **_more: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(load, "_step", broken)
    assert str(drive(on).ended.failure) == "a defect"
