"""delete-pod and helm-values through the real protocol on a real bench, each effect seen by a look of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from space_smoke.bench import kube, life, tools, wait
from space_smoke.bench.outside import helm_storage, place, pod_deletion
from space_smoke.engine import preflight, tenure
from space_smoke.model import objects, scenario
from space_smoke.tests.kind import conftest, killing

DOMAIN = "public-api-mutation"
POSTGRES = objects.Ref("apps/v1", "StatefulSet", "space", "postgres")
VALUES = {"values": {"drainSeconds": 3, "limiters.activation.burst": 33}}
API_POD = scenario.Fault("pod", "delete-pod", scenario.Target("deployment", "space-api"), {}, ())
STORE_POD = scenario.Fault("store", "delete-pod", scenario.Target("statefulset", "postgres"), {"grace_s": 5.0}, ())
UPGRADE = scenario.Fault("upgrade", "helm-values", scenario.Target("deployment", "space-api"), VALUES, ())


@pytest.fixture
def leases(cluster: kube.Kube) -> Iterator[tenure.Tenure]:
    """A run's hold on the domain; whatever it has up at the end is put back."""
    opened = tenure.Tenure(cluster, "space", f"kind-test-{life.boottime()}", None, lambda *_a, **_k: None)
    preflight.preflight(opened, lambda *_a, **_k: None, free=True)
    opened.take([DOMAIN])
    yield opened
    assert not opened.give_back()


@pytest.fixture(autouse=True)
def _the_release_stands_as_it_did(cluster: kube.Kube) -> Iterator[None]:
    before = last(cluster)
    yield
    after = last(cluster)
    assert after.deployed
    assert after.config == before.config
    assert after.rendered(conftest.API) == before.rendered(conftest.API)


def last(cluster: kube.Kube) -> helm_storage.Revision:
    return helm_storage.revisions(cluster, "space", "space-api")[-1]


def pods(cluster: kube.Kube, release: str) -> dict[str, str]:
    found = cluster.listed("v1", "Pod", "space", f"app.kubernetes.io/instance={release}")
    return {str(pod["metadata"]["uid"]): str(pod["metadata"]["name"]) for pod in found}


def helm_of() -> Path:
    return tools.obtain("helm", lambda *_a, **_k: None)


# -- delete-pod


def test_the_oldest_pod_of_a_deployment_is_deleted_and_its_successor_waited_for(
    cluster: kube.Kube, leases: tenure.Tenure
) -> None:
    before = pods(cluster, "space-api")
    record = leases.raise_fault(API_POD)
    assert record.field["uid"] in before
    assert record.field["uid"] not in pods(cluster, "space-api")
    leases.lower_fault(API_POD)
    after = pods(cluster, "space-api")
    assert len(before.keys() & after.keys()) == len(before) - 1 == len(after) - 1
    assert wait.workload_state(cluster, conftest.API).done


def test_a_stateful_pod_is_known_from_its_successor_of_the_same_name(cluster: kube.Kube, leases: tenure.Tenure) -> None:
    ((old, name),) = pods(cluster, "postgres").items()
    record = leases.raise_fault(STORE_POD)
    assert (record.field["pod"], record.field["uid"]) == (name, old)
    leases.lower_fault(STORE_POD)
    ((new, same_name),) = pods(cluster, "postgres").items()
    assert (new != old, same_name) == (True, name)
    assert cluster.read(POSTGRES)["status"]["readyReplicas"] == 1


def test_a_stale_deletion_is_refused_by_the_api_server_once_a_successor_has_claimed_the_pod(cluster: kube.Kube) -> None:
    there = pod_deletion.PodDeletion(cluster)
    field, value = there.sense(conftest.API, {"which": "newest"})
    assert there.claim(conftest.API, field, "kind-test", 5, 10) == value
    stale = cluster.read(objects.Ref("v1", "Pod", "space", field["pod"]))
    assert there.claim(conftest.API, field, "kind-test", 6, 10) == value
    with pytest.raises(place.Refusal) as refused:
        there.claim(conftest.API, field, "kind-test", 5, 10)
    assert (refused.value.status, refused.value.message) == (409, "6")
    with pytest.raises(place.Refusal) as refused:
        there.alter(conftest.API, field, "kind-test", 5, value, {"done": True}, 10)
    assert (refused.value.status, refused.value.message) == (409, "6")
    # The very request that was on its way when the successor claimed: the preconditions are compared by the API server.
    body = pod_deletion.options(stale, field)
    status, answer = cluster.send("DELETE", f"/api/v1/namespaces/space/pods/{field['pod']}", body=body)
    assert status == 409, answer
    assert field["uid"] in pods(cluster, "space-api")


def test_a_run_killed_with_its_pod_deleted_is_repaired_by_the_next(cluster: kube.Kube) -> None:
    wait.rollout(cluster, conftest.API, timeout_s=90)  # the pod that the test before deleted may still be ending
    before = pods(cluster, "space-api")
    killing.killed(cluster, API_POD, "act:after")
    leases = tenure.Tenure(cluster, "space", "kind-test-next", None, lambda *_a, **_k: None)
    assert preflight.preflight(leases, lambda *_a, **_k: None) == 1
    after = pods(cluster, "space-api")
    assert len(before.keys() & after.keys()) == len(before) - 1 == len(after) - 1


# -- helm-values


def test_an_upgrade_shows_on_the_workload_and_putting_back_leaves_what_stood(
    cluster: kube.Kube, leases: tenure.Tenure
) -> None:
    before, revision = conftest.env_of(cluster), last(cluster)
    leases.raise_fault(UPGRADE)
    assert last(cluster).number == revision.number + 1
    assert last(cluster).config["drainSeconds"] == 3
    changed = {entry["name"]: entry["value"] for entry in conftest.env_of(cluster) if entry not in before}
    assert changed == {"SPACE_DRAIN_S": "3", "SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST": "33"}
    leases.lower_fault(UPGRADE)
    assert conftest.env_of(cluster) == before
    assert last(cluster).config == revision.config
    assert last(cluster).number == revision.number + 2


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"replicas": "many"}, "does not take these values"),
        ({"profile.more": 1}, "not a map"),
        ({"nothing": {"uses": "this"}}, "does not take these values"),
        ({"migrate": {"backoffLimit": 3}}, "change nothing of deployment/space-api"),
    ],
)
def test_values_that_cannot_do_anything_are_refused_before_anything_is_recorded(
    cluster: kube.Kube, leases: tenure.Tenure, values: dict[str, Any], why: str
) -> None:
    fault = scenario.Fault("bad", "helm-values", UPGRADE.target, {"values": values}, ())
    before = last(cluster)
    with pytest.raises(Exception, match=why):
        leases.raise_fault(fault)
    assert last(cluster).number == before.number


# Where a run dies: before Helm, in the middle of it (pending-upgrade), after it; while raising and while putting back.
@pytest.mark.parametrize("point", ["act:before", "act:after", "restore:after"])
def test_a_run_killed_around_helm_is_repaired_by_the_next(cluster: kube.Kube, point: str) -> None:
    before = conftest.env_of(cluster)
    killing.killed(cluster, UPGRADE, point)
    repaired(cluster)
    assert conftest.env_of(cluster) == before


@pytest.mark.parametrize("stage", ["begun", "written"])
@pytest.mark.parametrize("number", [1, 2], ids=["raising", "putting-back"])
def test_a_run_killed_inside_helm_leaves_a_pending_release_that_the_next_one_frees(
    cluster: kube.Kube, tmp_path: Path, number: int, stage: str
) -> None:
    before = conftest.env_of(cluster)
    slow = killing.slow_helm(tmp_path, helm_of(), stage, number)
    child = killing.start(cluster, UPGRADE, slow)
    shows_fault = (number == 1) == (stage == "written")

    def inside() -> bool:
        counted = (tmp_path / "upgrades").exists() and len((tmp_path / "upgrades").read_text()) == number
        return (
            counted
            and last(cluster).status == "pending-upgrade"
            and (conftest.env_of(cluster) != before) is shows_fault
        )

    killing.killed_when(child, inside)
    assert last(cluster).status == "pending-upgrade"
    repaired(cluster)
    assert last(cluster).status == "deployed", "the killed run's Helm went on"
    assert conftest.env_of(cluster) == before


def repaired(cluster: kube.Kube) -> None:
    leases = tenure.Tenure(cluster, "space", "kind-test-next", None, lambda *_a, **_k: None)
    assert preflight.preflight(leases, lambda *_a, **_k: None) == 1
    assert last(cluster).deployed
