"""What `up` makes for grid sites beside their releases: definitions, keys, namespaces; and that a scenario then finds them."""

from __future__ import annotations

import base64
import dataclasses
import types
from collections.abc import Mapping
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from space_smoke import errors
from space_smoke.bench import cache, certificates, collect, crds, grid_keys, kube, register, releases, volumes, wait
from space_smoke.engine import beforehand, bringup, scene
from space_smoke.model import history, objects, scenario
from space_smoke.tests.unit import bench_objects as made
from space_smoke.tests.unit import histories

OPERATOR = cache.PROJECT / "charts" / "grid-operator"
KINDS = ["GridNetwork", "GridSite", "InferenceProvider"]


def silent(*_: Any, **__: Any) -> None:
    pass


class Api:
    """An API server that keeps what is applied; definitions are served after `looks` reads of each."""

    def __init__(self, looks: int = 0) -> None:
        self.applied: list[Mapping[str, Any]] = []
        self._left: dict[str, int] = {}
        self._looks = looks

    def apply(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        self.applied.append(body)
        self._left[body["metadata"]["name"]] = self._looks
        return body

    def read(self, ref: objects.Ref) -> Mapping[str, Any]:
        self._left[ref.name] -= 1
        served = "True" if self._left[ref.name] < 0 else "False"
        return {"metadata": {"name": ref.name}, "status": {"conditions": [{"type": "Established", "status": served}]}}

    def watch(self, *_: Any) -> None:
        """Nothing is told; reads are repeated all the same."""


def kept(api: Api, charts: list[Any], timeout_s: float = 5) -> list[str]:
    return crds.keep(cast(kube.Kube, api), charts, silent, timeout_s=timeout_s)


def test_three_releases_of_one_chart_have_its_definitions_applied_once() -> None:
    api = Api()
    names = kept(api, [OPERATOR, cache.PROJECT / "charts" / "postgres", OPERATOR, OPERATOR])
    assert sorted(one["spec"]["names"]["kind"] for one in api.applied) == KINDS
    assert names == [one["metadata"]["name"] for one in api.applied]


def test_definitions_are_waited_for_until_they_are_served() -> None:
    assert len(kept(Api(looks=1), [OPERATOR])) == 3


def test_definitions_that_are_not_served_in_time_are_named() -> None:
    with pytest.raises(errors.WaitFailed) as failed:
        kept(Api(looks=99), [OPERATOR], timeout_s=0.05)
    assert "gridnetworks.grid.praxis-proxy.io" in failed.value.last


def test_charts_without_definitions_ask_for_nothing() -> None:
    api = Api()
    assert (kept(api, [cache.PROJECT / "charts" / "postgres"]), api.applied) == ([], [])


def test_an_object_is_applied_over_whoever_else_said_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def send(_self: Any, method: str, path: str, *, body: Any, content: str) -> tuple[int, dict[str, Any]]:
        sent.extend((method, path, body, content))
        return 200, {"metadata": {"name": "grid-keys"}}

    monkeypatch.setattr(kube.Kube, "send", send)
    secret = grid_keys.secret("a", "grid-a")
    kube.Kube.apply(kube.Kube.__new__(kube.Kube), secret)
    path = "/api/v1/namespaces/grid-a/secrets/grid-keys?fieldManager=space-smoke&force=true"
    assert sent == ["PATCH", path, secret, "application/apply-patch+yaml"]


def key(site: str, entry: str) -> bytes:
    """An entry as the operator reads it: base64 of the API, and within it a text of base64."""
    text = base64.b64decode(grid_keys.secret(site, f"grid-{site}")["data"][entry], validate=True)
    return base64.b64decode(text, validate=True)


def test_sites_share_the_ring_and_each_has_a_key_of_its_own_that_the_others_know() -> None:
    assert len({key(site, grid_keys.RING) for site in "abc"}) == 1
    keys = {site: key(site, grid_keys.SITE) for site in "abc"}
    assert {len(one) for one in [*keys.values(), key("a", grid_keys.RING)]} == {32}
    assert len({*keys.values(), key("a", grid_keys.RING)}) == 4
    for site, private in keys.items():
        public = ed25519.Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
        assert grid_keys.public(site) == base64.b64encode(public).decode()


@dataclasses.dataclass
class Made:
    """What the step made, in order."""

    namespaces: list[str]
    certificates: list[tuple[str, str]]
    keys: list[tuple[str, str]]
    volumes: list[str]


def step(monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...] = ()) -> Made:
    found = Made([], [], [], [])

    def create(_access: Any, body: Mapping[str, Any]) -> None:
        found.namespaces.append(body["metadata"]["name"])

    def kept_certificate(_access: Any, service: str, namespace: str) -> str:
        found.certificates.append((service, namespace))
        return ""

    def kept_volumes(_access: Any, wanted: list[releases.Volume]) -> list[str]:
        found.volumes += [one.claim for one in wanted]
        return []

    cluster = type("Cluster", (), {"create": create})
    monkeypatch.setattr(bringup, "UntilFailure", lambda *_: cluster())
    monkeypatch.setattr(certificates, "keep", kept_certificate)
    monkeypatch.setattr(grid_keys, "keep", lambda _access, *which: found.keys.append(which))
    monkeypatch.setattr(volumes, "folders", silent)
    monkeypatch.setattr(volumes, "create", kept_volumes)
    planned = [one for stage in releases.stages(extras=["grid"]) for one in stage]
    entry = types.SimpleNamespace(releases=dict.fromkeys(installed, "digest"))
    options = bringup.UpOptions(name="mine")
    monkeypatch.setattr(register, "kubeconfig", lambda _name: None)
    work = types.SimpleNamespace(planned=planned, entry=entry, options=options, marks=None)
    beforehand.namespaces(cast(bringup.Work, work))
    return found


def test_each_namespace_of_the_releases_is_made_once_and_holds_its_certificate_and_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = step(monkeypatch)
    assert found.namespaces == ["space-smoke", "space", "grid-a", "grid-b", "grid-c"]
    sites = [(f"grid-{site}-postgres", f"grid-{site}") for site in "abc"]
    assert found.certificates == [("postgres", "space"), *sites]
    assert found.keys == [(site, f"grid-{site}") for site in "abc"]
    assert found.volumes == ["data-postgres-0", *(f"data-grid-{site}-postgres-0" for site in "abc")]


def test_a_bench_that_gets_a_grid_later_gets_its_volumes_and_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = step(monkeypatch, installed=("postgres", "space-api", "grid-a-postgres"))
    assert found.volumes == ["data-grid-b-postgres-0", "data-grid-c-postgres-0"]


def on_bench(**lists: Any) -> scene.Scene:
    class Cluster(made.Cluster):
        def read(self, ref: objects.Ref) -> objects.Object:
            for one in self.lists[ref.kind]:
                if (one["metadata"]["name"], one["metadata"]["namespace"]) == (ref.name, ref.namespace):
                    return one
            raise errors.ApiError(f"{ref} is not there", status=404)

    past = history.History(lambda: 0.0)
    return scene.Scene(cast(kube.Kube, Cluster(GridNetwork=[], **lists)), "space", past.emit, lambda: 0.0, 0.0, 0)


def needing(*charts: str, **replicas: int) -> scenario.Scenario:
    given = {name.replace("_", "-"): count for name, count in replicas.items()}
    return dataclasses.replace(histories.one_load(), bench=scenario.BenchNeeds(charts, given))


def test_a_scenario_on_grid_sites_is_fit_where_they_are_in_whatever_namespace() -> None:
    sites = [made.site("grid-a"), made.site("grid-b")]
    the = needing("space-api", "grid-operator", grid_operator=1)
    assert on_bench(StatefulSet=sites).fit(the) == ""
    assert on_bench(StatefulSet=[]).fit(the) == "chart grid-operator is not installed in namespace space"
    sites[1]["spec"] = {"replicas": 0}
    assert on_bench(StatefulSet=sites).fit(the) == "grid-b has 0 replicas and the scenario needs 1"


def test_a_scenario_needs_the_grids_resources_where_it_names_their_chart() -> None:
    on, the = on_bench(StatefulSet=[made.site()]), needing("grid-site")
    assert "grid-site is not installed" in on.fit(the)

    def no_such_kind(*_: Any) -> list[objects.Object]:
        raise errors.ApiError("the server could not find the requested resource", status=404)

    cast(Any, on.cluster).listed = no_such_kind
    assert "grid-site is not installed" in on.fit(the)


def test_a_site_that_is_being_rolled_out_is_waited_for_before_a_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[objects.Ref] = []
    monkeypatch.setattr(wait, "rollout", lambda _cluster, ref, **_more: waited.append(ref))
    for done, names in ((True, []), (False, ["grid-a"])):
        monkeypatch.setattr(wait, "workload_state", lambda _cluster, _ref, done=done: wait.State(done, "as it is"))
        on_bench(StatefulSet=[made.site()]).settle(needing("grid-operator"))
        assert [ref.name for ref in waited] == names


def gathered(on: scene.Scene) -> dict[str, str]:
    """What a scenario that went wrong tells, by its title."""
    past = history.History(lambda: 0.0)
    scene.everything(dataclasses.replace(on, emit=past.emit), collect.gather, "space-smoke")
    return {event.data["what"]: event.data["text"] for event in past.events}


def test_what_is_gathered_tells_of_every_sites_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "_log", lambda *_arguments, **_more: "a line")
    pod = made.pod("grid-a-0", owner=("StatefulSet", "grid-a"), namespace="grid-a")
    for status in pod["status"]["containerStatuses"]:
        status["ready"] = True
    on = on_bench(StatefulSet=[made.site()], Pod=[pod], Event=[], Lease=[])
    told = gathered(on)
    assert "grid-a-0 on dev-worker" in told["pods in grid-a"]
    assert told["log of grid-a-0/api"] == "a line"


def test_a_cluster_that_does_not_answer_is_told_and_ends_nothing() -> None:
    class Silent:
        def listed(self, *_: Any) -> list[objects.Object]:
            raise errors.ApiError("no answer", status=0)

    told = gathered(dataclasses.replace(on_bench(), cluster=cast(kube.Kube, Silent())))
    assert told["pods in space"] == "(not to be had: no answer)"
