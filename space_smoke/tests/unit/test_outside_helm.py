"""helm-values' place: what counts as the value, and how what a dead run began is ended."""

from __future__ import annotations

import copy
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.bench import helm, kube, wait
from space_smoke.bench.outside import helm_identity, helm_storage, helm_values, place
from space_smoke.tests.unit.test_fault_helm_values import API, NONE, ONE, TARGET, address, secret

DOMAIN = "public-api-mutation"


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
        wait, "workload_state", lambda cluster, _ref: wait.State(True, "rolled out", thing=live(cluster))
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
        wait, "workload_state", lambda cluster, _: wait.State(True, "", thing={**TARGET, "spec": {"burst": 1}})
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
