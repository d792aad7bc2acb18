"""delete-pod's place against a small API server: the fence on the pod, the preconditions, and what counts as done."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.bench.outside import place, pod_deletion
from space_smoke.faults import delete_pod
from space_smoke.model import kinds, objects
from space_smoke.tests.sim import patching

API = objects.Ref("apps/v1", "Deployment", "space", "api")
DOMAIN = "public-api-mutation"
THERE, GONE = {"done": False}, {"done": True}
Answer = tuple[int, dict[str, Any]]


class Server(kube.Kube):
    """Pods of one Deployment. Deletions with a wrong precondition are answered 409, as by the API server."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}
        self.sent: list[tuple[str, Any]] = []
        self.meanwhile: Callable[[], None] = lambda: None  # before each write
        self.deletion: Answer | None = None

    def send(
        self, method: str, path: str, *, body: Any = None, content: str = "application/json", timeout_s: float = 10.0
    ) -> Answer:
        name = path.partition("?")[0].rpartition("/")[2]
        if path.endswith("/deployments/api"):
            return 200, {
                "metadata": {"namespace": "space", "name": "api"},
                "spec": {"selector": {"matchLabels": {"a": "b"}}},
            }
        if name == "pods" or "/pods?" in path:
            return 200, {"items": list(self.pods.values())}
        if "replicasets" in path:
            return 200, {"items": []}
        if method != "GET":
            self.sent.append((method, body))
            self.meanwhile()
        pod = self.pods.get(name)
        if pod is None:
            return 404, {"message": "not found"}
        if method == "PATCH":
            try:
                self.pods[name] = pod = touched(patching.apply(pod, body))
            except patching.Failed as failed:
                return 422, {"message": str(failed)}
        if method == "DELETE":
            meta = pod["metadata"]
            if self.deletion is not None:
                return self.deletion
            if body["preconditions"] != {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}:
                return 409, {"message": "the precondition failed"}
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return 200, json.loads(json.dumps(pod))


def pod(name: str, created: str, **meta: Any) -> dict[str, Any]:
    stamp = f"2026-01-01T00:00:{created}Z"
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "creationTimestamp": stamp, **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}}


def touched(thing: Any) -> dict[str, Any]:
    meta = thing["metadata"]
    return {**thing, "metadata": {**meta, "resourceVersion": str(int(meta["resourceVersion"]) + 1)}}


@pytest.fixture
def server() -> Server:
    return Server(pod("new", "30"), pod("old", "10"), pod("leaving", "05", deletionTimestamp="now"))


FIELD = {"which": "oldest", "pod": "old", "uid": "uid-old"}


def alter(there: pod_deletion.PodDeletion, fence: int, field: Any = FIELD) -> Any:
    return there.alter(API, field, DOMAIN, fence, THERE, GONE, 10)


@pytest.mark.parametrize(("which", "name"), [("oldest", "old"), ("newest", "new")])
def test_the_pod_is_chosen_by_age_among_those_that_stay(server: Server, which: str, name: str) -> None:
    field, value = pod_deletion.PodDeletion(server).sense(API, {"which": which})
    assert (field["pod"], field["uid"], value) == (name, f"uid-{name}", THERE)
    assert not server.sent


def test_a_pod_that_was_chosen_once_stays_the_one(server: Server) -> None:
    del server.pods["old"]
    assert pod_deletion.PodDeletion(server).sense(API, FIELD) == (FIELD, GONE)


def test_a_workload_without_pods_cannot_lose_one() -> None:
    with pytest.raises(place.Refusal) as refused:
        pod_deletion.PodDeletion(Server()).sense(API, {"which": "oldest"})
    assert refused.value.status == 422


def test_claims_only_ever_raise_the_fence(server: Server) -> None:
    there = pod_deletion.PodDeletion(server)
    assert there.claim(API, FIELD, DOMAIN, 4, 10) == THERE
    assert there.claim(API, FIELD, DOMAIN, 4, 10) == THERE
    assert len(server.sent) == 1
    with pytest.raises(place.Refusal) as refused:
        there.claim(API, FIELD, DOMAIN, 3, 10)
    assert (refused.value.status, refused.value.message) == (409, "4")


def test_a_first_claim_that_was_overtaken_looks_again(server: Server) -> None:
    there = pod_deletion.PodDeletion(server)

    def successor() -> None:
        server.meanwhile = lambda: None
        there.claim(API, FIELD, DOMAIN, 9, 10)

    server.meanwhile = successor
    with pytest.raises(place.Refusal) as refused:
        there.claim(API, FIELD, DOMAIN, 4, 10)
    assert (refused.value.status, refused.value.message) == (409, "9")


@pytest.mark.parametrize("fence", [4, 6])
def test_a_deletion_needs_exactly_the_fence_on_the_pod(server: Server, fence: int) -> None:
    there = pod_deletion.PodDeletion(server)
    there.claim(API, FIELD, DOMAIN, 5, 10)
    with pytest.raises(place.Refusal) as refused:
        alter(there, fence)
    assert (refused.value.status, refused.value.message) == (409, "5")
    assert alter(there, 5) == GONE


def test_a_pod_without_any_fence_is_not_deleted(server: Server) -> None:
    with pytest.raises(place.Refusal) as refused:
        alter(pod_deletion.PodDeletion(server), 5)
    assert (refused.value.status, refused.value.message) == (409, "")


def test_a_claim_between_the_look_and_the_deletion_is_noticed(server: Server) -> None:
    there = pod_deletion.PodDeletion(server)
    there.claim(API, FIELD, DOMAIN, 5, 10)

    def successor() -> None:
        server.meanwhile = lambda: None
        there.claim(API, FIELD, DOMAIN, 6, 10)

    server.meanwhile = successor
    with pytest.raises(place.Refusal) as refused:
        alter(there, 5)
    assert refused.value.message == "6"
    assert "deletionTimestamp" not in server.pods["old"]["metadata"]


def test_a_report_of_the_kubelet_between_the_look_and_the_deletion_is_no_obstacle(server: Server) -> None:
    there = pod_deletion.PodDeletion(server)
    there.claim(API, FIELD, DOMAIN, 5, 10)

    def kubelet() -> None:
        server.meanwhile = lambda: None
        server.pods["old"] = touched(server.pods["old"])

    server.meanwhile = kubelet
    assert alter(there, 5) == GONE


def test_a_deletion_without_an_answer_is_no_refusal(server: Server) -> None:
    there = pod_deletion.PodDeletion(server)
    there.claim(API, FIELD, DOMAIN, 5, 10)
    server.deletion = (500, {"message": "etcd is away"})
    with pytest.raises(errors.ApiError):
        alter(there, 5)


def test_the_grace_that_was_asked_for_is_sent(server: Server) -> None:
    there = pod_deletion.PodDeletion(server)
    field = {**FIELD, **delete_pod.address({"grace_s": 3.0}, {})}
    there.claim(API, field, DOMAIN, 5, 10)
    alter(there, 5, field)
    assert server.sent[-1][1]["gracePeriodSeconds"] == 3


def test_a_pod_on_its_way_out_cannot_be_saved_and_counts_as_done(server: Server) -> None:
    there = pod_deletion.PodDeletion(server)
    field = {"which": "oldest", "pod": "leaving", "uid": "uid-leaving"}
    assert there.claim(API, field, DOMAIN, 5, 10) == GONE
    with pytest.raises(place.Refusal) as refused:
        alter(there, 5, field)
    assert refused.value.status == 412
    assert not there.settled(API, field, GONE).done


def test_the_fault_is_up_when_no_object_with_that_uid_is_left(server: Server) -> None:
    there = pod_deletion.PodDeletion(server)
    assert not there.settled(API, FIELD, GONE).done
    server.pods["old"] = pod("old", "50", uid="uid-of-its-successor")
    state = there.settled(API, FIELD, GONE)
    assert state.done
    assert state.thing is not None
    assert state.thing[kinds.OUTSIDE] == GONE
