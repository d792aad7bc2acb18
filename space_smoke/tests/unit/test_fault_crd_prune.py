"""`crd-prune`: a field of a definition's schema, taken out and put back; what the API server says of it; and when it is refused."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import space_smoke
from space_smoke.bench.outside import place, pruned, table
from space_smoke.engine import tenure
from space_smoke.faults import crd_prune, kinds
from space_smoke.lease import protocol
from space_smoke.model import kinds as model_kinds
from space_smoke.model import objects, scenario
from space_smoke.tests.sim import contract, oracle, patching
from space_smoke.tests.sim import world as worlds

CRD = objects.Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.example.test")
GRID = Path(space_smoke.__file__).parents[1] / "charts" / "grid-operator" / "crds" / "gridnetworks.yaml"


def definition(**meta: Any) -> dict[str, Any]:
    return {
        **contract.definition("things.example.test"),
        "metadata": {"name": CRD.name, "resourceVersion": "7", **meta},
    }


WAYS = ["spec.size", "spec.parts.name", "spec.parts.weight", "spec", "spec.only.one"]


@pytest.mark.parametrize("way", WAYS)
def test_a_definition_returns_to_exactly_what_stood(way: str) -> None:
    before = definition()
    field = crd_prune.address({"field": way}, before)
    standing = crd_prune.read(before, field)
    faulted = patching.apply(before, crd_prune.write(before, field, crd_prune.wanted({}, field)))
    assert "schema" in standing
    assert crd_prune.read(faulted, field) == {"absent": True} == crd_prune.wanted({}, field)
    assert patching.apply(faulted, crd_prune.write(faulted, field, standing)) == before


def test_the_grids_own_definition_can_lose_a_policy_and_a_field_of_its_rows() -> None:
    before = {**yaml.safe_load(GRID.read_text())}
    before["metadata"] = {**before["metadata"], "resourceVersion": "1"}
    for way in ("spec.budgetPolicy", "spec.budgetPolicy.tenants.capUsd", "status.budgetStatus.spendUsd"):
        field = crd_prune.address({"field": way}, before)
        faulted = patching.apply(before, crd_prune.write(before, field, {"absent": True}))
        left = str(faulted["spec"]["versions"][0]["schema"])
        assert len(left) < len(str(before["spec"]["versions"][0]["schema"]))
        assert patching.apply(faulted, crd_prune.write(faulted, field, crd_prune.read(before, field))) == before


def test_a_required_field_is_required_no_more_while_it_is_not_known_and_has_its_old_place_afterwards() -> None:
    before = definition()
    field = crd_prune.address({"field": "spec.size"}, before)
    spec = ("spec", "versions", 1, "schema", "openAPIV3Schema", "properties", "spec")
    (_, put, drop) = crd_prune.write(before, field, {"absent": True})
    assert (put["op"], drop) == ("add", objects.put(["colour", "parts"], *spec, "required"))
    assert crd_prune.read(before, field)["required"] == 1


def test_there_and_not_there_and_gone_with_all_around_it_are_three_different_things() -> None:
    whole = definition()
    field = crd_prune.address({"field": "spec.size"}, whole)
    without = patching.apply(whole, crd_prune.write(whole, field, {"absent": True}))
    gone = patching.apply(whole, [objects.drop("spec", "versions", 1)])
    assert [crd_prune.describe(crd_prune.read(thing, field)) for thing in (whole, without, gone)] == [
        "the field is in the schema",
        "the field is not in the schema",
        "no such schema",
    ]


def test_a_definition_that_changed_after_it_was_read_is_not_written() -> None:
    operations = crd_prune.write(
        definition(), crd_prune.address({"field": "spec.size"}, definition()), {"absent": True}
    )
    with pytest.raises(patching.Failed):
        patching.apply(definition(resourceVersion="8"), operations)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"field": "spec.sise"}, "has no field 'sise' there; did you mean 'size'?"),
        ({"field": "spek.size"}, "has no field 'spek' there; did you mean 'spec'?"),
        ({"field": "spec.size.deep"}, r"has no field 'deep' there; there are \[\]"),
        ({"field": "spec.free.any"}, r"has no field 'any' there"),
        ({"field": "spec.open.known"}, "keeps fields that it does not know beside known"),
        ({"field": "spec.size", "version": "v9"}, r"has no version 'v9', only \['v1', 'v2'\]"),
    ],
)
def test_a_field_that_cannot_be_pruned_is_unfit_with_the_nearest_right_word(arguments: Any, words: str) -> None:
    with pytest.raises(model_kinds.Unfit, match=words):
        crd_prune.address(arguments, definition())


def test_another_version_than_that_of_the_storage_can_be_named() -> None:
    assert crd_prune.address({"field": "spec", "version": "v1"}, definition())["version"] == "v1"
    assert crd_prune.address({"field": "spec"}, definition())["version"] == "v2"


PRUNED = protocol.Wanted("stale", kinds.KINDS["crd-prune"], CRD, {"field": "spec.size"}, "r")


def steps(setting: protocol.Setting) -> worlds.Steps:
    held = yield from protocol.take(model_kinds.GRID, setting)
    yield from protocol.raise_fault(held, PRUNED)
    yield from protocol.lower_all(held)
    yield from protocol.release(held)


def repair(setting: protocol.Setting) -> worlds.Steps:
    held = yield from protocol.take(model_kinds.GRID, setting)
    yield from protocol.release(held)


def bench() -> worlds.World:
    world = worlds.World()
    worlds.fill(world.api)
    world.api.create(contract.definition(CRD.name))
    world.oracle.tampered.clear()
    return world


def test_a_run_killed_anywhere_and_one_whose_answers_are_lost_leave_the_definition_as_it_stood() -> None:
    whole = bench()
    stood = whole.api.things[CRD.where()]["spec"]
    calls = whole.run(whole.start("whole", steps)).calls
    broken = 0
    for fate in ("ok", "reply-lost", "lost"):
        for number in range(calls):
            world = bench()
            runner = world.start("dead", steps)
            for _ in range(number):
                world.call(runner)
            world.call(runner, cast(worlds.Fate, fate))
            broken += world.api.things[CRD.where()]["spec"] != stood
            world.kill(runner)
            world.act("next", repair)
            assert world.api.things[CRD.where()]["spec"] == stood, (fate, number)
            assert not oracle.left_over(world.api.things)
    assert broken > 5, "it was never killed with the field gone"


class Server:
    """Says of a dry run what it was told to, and lists what objects it was given."""

    def __init__(self, status: int = 201, message: str = "", items: Any = (), scope: str = "Cluster") -> None:
        self.answer, self.items, self.asked = (status, {"message": message}), items, list[tuple[str, str, Any]]()
        self.crd = definition()
        self.crd["spec"]["scope"] = scope

    def read(self, _ref: objects.Ref) -> Any:
        return self.crd

    def send(self, method: str, path: str, *, body: Any = None) -> tuple[int, Any]:
        self.asked.append((method, path, body))
        return (200, {"items": self.items}) if method == "GET" else self.answer


FIELD = crd_prune.address({"field": "spec.parts.name"}, definition())
GONE, THERE = {"absent": True}, {"schema": {"type": "string"}}
UNKNOWN = 'Thing in version "v2" cannot be handled: strict decoding error: unknown field "spec.parts[0].name"'


def settled(server: Server, expect: Any, field: Any = FIELD) -> Any:
    return pruned.Pruned(cast(Any, server)).settled(CRD, field, expect)


@pytest.mark.parametrize(
    ("status", "message", "gone", "there"),
    [
        (400, UNKNOWN, True, False),
        (201, "", False, True),
        (422, "spec.size: Required value", False, True),
        (400, UNKNOWN.replace("parts[0].name", "parts[0].weight"), False, False),
        (403, "forbidden", False, False),
        (404, "the server could not find the requested resource", False, False),
        (500, UNKNOWN, False, False),
    ],
)
def test_only_the_api_servers_own_word_about_that_field_counts(
    status: int, message: str, gone: bool, there: bool
) -> None:
    assert settled(Server(status, message), GONE).done is gone
    assert settled(Server(status, message), THERE).done is there


@pytest.mark.parametrize(("scope", "where"), [("Cluster", ""), ("Namespaced", "/namespaces/default")])
def test_it_is_asked_by_a_dry_run_with_that_field_alone(scope: str, where: str) -> None:
    server = Server(scope=scope)
    settled(server, THERE)
    ((method, path, body),) = server.asked
    assert (method, path) == (
        "POST",
        f"/apis/example.test/v2{where}/things?dryRun=All&fieldValidation=Strict",
    )
    assert (body["kind"], body["apiVersion"], body["spec"]) == ("Thing", "example.test/v2", {"parts": [{"name": {}}]})


def test_a_field_that_an_object_has_is_not_pruned_because_no_record_could_give_it_back() -> None:
    having = [{"metadata": {"name": "b"}, "spec": {"parts": [{}, {"name": "x"}]}}]
    other = [{"metadata": {"name": "a"}, "spec": {"parts": [{"weight": 1}]}}, {"metadata": {"name": "c"}}]
    pruned.Pruned(cast(Any, Server(items=other))).refuse(CRD, FIELD)
    with pytest.raises(model_kinds.Unfit, match=r"crd-prune: b would lose spec\.parts\.name for good"):
        pruned.Pruned(cast(Any, Server(items=[*other, *having]))).refuse(CRD, FIELD)


class Refusing(pruned.Pruned):
    def __init__(self) -> None:
        super().__init__(cast(Any, Server(items=[{"metadata": {"name": "b"}, "spec": {"size": None}}])))


def test_a_refused_one_is_refused_before_anything_is_written() -> None:
    one = cast(Any, object.__new__(tenure.Tenure))
    one._cluster, one._probes, one._held, one._ended = Server(), {"crd-prune": Refusing()}, {}, threading.Event()
    fault = scenario.Fault("stale", "crd-prune", scenario.Target("crd", CRD.name), {"field": "spec.size"}, ("all",))
    with pytest.raises(model_kinds.Unfit, match="would lose"):
        one.raise_fault(fault)
    there = table.probes(cast(Any, Server()), {})["crd-prune"]
    assert isinstance(there, place.Guarded)
