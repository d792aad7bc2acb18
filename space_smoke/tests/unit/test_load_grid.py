"""The loads of the grid: what they tell sites, and what they keep of what sites show."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from space_smoke import errors
from space_smoke.bench import kube, sites
from space_smoke.engine import scene
from space_smoke.loads import grid_spend, grid_watch
from space_smoke.model import history, scenario
from space_smoke.tests.unit import grid_double

SPEND: dict[str, Any] = {"sites": ["a", "b"], "tenants": ["acme", "globex"], "concurrency": 1}


def told(run: grid_double.Run, load: str = "load") -> list[dict[str, Any]]:
    return [data for data in run.of_kind("request") if data["load"] == load]


def test_sites_take_turns_and_after_each_round_tenants_do() -> None:
    run = grid_double.Run()
    grid_spend.drive(run.load("grid-spend", **SPEND, requests=6))
    turns = [(data["site"], data["tenant"]) for data in told(run)]
    assert turns == [("a", "acme"), ("b", "acme"), ("a", "globex"), ("b", "globex"), ("a", "acme"), ("b", "acme")]
    assert [one[0] for one in run.grid.asked] == ["a", "b"] * 3
    assert len({data["request_id"] for data in told(run)}) == 6


def test_what_was_acknowledged_is_in_the_journal_by_site_tenant_and_id() -> None:
    run = grid_double.Run()
    grid_spend.drive(run.load("grid-spend", **SPEND, requests=2, most_cents=9))
    first = told(run)[0]
    assert (first["do"], first["status"], first["pod"], first["replayed"]) == ("spend", 200, "grid-a-0", False)
    assert 1 <= first["cents"] <= 9


def test_without_names_all_tenants_of_the_first_sites_policy_spend() -> None:
    run = grid_double.Run(grid_double.Grid(declared=("x", "y", "z")))
    grid_spend.drive(run.load("grid-spend", sites=["b"], requests=4, concurrency=1))
    assert [data["tenant"] for data in told(run)] == ["x", "y", "z", "x"]
    with pytest.raises(errors.BenchError, match="names no tenant"):
        grid_spend.drive(grid_double.Run(grid_double.Grid(declared=())).load("grid-spend", sites=["b"], requests=1))


def test_amounts_are_the_seeds_and_ids_are_not() -> None:
    runs = [grid_double.Run(), grid_double.Run()]
    for run in runs:
        grid_spend.drive(run.load("grid-spend", **SPEND, requests=5))
    one, other = (told(run) for run in runs)
    assert [data["cents"] for data in one] == [data["cents"] for data in other]
    assert len({data["cents"] for data in one}) > 1
    assert not {data["request_id"] for data in one} & {data["request_id"] for data in other}


def test_a_repetition_tells_the_same_sites_the_same_under_the_same_ids() -> None:
    run = grid_double.Run()
    grid_spend.drive(run.load("grid-spend", "first", **SPEND, requests=4))
    grid_spend.drive(run.load("grid-spend", "again", sites=["a"], of="first", concurrency=1))
    mine = [data for data in told(run, "first") if data["site"] == "a"]
    same = ("site", "tenant", "cents", "request_id")
    assert [[data[key] for key in same] for data in told(run, "again")] == [[one[key] for key in same] for one in mine]
    assert all(data["replayed"] for data in told(run, "again"))


def test_a_site_that_is_away_is_told_as_no_answer_and_not_asked_again() -> None:
    run = grid_double.Run(grid_double.Grid(down=lambda site: site == "b"))
    grid_spend.drive(run.load("grid-spend", **SPEND, requests=4))
    assert [data["status"] for data in told(run)] == [200, None, 200, None]
    assert "replayed" not in told(run)[1]


def test_each_site_is_sampled_at_its_period_and_was_asked_once_itself() -> None:
    run = grid_double.Run()
    grid_watch.drive(run.load("grid-watch", sites=["a", "b"], period_s=0.02, for_s=0.1))
    assert [(data["do"], data["site"]) for data in told(run)] == [("healthz", "a"), ("healthz", "b")]
    samples = run.of_kind("sample")
    assert sorted(data["site"] for data in samples) == ["a"] * 5 + ["b"] * 5
    assert {data["n"] for data in samples} == set(range(10))
    # The first may be late on a busy machine, the last is never early: four periods after the load began.
    begun = min(data["sent_s"] for data in told(run))
    assert max(data["sent_s"] for data in samples if data["site"] == "a") - begun >= 0.075
    assert [path for _, _, path in run.grid.asked] == ["/healthz"] * 2, "without named metrics no pod is asked"


def test_a_sample_keeps_what_a_site_shows() -> None:
    run = grid_double.Run()
    grid_watch.drive(run.load("grid-watch", sites=["a"], period_s=0.02, for_s=0.02, metrics=["grid_members"]))
    (data,) = run.of_kind("sample")
    shown = data["shown"]
    assert (shown["version"], shown["generation"], shown["observed"], shown["epoch"]) == ("7", 2, 2, 1)
    assert (shown["providers"], shown["count"], shown["connected"]) == (["a/large"], 1, 2)
    assert [row["tenantId"] for row in shown["rows"]] == ["acme"]
    assert shown["conditions"]["MeshHealthy"] == {"status": "True", "reason": "Reached", "message": "all answer"}
    assert data["metrics"] == [{"name": "grid_members", "labels": {}, "value": 2.0}]


def test_a_status_without_rows_has_none_and_not_an_empty_list() -> None:
    network = {"metadata": {"resourceVersion": "1"}, "status": {"phase": "Active"}}
    assert grid_watch.read(network)["rows"] is None
    assert grid_watch.read({"metadata": {"resourceVersion": "1"}})["conditions"] == {}


def test_what_cannot_be_read_is_a_sample_that_says_so() -> None:
    run = grid_double.Run(grid_double.Grid(down=lambda _: True, unread=True))
    grid_watch.drive(run.load("grid-watch", sites=["a"], period_s=0.02, for_s=0.04, metrics=["grid_members"]))
    samples = run.of_kind("sample")
    assert len(samples) == 2
    for data in samples:
        assert (data["shown"], data["error"]) == (None, "the API server does not answer")
        assert (data["metrics"], data["metrics_error"]) == (None, "connection refused")


def test_a_watch_beside_others_ends_when_it_is_stopped() -> None:
    run = grid_double.Run()
    end = threading.Timer(0.1, run.stop.set)
    end.start()
    grid_watch.drive(run.load("grid-watch", sites=["a"], period_s=0.02, through="later"))
    assert len(run.of_kind("sample")) >= 2


class Cluster:
    """Sites a and b, whose pods are of revision two; `revision` is the newest. The proxy answers 200."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.revision = "two"

    def read(self, ref: Any) -> dict[str, Any]:
        if ref.namespace not in ("grid-a", "grid-b"):
            raise errors.ApiError("not found", status=404)
        spec, meta = {"selector": {"matchLabels": {"app": ref.name}}}, {"name": ref.name, "namespace": ref.namespace}
        status = {"updateRevision": self.revision}
        return {"kind": ref.kind, "metadata": meta, "spec": spec, "status": status}

    def listed(self, _version: str, _kind: str, namespace: str, selector: str) -> list[dict[str, Any]]:
        assert selector == f"app={namespace}"
        meta = {"name": f"{namespace}-0", "labels": {"controller-revision-hash": "two"}}
        return [{"metadata": meta, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}]

    def open(self, _method: str, url: str, **_more: Any) -> Any:
        self.opened.append(url)
        return Response()


class Response:
    status = 200

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}

    def read(self, _most: int) -> bytes:
        return b"{}"

    def drain_conn(self) -> None:
        """There is nothing left."""

    def release_conn(self) -> None:
        """There is no connection."""


def on(cluster: Cluster) -> tuple[scene.Scene, history.History]:
    past = history.History(lambda: 0.0)
    return scene.Scene(cast(kube.Kube, cluster), "space", past.emit, past.clock, 0.0, 0), past


def test_a_load_of_the_grid_has_the_pods_of_its_sites_and_needs_no_api() -> None:
    cluster = Cluster()
    there, past = on(cluster)
    flow = there.prepared(scenario.Load("spend", "grid-spend", {"sites": ["a", "b"]}), threading.Event())
    assert flow.pods == ["grid-a-0", "grid-b-0"]
    listed = next(history.of_kind(past.events, "pods")).data
    assert (listed["load"], [pod["current"] for pod in listed["pods"]]) == ("spend", [True, True])
    assert cluster.opened == [
        f"/api/v1/namespaces/grid-{site}/pods/grid-{site}-0:8080/proxy/healthz" for site in ("a", "b")
    ]


def test_a_site_that_is_not_on_the_bench_is_told_by_name_with_what_to_do() -> None:
    there, _ = on(Cluster())
    with pytest.raises(errors.BenchError, match="site z of the grid is not there") as caught:
        there.prepared(scenario.Load("spend", "grid-spend", {"sites": ["z"]}), threading.Event())
    assert caught.value.next_step == "space_smoke up --with grid"


def test_a_pod_of_an_older_revision_is_not_current() -> None:
    cluster = Cluster()
    cluster.revision = "three"
    (pod,) = sites.pods(cast(kube.Kube, cluster), sites.Site("a"))
    assert (pod.current, pod.ready, pod.terminating) == (False, True, False)
