"""The loads crd-read-back, object-dry-run and account-reads, and the check crd-current."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from space_smoke import errors
from space_smoke.bench import cache, kube
from space_smoke.loads import account_reads, crd_read_back, object_dry_run
from space_smoke.model import history, objects, verdict
from space_smoke.tests.unit import api_double, histories

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN
VERSION = "grid.praxis-proxy.io/v1alpha1"
SCHEMA = {
    "type": "object",
    "properties": {"size": {"type": "integer"}, "list": {"type": "array", "items": {"properties": {"a": {}, "b": {}}}}},
}
DEFINITION = {
    "metadata": {"name": "things.example"},
    "spec": {
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [{"name": "v1", "storage": True, "schema": {"openAPIV3Schema": {"properties": {"spec": SCHEMA}}}}],
    },
}
WHOLE = {
    "apiVersion": VERSION,
    "kind": "Thing",
    "metadata": {"name": "smoke-thing"},
    "spec": {"size": 1, "list": [{"a": 1}, {"b": 2}]},
}


class Cluster:
    """An API server that knows one definition, and drops what `drops` takes out of an object's spec."""

    def __init__(self, drops: tuple[str, ...] = (), refuses: str = "") -> None:
        self.definition: dict[str, Any] | None = copy.deepcopy(DEFINITION)
        self.drops, self.refuses, self.there = drops, refuses, dict[str, Any]()
        self.did: list[str] = []

    def read(self, ref: objects.Ref) -> dict[str, Any]:
        if ref.kind == "CustomResourceDefinition":
            if self.definition is None:
                raise errors.ApiError("not found", status=404)
            self.definition["spec"]["conversion"] = {"strategy": "None"}  # as an API server fills in
            return self.definition
        return dict(self.there[ref.name])

    def create(self, body: dict[str, Any], **query: str) -> None:
        assert query == {"fieldValidation": "Ignore"}, "a strict server refuses what a stale definition does not know"
        self.did.append("create")
        if self.refuses:
            raise errors.ApiError(self.refuses, status=422)
        spec = {key: value for key, value in body["spec"].items() if key not in self.drops}
        self.there[body["metadata"]["name"]] = {**body, "spec": spec}

    def delete(self, ref: objects.Ref) -> None:
        self.did.append("delete")
        self.there.pop(ref.name, None)


def driven(cluster: Cluster, tmp_path: Path, *things: dict[str, Any]) -> list[history.Event]:
    folder = tmp_path / "one" / "crds"
    folder.mkdir(parents=True)
    (folder / "things.yaml").write_text(yaml.safe_dump(DEFINITION))
    run = api_double.Run(cluster=cluster)
    crd_read_back.drive(run.load("crd-read-back", chart="one", objects=list(things or (WHOLE,))), tmp_path)
    return run.events


def judged(events: list[history.Event]) -> verdict.Verdict:
    story = histories.Story()
    story.load("load", [histories.request("healthz")], kind="crd-read-back")
    for event in history.of_kind(events, "read-back"):
        story.add("read-back", **event.data)
    return histories.judged("crd-current", story, load="load")


def test_a_current_definition_and_an_object_that_comes_back_whole_pass_and_nothing_is_left(tmp_path: Path) -> None:
    cluster = Cluster()
    found = judged(driven(cluster, tmp_path))
    assert found.judged == PASS, found.sentence
    assert (cluster.there, cluster.did) == ({}, ["delete", "create", "delete"])


def test_a_field_that_the_cluster_does_not_know_is_named(tmp_path: Path) -> None:
    cluster = Cluster()
    assert cluster.definition is not None
    del cluster.definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
        "size"
    ]
    found = judged(driven(cluster, tmp_path))
    assert found.judged == FAIL
    assert (
        "things.example with spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size" in found.sentence
    )
    assert found.sentence.endswith("saw (nothing)")


def test_a_schema_with_more_than_the_charts_and_no_definition_at_all_fail(tmp_path: Path) -> None:
    more, none = Cluster(), Cluster()
    assert more.definition is not None
    more.definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = {}
    none.definition = None
    assert "properties.status (nothing)" in judged(driven(more, tmp_path / "a")).sentence
    assert "saw not there" in judged(driven(none, tmp_path / "b")).sentence


def test_a_pruned_field_is_named(tmp_path: Path) -> None:
    found = judged(driven(Cluster(drops=("list",)), tmp_path))
    assert found.judged == FAIL
    assert found.sentence == "expected Thing smoke-thing to come back as it was sent; saw another spec.list"


def test_a_refused_object_fails_and_is_deleted_all_the_same(tmp_path: Path) -> None:
    cluster = Cluster(refuses="spec.size: must be 2")
    found = judged(driven(cluster, tmp_path))
    assert (found.judged, "spec.size: must be 2" in found.sentence, cluster.did[-1]) == (FAIL, True, "delete")


def test_an_object_that_leaves_a_field_out_is_unknown(tmp_path: Path) -> None:
    less = {**WHOLE, "spec": {"size": 1, "list": [{"a": 1}]}}
    found = judged(driven(Cluster(), tmp_path, less))
    assert (found.judged, "Thing smoke-thing does not use spec.list[].b" in found.sentence) == (UNKNOWN, True)


def test_what_was_not_read_is_unknown() -> None:
    assert judged([]).judged == UNKNOWN


def test_the_objects_of_the_shipped_scenario_use_every_field_of_the_charts_definitions() -> None:
    document = yaml.safe_load((cache.PROJECT / "scenarios" / "grid" / "crd_is_current.yaml").read_text())
    (load,) = [one for phase in document["phases"] for one in phase["loads"] if one["kind"] == "crd-read-back"]
    folder = cache.PROJECT / "charts" / load["chart"] / "crds"
    definitions = [yaml.safe_load(path.read_text()) for path in folder.glob("*.yaml")]
    schemas = {one["spec"]["names"]["kind"]: crd_read_back.schema_of(one) for one in definitions}
    assert {thing["kind"] for thing in load["objects"]} == set(schemas)
    for thing in load["objects"]:
        assert list(crd_read_back.unused(schemas[thing["kind"]], thing["spec"], "spec")) == []


class Judge:
    """An API server that takes any object but those of size 0; `sent` are the bodies."""

    def __init__(self, status: int = 422) -> None:
        self.sent: list[tuple[str, str, dict[str, str]]] = []
        self.status = status

    def send(self, _method: str, path: str) -> tuple[int, dict[str, Any]]:
        assert path == f"/apis/{VERSION}"
        return 200, {"resources": [{"name": "things", "kind": "Thing", "namespaced": False, "verbs": ["create"]}]}

    def open(self, method: str, path: str, *, body: bytes, headers: dict[str, str]) -> Any:
        assert method == "POST"
        self.sent.append((path, body.decode(), headers))
        size = yaml.safe_load(body)["spec"]["size"]
        return Answer(self.status if size == 0 else 201)


class Answer:
    def __init__(self, status: int) -> None:
        self.status = status

    def read(self) -> bytes:
        return json.dumps({"message": "size must be positive"} if self.status >= 300 else {}).encode()

    def release_conn(self) -> None:
        """There is no connection."""


def tried(judge: Judge) -> list[dict[str, Any]]:
    run = api_double.Run(cluster=judge)
    attempts = [
        {"name": "some", "spec": {"size": 1}},
        {"name": "none", "spec": {"size": 0}},
        {"name": "odd", "text": "{size: .nan}"},
    ]
    object_dry_run.drive(run.load("object-dry-run", apiVersion=VERSION, resource="Thing", attempts=attempts))
    return [dict(event.data) for event in history.of_kind(run.events, "attempt")]


def test_each_object_is_tried_without_being_made_and_its_refusal_is_kept() -> None:
    judge = Judge()
    some, none, odd = tried(judge)
    assert (some["attempt"], some["accepted"], some["code"]) == ("some", True, "")
    assert (none["accepted"], none["code"], none["said"]) == (False, "422", "size must be positive")
    assert odd["accepted"]
    assert {path for path, _, _ in judge.sent} == {f"/apis/{VERSION}/things?dryRun=All&fieldValidation=Strict"}
    assert judge.sent[2][1].endswith("spec: {size: .nan}\n"), "text is sent as it stands"
    assert judge.sent[0][2]["Content-Type"] == "application/yaml"


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_an_api_server_that_did_not_judge_is_no_refusal(status: int) -> None:
    with pytest.raises(errors.ApiError, match="size must be positive"):
        tried(Judge(status))


class Guarded:
    """An API server that lets only the harness read; `asked` are the paths, and as whom."""

    def __init__(self, status: int = 403, user: str = "") -> None:
        self.status, self.user = status, user
        self.asked: list[tuple[str, str, str]] = []

    def as_account(self, namespace: str, name: str) -> Guarded:
        other = Guarded(self.status, f"{namespace}:{name}")
        other.asked = self.asked
        return other

    def send(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        self.asked.append((method, path, self.user))
        return (self.status, {"message": "may not"}) if self.user else (200, {"message": "the answer was not JSON"})


def read(guarded: Guarded) -> list[dict[str, Any]]:
    run = api_double.Run(cluster=guarded)
    attempts = [{"name": "get", "path": "/a"}, {"name": "there", "path": "/a", "as": "harness"}]
    account_reads.drive(run.load("account-reads", account="space/default", attempts=attempts))
    return [dict(event.data) for event in history.of_kind(run.events, "attempt")]


def test_reads_are_judged_as_the_accounts_and_as_the_harnesss_where_that_is_said() -> None:
    guarded = Guarded()
    refused, given = read(guarded)
    assert [refused[key] for key in ("attempt", "accepted", "code", "said")] == ["get", False, "403", "may not"]
    assert [given[key] for key in ("attempt", "accepted", "code", "said")] == ["there", True, "", ""]
    assert guarded.asked == [("GET", "/a", "space:default"), ("GET", "/a", "")]


def test_an_answer_that_says_nothing_of_rights_is_no_refusal() -> None:
    with pytest.raises(errors.ApiError, match="GET /a was answered 503: may not"):
        read(Guarded(503))


def test_an_account_is_told_to_the_api_server_with_each_request_and_no_other_cluster_is_changed(tmp_path: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "me", "user": {"token": "mine"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    cluster = kube.Kube(tmp_path / "config")
    as_account = cluster.as_account("space", "default").headers()
    assert as_account == {"Impersonate-User": "system:serviceaccount:space:default", "Authorization": "Bearer mine"}
    assert cluster.headers() == {"Authorization": "Bearer mine"}
