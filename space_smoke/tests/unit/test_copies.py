"""Copies of records on ReplicaSets: what is taken off, what stays, and what stands in the way."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import copies, kube
from space_smoke.model import record
from space_smoke.tests.sim import patching

OLD, NEW, FENCE = f"{record.PREFIX}old", f"{record.PREFIX}new", "space-smoke.dev/fence.public-api-mutation"
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"namespace": "space", "name": "api", "uid": "u-api", "annotations": {NEW: "{}"}},
    "spec": {"selector": {"matchLabels": {"app": "api"}}},
}


def replica_set(name: str, owner: str = "u-api", **annotations: str) -> dict[str, Any]:
    meta = {"namespace": "space", "name": name, "uid": f"u-{name}", "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {**meta, "ownerReferences": [{"uid": owner}]}}


class Server(kube.Kube):
    """A Deployment and ReplicaSets. `refuses` answers that many patches with 409."""

    def __init__(self, *sets: dict[str, Any], refuses: int = 0) -> None:
        self.sets = {one["metadata"]["name"]: one for one in sets}
        self.refuses = refuses
        self.patched: list[str] = []

    def send(self, method: str, path: str, *, body: Any = None, **_options: Any) -> tuple[int, dict[str, Any]]:
        if method == "GET":
            return 200, {"items": list(self.sets.values())} if "replicasets" in path else DEPLOYMENT
        name = path.partition("?")[0].rpartition("/")[2]
        assert path.endswith("?fieldManager=space-smoke-forget")
        if self.refuses:
            self.refuses -= 1
            return 409, {"message": "busy"}
        self.patched.append(name)
        self.sets[name] = dict(patching.apply(self.sets[name], body))
        return 200, self.sets[name]


def notes(server: Server, name: str) -> set[str]:
    return set(server.sets[name]["metadata"]["annotations"])


def test_copies_of_records_that_the_deployment_has_no_more_are_taken_off_and_nothing_else() -> None:
    server = Server(replica_set("a", **{OLD: "{}", NEW: "{}", FENCE: "7"}), replica_set("b", **{FENCE: "7"}))
    assert copies.forget(server, DEPLOYMENT) == ["a"]
    assert notes(server, "a") == {NEW, FENCE}
    assert copies.forget(server, DEPLOYMENT) == []
    assert server.patched == ["a"]


def test_the_replica_sets_of_others_are_left_alone() -> None:
    server = Server(replica_set("a", owner="u-other", **{OLD: "{}"}))
    assert copies.forget(server, DEPLOYMENT) == []
    assert server.patched == []


def test_a_write_that_is_refused_is_tried_on_what_is_there_then() -> None:
    server = Server(replica_set("a", **{OLD: "{}"}), refuses=2)
    assert copies.forget(server, DEPLOYMENT) == ["a"]


def test_what_cannot_be_taken_off_is_told() -> None:
    with pytest.raises(errors.ApiError, match="409 busy"):
        copies.forget(Server(replica_set("a", **{OLD: "{}"}), refuses=99), DEPLOYMENT)
