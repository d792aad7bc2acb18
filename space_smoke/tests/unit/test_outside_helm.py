"""helm-values: paths of values, Helm's store, what counts as the value, and how what a dead run began is ended."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.bench import helm, kube, wait
from space_smoke.bench.outside import helm_identity, helm_storage, helm_values, place, values, workload
from space_smoke.faults import helm_values as declared
from space_smoke.model import kinds, objects

API = objects.Ref("apps/v1", "Deployment", "space", "api")
DOMAIN = "public-api-mutation"
TARGET = {
    **API.as_json(),
    "metadata": {
        "name": "api",
        "namespace": "space",
        "annotations": {"meta.helm.sh/release-name": "api", "meta.helm.sh/release-namespace": "space"},
    },
}
ONE = {"values": {"limit.burst": {"value": 9}}}
NONE = {"values": {"limit.burst": {"absent": ["limit"]}}}


def address(given: dict[str, Any]) -> Mapping[str, Any]:
    return declared.address({"values": given}, TARGET)


# -- the declaration


@pytest.mark.parametrize(
    "given",
    [{"a": {"b": 1, "c": [2]}, "d": None}, {"a.b": 1, "a.c": [2], "d": None}, {"a": {"b": 1}, "a.c": [2], "d": None}],
)
def test_values_may_be_nested_or_dotted(given: dict[str, Any]) -> None:
    field = address(given)
    assert field["paths"] == {"a.b": ["a", "b"], "a.c": ["a", "c"], "d": ["d"]}
    assert declared.wanted({}, field) == {"values": {"a.b": {"value": 1}, "a.c": {"value": [2]}, "d": {"value": None}}}


def test_a_dot_of_a_key_is_told_from_one_between_keys() -> None:
    assert address({"notes": {"a\\.example/x": 1}})["paths"] == {"notes.a\\.example/x": ["notes", "a.example/x"]}


def test_a_value_inside_of_another_is_refused() -> None:
    with pytest.raises(kinds.Unfit, match="twice"):
        address({"a": 1, "a.b": 2})


def test_what_no_release_installed_is_refused() -> None:
    with pytest.raises(kinds.Unfit, match="no Helm release"):
        declared.address({"values": {"a": 1}}, {**TARGET, "metadata": {"name": "api", "namespace": "space"}})


# -- values


@pytest.mark.parametrize("before", [{}, {"x": 1}, {"limit": {}}, {"limit": {"other": 1}}, {"limit": {"burst": None}}])
def test_values_that_were_put_back_are_what_they_were_to_the_last_map(before: dict[str, Any]) -> None:
    paths = {"limit.burst": ["limit", "burst"], "limit.rate.fast": ["limit", "rate", "fast"]}
    standing = values.read(before, paths)
    raised = values.written(before, paths, {"limit.burst": {"value": 9}, "limit.rate.fast": {"value": 2}})
    assert raised["limit"]["burst"] == 9
    assert values.written(raised, paths, standing) == before


def test_what_others_added_meanwhile_stays() -> None:
    paths = {"limit.burst": ["limit", "burst"]}
    assert values.written({"limit": {"burst": 9, "new": 1}}, paths, NONE["values"]) == {"limit": {"new": 1}}


def test_a_path_through_a_scalar_is_named() -> None:
    with pytest.raises(ValueError, match=r"limit\.burst: limit is 3"):
        values.read({"limit": 3}, {"limit.burst": ["limit", "burst"]})


def test_a_change_is_seen_by_what_differs_and_quantities_by_their_amount() -> None:
    before, after = spec(cpu="100m", env={"A": "1", "B": "2"}), spec(cpu="0.5", env={"A": "1", "C": "3"})
    changes = values.difference(before, after)
    assert {path[-1] for path in changes} == {"name", "value", "cpu"}
    live = spec(cpu="500m", env={"C": "3", "A": "other"})
    assert values.lacking(live, changes) == []
    assert values.lacking(spec(cpu="500m", env={"B": "2", "C": "3"}), changes) == [
        "containers.[api].env.[B].name",
        "containers.[api].env.[B].value",
    ]
    assert values.lacking(before, changes)


def spec(cpu: str, env: dict[str, str]) -> dict[str, Any]:
    entries = [{"name": name, "value": value} for name, value in env.items()]
    return {"spec": {"containers": [{"name": "api", "cpu": cpu, "env": entries}]}}


# -- Helm's store


def secret(number: int, status: str, config: dict[str, Any]) -> dict[str, Any]:
    manifest = {
        **API.as_json(),
        "metadata": {"name": "api"},
        "spec": {"burst": config.get("limit", {}).get("burst", 1)},
    }
    raw = {
        "name": "api",
        "version": number,
        "info": {"status": status},
        "config": config,
        "manifest": f"---\n{yaml.safe_dump({'kind': 'Service', 'metadata': {'name': 'api'}})}---\n{yaml.safe_dump(manifest)}",
        "chart": {
            "metadata": {"apiVersion": "v2", "name": "api", "version": "1.0.0"},
            "values": {"limit": {"burst": 1}},
            "templates": [{"name": "templates/x.yaml", "data": base64.b64encode(b"a: 1").decode()}],
            "schema": base64.b64encode(b"{}").decode(),
        },
    }
    packed = base64.b64encode(gzip.compress(json.dumps(raw).encode()))
    return {"metadata": {"name": f"v{number}"}, "data": {"release": base64.b64encode(packed).decode()}}


def test_a_revision_is_read_with_its_chart(tmp_path: pathlib.Path) -> None:
    revision = helm_storage.decode(secret(3, "deployed", {"limit": {"burst": 9}}))
    assert (revision.number, revision.deployed, revision.config) == (3, True, {"limit": {"burst": 9}})
    assert revision.rendered(API)["spec"] == {"burst": 9}
    folder = helm_storage.write_chart(revision, tmp_path)
    assert yaml.safe_load((folder / "Chart.yaml").read_text())["name"] == "api"
    assert yaml.safe_load((folder / "values.yaml").read_text()) == {"limit": {"burst": 1}}
    assert (folder / "templates/x.yaml").read_text() == "a: 1"


@pytest.mark.parametrize(
    "change", [{"metadata": {"dependencies": [{"name": "x"}]}}, {"files": [{"name": "../x", "data": ""}]}]
)
def test_a_chart_that_cannot_be_written_again_is_refused(tmp_path: pathlib.Path, change: dict[str, Any]) -> None:
    whole = helm_storage.decode(secret(1, "deployed", {}))
    revision = helm_storage.Revision(1, "deployed", {}, "", {**whole.chart, **change})
    with pytest.raises(place.Refusal) as refused:
        helm_storage.write_chart(revision, tmp_path)
    assert refused.value.status == 422


# -- the place


class Cluster(kube.Kube):
    """A Deployment with a fence, and a release whose Helm is a fake."""

    def __init__(self, *history: tuple[str, dict[str, Any]], fence: int = 5) -> None:
        self.kubeconfig, self.context = pathlib.Path("kubeconfig"), None
        self.history = [secret(number, *one) for number, one in enumerate(history, 1)]
        self.target: dict[str, Any] = copy.deepcopy(TARGET)
        self.target["metadata"] |= {"uid": "u", "resourceVersion": "1"}
        self.target["metadata"]["annotations"][f"space-smoke.dev/fence.{DOMAIN}"] = str(fence)
        self.did: list[str] = []
        self.begins_only = False  # the next Helm command dies in the middle

    def send(self, method: str, path: str, **_: Any) -> tuple[int, dict[str, Any]]:
        if "/validatingadmissionpolicybindings/" in path:
            return 404, {}
        if "/secrets" in path:
            return 200, {"items": self.history}
        assert method == "GET", "a fence is there already"
        return 200, copy.deepcopy(self.target)

    def add(self, act: str, config: Mapping[str, Any], status: str) -> None:
        self.did.append(act)
        if self.begins_only:
            self.history.append(secret(len(self.history) + 1, f"pending-{status}", dict(config)))
            raise errors.CommandFailed("helm was killed", argv=["helm"], returncode=-9, output="")
        self.history.append(secret(len(self.history) + 1, "deployed", dict(config)))


@pytest.fixture(autouse=True)
def clusters(monkeypatch: pytest.MonkeyPatch) -> list[Cluster]:
    """Helm acts on the last cluster in this list."""
    made: list[Cluster] = []

    def upgrade(
        _helm: Any, _release: str, _chart: pathlib.Path, file: pathlib.Path, _common: Sequence[str], *, timeout_s: float
    ) -> None:
        assert timeout_s <= 10
        made[-1].add("upgrade", yaml.safe_load(file.read_text()), "upgrade")

    def rollback(_helm: Any, _release: str, revision: int, _common: Sequence[str], *, timeout_s: float) -> None:
        config = helm_storage.decode(made[-1].history[revision - 1]).config
        made[-1].add(f"rollback {revision}", config, "rollback")

    def template(*_: Any) -> str:
        return helm_storage.decode(secret(1, "", yaml.safe_load(_[4][0].read_text()))).manifest

    monkeypatch.setattr(helm, "upgrade", upgrade)
    monkeypatch.setattr(helm, "rollback", rollback)
    monkeypatch.setattr(helm, "template", template)
    monkeypatch.setattr(
        workload, "recovered", lambda cluster, _ref: wait.State(True, "rolled out", thing=live(cluster))
    )
    return made


def live(cluster: Cluster) -> dict[str, Any]:
    return {**cluster.target, "spec": dict(helm_storage.decode(cluster.history[-1]).rendered(API)["spec"])}


def begin(clusters: list[Cluster], *history: tuple[str, dict[str, Any]]) -> tuple[Cluster, helm_values.HelmValues, Any]:
    clusters.append(Cluster(*history))
    there = helm_values.HelmValues(clusters[-1], lambda: pathlib.Path("helm"))
    field, value = helm_values.HelmValues(Cluster(("deployed", {})), lambda: pathlib.Path("helm")).sense(
        API, address({"limit.burst": 9})
    )
    assert value == NONE == field["standing"]
    return clusters[-1], there, field


FAULT, STANDING = {"limit": {"burst": 9}}, dict[str, Any]()


def test_raising_and_putting_back_are_two_upgrades(clusters: list[Cluster]) -> None:
    cluster, there, field = begin(clusters, ("deployed", STANDING))
    assert there.claim(API, field, DOMAIN, 5, 10) == NONE
    assert there.alter(API, field, DOMAIN, 5, NONE, ONE, 10) == ONE
    assert there.settled(API, field, ONE).done
    assert there.alter(API, field, DOMAIN, 5, ONE, NONE, 10) == NONE
    assert there.settled(API, field, NONE).done
    assert cluster.did == ["upgrade", "upgrade"]


@pytest.mark.parametrize("fence", [4, 6])
def test_helm_is_not_started_under_another_fence(clusters: list[Cluster], fence: int) -> None:
    cluster, there, field = begin(clusters, ("deployed", STANDING))
    with pytest.raises(place.Refusal) as refused:
        there.alter(API, field, DOMAIN, fence, NONE, ONE, 10)
    assert (refused.value.status, refused.value.message) == (409, "5")
    assert not cluster.did


def test_a_claim_under_a_higher_fence_is_refused_with_its_number(clusters: list[Cluster]) -> None:
    _, there, field = begin(clusters, ("deployed", STANDING))
    with pytest.raises(place.Refusal) as refused:
        there.claim(API, field, DOMAIN, 4, 10)
    assert (refused.value.status, refused.value.message) == (409, "5")


def test_values_that_somebody_else_set_are_not_overwritten(clusters: list[Cluster]) -> None:
    cluster, there, field = begin(clusters, ("superseded", STANDING), ("deployed", {"limit": {"burst": 7}}))
    assert there.claim(API, field, DOMAIN, 5, 10) == {"values": {"limit.burst": {"value": 7}}}
    with pytest.raises(place.Refusal) as refused:
        there.alter(API, field, DOMAIN, 5, ONE, NONE, 10)
    assert refused.value.status == 412
    assert not cluster.did


def test_putting_back_leaves_the_values_of_others(clusters: list[Cluster]) -> None:
    cluster, there, field = begin(clusters, ("superseded", STANDING), ("deployed", {**FAULT, "more": 1}))
    there.alter(API, field, DOMAIN, 5, ONE, NONE, 10)
    assert helm_storage.decode(cluster.history[-1]).config == {"more": 1}


@pytest.mark.parametrize("status", ["pending-upgrade", "pending-rollback", "failed"])
@pytest.mark.parametrize("config", [FAULT, STANDING], ids=["raising", "putting back"])
def test_what_was_begun_and_not_finished_counts_as_the_fault(
    clusters: list[Cluster], status: str, config: dict[str, Any]
) -> None:
    _, there, field = begin(clusters, ("superseded", STANDING), ("deployed", FAULT), (status, config))
    assert there.claim(API, field, DOMAIN, 5, 10) == ONE
    assert there.sense(API, field) == (field, ONE)
    assert not there.settled(API, field, ONE).done
    assert not there.settled(API, field, NONE).done


def test_a_fault_that_was_begun_is_rolled_back(clusters: list[Cluster]) -> None:
    cluster, there, field = begin(clusters, ("deployed", STANDING), ("pending-upgrade", FAULT))
    assert there.alter(API, field, DOMAIN, 5, ONE, NONE, 10) == NONE
    assert cluster.did == ["rollback 1"]


@pytest.mark.parametrize("status", ["pending-upgrade", "pending-rollback", "failed"])
def test_a_putting_back_that_was_begun_is_first_rolled_to_the_fault(clusters: list[Cluster], status: str) -> None:
    history = [("superseded", STANDING), ("deployed", FAULT), (status, STANDING)]
    cluster, there, field = begin(clusters, *history)
    assert there.alter(API, field, DOMAIN, 5, ONE, NONE, 10) == NONE
    assert cluster.did == ["rollback 2", "upgrade"]


def test_putting_back_converges_however_often_it_is_killed(clusters: list[Cluster]) -> None:
    cluster, there, field = begin(clusters, ("deployed", STANDING), ("pending-upgrade", FAULT))
    for _ in range(4):
        cluster.begins_only = True
        with pytest.raises(errors.CommandFailed):
            there.alter(API, field, DOMAIN, 5, there.claim(API, field, DOMAIN, 5, 10), NONE, 10)
    cluster.begins_only = False
    assert there.alter(API, field, DOMAIN, 5, there.claim(API, field, DOMAIN, 5, 10), NONE, 10) == NONE
    assert there.settled(API, field, NONE).done


def test_a_release_that_is_not_whole_takes_no_fault() -> None:
    cluster = Cluster(("deployed", STANDING), ("failed", STANDING))
    with pytest.raises(place.Refusal, match="failed, not deployed") as refused:
        helm_values.HelmValues(cluster, lambda: pathlib.Path("helm")).sense(API, address({"limit.burst": 9}))
    assert refused.value.status == 422


def test_values_that_change_nothing_of_the_target_are_refused() -> None:
    with pytest.raises(place.Refusal, match=re.escape("change nothing of deployment/api")):
        helm_values.HelmValues(Cluster(("deployed", STANDING)), lambda: pathlib.Path("helm")).sense(
            API, address({"unused": 9})
        )


def test_an_upgrade_that_did_not_reach_the_live_object_is_not_in_effect(
    clusters: list[Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, there, field = begin(clusters, ("superseded", STANDING), ("deployed", FAULT))
    monkeypatch.setattr(
        workload, "recovered", lambda cluster, _: wait.State(True, "", thing={**TARGET, "spec": {"burst": 1}})
    )
    state = there.settled(API, field, ONE)
    assert not state.done
    assert "does not show burst" in state.words


# -- under which name Helm writes


def test_the_childs_user_is_ours_with_the_fence(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "config"
    source.write_text(
        yaml.safe_dump(
            {
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": {"server": "https://x", "certificate-authority": "ca.crt"}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
            }
        )
    )

    class Named(kube.Kube):
        def __init__(self) -> None:
            self.kubeconfig, self.context = source, "c"

        def send(self, method: str, path: str, **_: Any) -> tuple[int, dict[str, Any]]:
            info = {"username": "me", "groups": ["g"], "extra": {"x": ["y"]}}
            return 201, {"status": {"userInfo": info}}

    made = yaml.safe_load(helm_identity.write(Named(), DOMAIN, 7, tmp_path / "made").read_text())
    assert (tmp_path / "made").stat().st_mode & 0o077 == 0
    (user,) = made["users"]
    assert (user["user"]["as"], user["user"]["as-groups"]) == ("me", ["g"])
    assert user["user"]["as-user-extra"] == {"x": ["y"], f"space-smoke.dev/fence.{DOMAIN}": ["7"]}
    assert made["current-context"] == "c"
    assert made["clusters"][0]["cluster"]["certificate-authority"] == str(tmp_path / "ca.crt")
