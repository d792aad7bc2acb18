"""What the protocol relies on an API server for, as cases: each is run against the fake one here and can be run against
a real one, through the three calls of `Server`. Objects are made in namespace `space-smoke` under names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from space_smoke.faults import crd_prune
from space_smoke.lease import view
from space_smoke.model import objects

Answer = tuple[int, Mapping[str, Any]]


class Server(Protocol):
    """Each call answers with the HTTP status and the object."""

    def create(self, body: Mapping[str, Any]) -> Answer: ...

    def patch(self, ref: objects.Ref, *operations: objects.Operation) -> Answer: ...

    def delete(self, ref: objects.Ref, uid: str = "", version: str = "") -> Answer: ...

    def get(self, ref: objects.Ref) -> Answer: ...


def lease(name: str, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": view.NAMESPACE, "annotations": {"a": "1"}}
    return {"apiVersion": view.API_VERSION, "kind": "Lease", "metadata": meta, "spec": spec}


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "app", "image": "registry.invalid/none:1", "env": [{"name": "A", "value": "1"}]}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}
    meta = {"name": name, "namespace": view.NAMESPACE, "annotations": {"a": "1"}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def definition(name: str) -> dict[str, Any]:
    """A CustomResourceDefinition; its name is PLURAL.GROUP, as the API server wants it."""
    plural, _, group = name.partition(".")
    part = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "weight": {"type": "number"}},
        "required": ["name"],
    }
    fields = {
        "size": {"type": "integer", "maximum": 9007199254740991},
        "colour": {"type": "string"},
        "parts": {"type": "array", "items": part},
        "only": {"type": "object", "properties": {"one": {"type": "string"}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "open": {
            "type": "object",
            "properties": {"known": {"type": "string"}},
            "x-kubernetes-preserve-unknown-fields": True,
        },
    }
    spec = {"type": "object", "properties": fields, "required": ["colour", "size", "parts"]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    versions = [
        {"name": "v1", "served": True, "storage": False, "schema": schema},
        {"name": "v2", "served": True, "storage": True, "schema": schema},
    ]
    names = {"plural": plural, "singular": plural[:-1], "kind": plural[:-1].capitalize(), "listKind": f"{plural}list"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "annotations": {"a": "1"}},
        "spec": {"group": group, "names": names, "scope": "Cluster", "versions": versions},
    }


def version(thing: Mapping[str, Any]) -> str:
    return str(thing["metadata"]["resourceVersion"])


def a_write_grows_the_version_and_one_that_changes_nothing_does_not(server: Server, name: str) -> None:
    ref, first = _made(server, lease(name))
    status, same = server.patch(ref, objects.put("1", "metadata", "annotations", "a"))
    assert (status, version(same)) == (200, version(first))
    status, other = server.patch(ref, objects.put("2", "metadata", "annotations", "a"))
    assert status == 200
    assert version(other) != version(first)


def a_failed_test_is_422_and_changes_nothing(server: Server, name: str) -> None:
    ref, first = _made(server, lease(name))
    for guard in (
        objects.test("another", "metadata", "uid"),
        objects.test("1", "metadata", "resourceVersion"),
        objects.test("2", "metadata", "annotations", "a"),
        objects.test("2", "metadata", "annotations", "missing"),
        objects.test("nobody", "spec", "holderIdentity"),
    ):
        assert server.patch(ref, guard, objects.put("2", "metadata", "annotations", "a"))[0] == 422
    assert version(server.get(ref)[1]) == version(first)


def operations_without_a_place_are_422(server: Server, name: str) -> None:
    ref, _ = _made(server, lease(name))
    assert server.patch(ref, objects.put("1", "metadata", "labels", "x"))[0] == 422
    assert server.patch(ref, objects.drop("metadata", "annotations", "missing"))[0] == 422


def another_version_or_uid_in_the_result_is_refused(server: Server, name: str) -> None:
    ref, _ = _made(server, lease(name))
    assert server.patch(ref, objects.put("1", "metadata", "resourceVersion"))[0] == 409
    assert server.patch(ref, objects.put("another", "metadata", "uid"))[0] in (409, 422)


def what_is_gone_is_404_and_what_is_there_is_409(server: Server, name: str) -> None:
    ref = objects.Ref(view.API_VERSION, "Lease", view.NAMESPACE, name)
    assert server.get(ref)[0] == 404
    assert server.patch(ref, objects.put("1", "metadata", "annotations", "a"))[0] == 404
    _made(server, lease(name))
    assert server.create(lease(name))[0] == 409
    missing = lease(name)
    missing["metadata"]["namespace"] = "space-smoke-nowhere"
    assert server.create(missing)[0] == 404


def a_holder_may_be_empty_and_may_be_absent(server: Server, name: str) -> None:
    ref, _ = _made(server, lease(name, holderIdentity="a"))
    assert server.patch(ref, objects.put("", "spec", "holderIdentity"))[0] == 200  # so both mean: released
    status, after = server.patch(ref, objects.drop("spec", "holderIdentity"))
    assert status == 200
    assert "holderIdentity" not in after["spec"]


def a_duration_is_positive(server: Server, name: str) -> None:
    ref, _ = _made(server, lease(name))
    assert server.patch(ref, objects.put(0, "spec", "leaseDurationSeconds"))[0] == 422
    assert server.patch(ref, objects.put(3600, "spec", "leaseDurationSeconds"))[0] == 200


def a_time_returns_as_it_was_written(server: Server, name: str) -> None:
    ref, _ = _made(server, lease(name))
    written = "2026-01-02T03:04:05.000006Z"
    status, after = server.patch(ref, objects.put(written, "spec", "renewTime"))
    assert (status, after["spec"]["renewTime"]) == (200, written)


def annotations_fit_to_the_byte(server: Server, name: str) -> None:
    ref, _ = _made(server, lease(name))
    room = view.ANNOTATION_BYTES - len("a1") - len("pad")
    assert server.patch(ref, objects.put("x" * room, "metadata", "annotations", "pad"))[0] == 200
    assert server.patch(ref, objects.put("x" * (room + 1), "metadata", "annotations", "pad"))[0] == 422


def an_empty_map_is_not_stored(server: Server, name: str) -> None:
    ref, _ = _made(server, lease(name))
    status, after = server.patch(ref, objects.drop("metadata", "annotations", "a"))
    assert status == 200
    assert "annotations" not in after["metadata"]
    assert server.patch(ref, objects.put("1", "metadata", "annotations", "a"))[0] == 422


def deletion_has_preconditions(server: Server, name: str) -> None:
    ref, thing = _made(server, lease(name))
    assert server.delete(ref, uid="another")[0] == 409
    assert server.delete(ref, version="1")[0] == 409
    assert server.delete(ref, uid=thing["metadata"]["uid"], version=version(thing))[0] == 200
    assert server.get(ref)[0] == 404


def a_finalizer_keeps_what_is_deleted_until_it_goes_and_none_can_be_added(server: Server, name: str) -> None:
    ref, _ = _made(server, lease(name))
    assert server.patch(ref, objects.put([view.FINALIZER], "metadata", "finalizers"))[0] == 200
    server.delete(ref)
    status, doomed = server.get(ref)
    assert status == 200
    assert "deletionTimestamp" in doomed["metadata"]
    assert server.patch(ref, objects.put("2", "metadata", "annotations", "a"))[0] == 200
    assert server.patch(ref, objects.put([view.FINALIZER, "space-smoke.dev/b"], "metadata", "finalizers"))[0] == 422
    assert server.patch(ref, objects.put([], "metadata", "finalizers"))[0] == 200
    assert server.get(ref)[0] == 404


def a_name_that_is_used_again_has_another_uid(server: Server, name: str) -> None:
    ref, first = _made(server, lease(name))
    server.delete(ref)
    _, second = _made(server, lease(name))
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    guard = objects.test(first["metadata"]["uid"], "metadata", "uid")
    assert server.patch(ref, guard, objects.put("2", "metadata", "annotations", "a"))[0] == 422


def generation_grows_with_spec_and_annotations_of_a_deployment_and_not_with_its_labels(
    server: Server, name: str
) -> None:
    ref, first = _made(server, deployment(name))
    _, labelled = server.patch(ref, objects.put({"b": "1"}, "metadata", "labels"))
    assert labelled["metadata"]["generation"] == first["metadata"]["generation"]
    _, noted = server.patch(ref, objects.put("2", "metadata", "annotations", "a"))
    assert noted["metadata"]["generation"] == first["metadata"]["generation"] + 1
    env = ("spec", "template", "spec", "containers", 0, "env")
    _, changed = server.patch(ref, objects.put([{"name": "B", "value": "1"}], *env))
    assert changed["metadata"]["generation"] == first["metadata"]["generation"] + 2


def an_empty_list_of_variables_is_not_stored(server: Server, name: str) -> None:
    ref, _ = _made(server, deployment(name))
    status, after = server.patch(ref, objects.put([], "spec", "template", "spec", "containers", 0, "env"))
    assert status == 200
    assert "env" not in after["spec"]["template"]["spec"]["containers"][0]


def an_empty_value_of_a_variable_is_not_stored(server: Server, name: str) -> None:
    ref, _ = _made(server, deployment(name))
    env = ("spec", "template", "spec", "containers", 0, "env")
    status, after = server.patch(ref, objects.put([{"name": "A", "value": ""}, {"name": "B", "value": "1"}], *env))
    assert status == 200
    assert after["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A"}, {"name": "B", "value": "1"}]


def replicas_that_are_removed_come_back_as_one_and_are_never_negative(server: Server, name: str) -> None:
    ref, _ = _made(server, deployment(name))
    assert server.patch(ref, objects.put(-1, "spec", "replicas"))[0] == 422
    status, after = server.patch(ref, objects.drop("spec", "replicas"))
    assert (status, after["spec"]["replicas"]) == (200, 1)


def a_variable_has_a_value_or_a_reference(server: Server, name: str) -> None:
    ref, _ = _made(server, deployment(name))
    reference = {"secretKeyRef": {"name": "s", "key": "k"}}
    two = [{"name": "A", "value": "1", "valueFrom": reference}]
    assert server.patch(ref, objects.put(two, "spec", "template", "spec", "containers", 0, "env"))[0] == 422


def a_schema_loses_a_field_and_gets_it_back_and_only_that_counts_as_a_generation(server: Server, name: str) -> None:
    ref, first = _made(server, definition(f"things.{name}.test"))
    _established(server, ref)
    _, noted = server.patch(ref, objects.put("2", "metadata", "annotations", "a"))
    assert noted["metadata"]["generation"] == first["metadata"]["generation"]
    for way in ("spec.size", "spec.parts.name", "spec.only.one", "spec"):
        _, before = server.get(ref)
        field = crd_prune.address({"field": way}, before)
        status, without = server.patch(ref, *crd_prune.write(before, field, {"absent": True}))
        assert (status, crd_prune.read(without, field)) == (200, {"absent": True})
        assert server.patch(ref, *crd_prune.write(before, field, {"absent": True}))[0] == 422  # as it was read before
        status, after = server.patch(ref, *crd_prune.write(without, field, crd_prune.read(before, field)))
        assert (status, after["spec"]) == (200, before["spec"])
        assert after["metadata"]["generation"] == before["metadata"]["generation"] + 2
    server.delete(ref)


def _established(server: Server, ref: objects.Ref) -> None:
    """A real server's controllers write a new definition's status, and with it its version, until it is served; the simulated
    one has no such controllers, and no status."""
    for _ in range(1000):
        _, thing = server.get(ref)
        conditions = {one["type"]: one["status"] for one in objects.dig(thing, "status", "conditions") or ()}
        if "status" not in thing or conditions.get("Established") == "True":
            return
    raise AssertionError(f"{ref} was not established: {thing.get('status')}")


def _made(server: Server, body: Mapping[str, Any]) -> tuple[objects.Ref, Mapping[str, Any]]:
    status, thing = server.create(body)
    assert status in (200, 201), (status, thing)
    meta = thing["metadata"]
    return objects.Ref(body["apiVersion"], body["kind"], meta.get("namespace", ""), meta["name"]), thing


CASES: tuple[Callable[[Server, str], None], ...] = (
    a_write_grows_the_version_and_one_that_changes_nothing_does_not,
    a_failed_test_is_422_and_changes_nothing,
    operations_without_a_place_are_422,
    another_version_or_uid_in_the_result_is_refused,
    what_is_gone_is_404_and_what_is_there_is_409,
    a_holder_may_be_empty_and_may_be_absent,
    a_duration_is_positive,
    a_time_returns_as_it_was_written,
    annotations_fit_to_the_byte,
    an_empty_map_is_not_stored,
    deletion_has_preconditions,
    a_finalizer_keeps_what_is_deleted_until_it_goes_and_none_can_be_added,
    a_name_that_is_used_again_has_another_uid,
    generation_grows_with_spec_and_annotations_of_a_deployment_and_not_with_its_labels,
    an_empty_list_of_variables_is_not_stored,
    an_empty_value_of_a_variable_is_not_stored,
    replicas_that_are_removed_come_back_as_one_and_are_never_negative,
    a_variable_has_a_value_or_a_reference,
    a_schema_loses_a_field_and_gets_it_back_and_only_that_counts_as_a_generation,
)
