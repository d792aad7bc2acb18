"""Whom a load asks: the public API, or the service that it names; always pods that were listed and reached."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from space_smoke.bench import kube
from space_smoke.engine import scene
from space_smoke.loads import ecw_create
from space_smoke.model import history, scenario


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


class Cluster:
    """Two Deployments with a ready pod each; `opened` are the paths that were asked through the proxy."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def read(self, ref: Any) -> dict[str, Any]:
        meta = {"name": ref.name, "namespace": ref.namespace, "uid": f"uid-{ref.name}", "annotations": {}}
        return {"metadata": meta, "spec": {"selector": {"matchLabels": {"app": ref.name}}}}

    def listed(self, _version: str, kind: str, _namespace: str = "", selector: str = "") -> list[dict[str, Any]]:
        if kind != "Pod":
            return []
        name = selector.removeprefix("app=")
        conditions = [{"type": "Ready", "status": "True"}]
        meta = {"name": f"{name}-pod", "labels": {"app": name}}
        return [{"metadata": meta, "spec": {}, "status": {"conditions": conditions}}]

    def open(self, _method: str, url: str, **_more: Any) -> Response:
        self.opened.append(url.removeprefix("/api/v1/namespaces/space/"))
        return Response()


@pytest.mark.parametrize("service", ["space-api", "space-cluster-controller"])
def test_a_load_asks_the_service_that_it_names_and_the_public_api_when_it_names_none(service: str) -> None:
    cluster, past = Cluster(), history.History(lambda: 0.0)
    on = scene.Scene(cast(kube.Kube, cluster), "space", past.emit, past.clock, 0.0, 0)
    named = {} if service == scene.SERVICE else {"service": service}
    flow = on.prepared(scenario.Load("tried", "service-metrics", named), threading.Event())
    assert flow.pods == [f"{service}-pod"]
    listed = next(history.of_kind(past.events, "pods")).data
    assert (listed["target"], listed["load"]) == (f"deployment/{service}", "tried")
    reached = [f"services/{service}:8080/proxy/healthz", f"pods/{service}-pod:8080/proxy/healthz"]
    assert cluster.opened == reached
    flow.ask(0, "metrics", "GET", "/metrics")
    flow.ask(0, "token", "POST", "/v1/tokens", to="space-admin-api")
    assert cluster.opened[2:] == [
        f"services/{service}:8080/proxy/metrics",
        "services/space-admin-api:8080/proxy/v1/tokens",
    ]


def test_a_load_sees_what_this_scenario_did_and_nothing_of_the_one_before() -> None:
    past = history.History(lambda: 0.0)
    past.emit("scenario-started", scenario="local.before")
    past.emit("request", load="base", made="of-before")
    past.emit("scenario-started", scenario="local.tried")
    past.emit("request", load="base", made="of-this")
    on = scene.Scene(
        cast(kube.Kube, Cluster()), "space", past.emit, past.clock, 0.0, 0, past=lambda: tuple(past.events)
    )
    flow = on.prepared(scenario.Load("hold", "ecw-connect", {}), threading.Event())
    assert ecw_create.kept(flow, "base") == ["of-this"]
