"""Which Lease a fault is under: sites of the grid have one of their own, and what holds of one holds of several at once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, cast

import pytest

from space_smoke import errors
from space_smoke.engine import scene, standing, tenure
from space_smoke.faults import kinds
from space_smoke.lease import protocol, targets, view
from space_smoke.model import kinds as model_kinds
from space_smoke.model import objects, record, scenario
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds
from space_smoke.tests.unit import histories

GRID, PUBLIC = model_kinds.GRID, model_kinds.PUBLIC_API
SITE = objects.Ref("apps/v1", "Deployment", "grid-a", "grid-a")
SITE_DOWN = protocol.Wanted("site-down", kinds.KINDS["scale"], SITE, {"replicas": 0}, "r")


def fault(kind: str, target: str, where: str = "", /, **arguments: Any) -> scenario.Fault:
    sort, name = target.split("/")
    return scenario.Fault(kind, kind, scenario.Target(sort, name, where), arguments, ("all",))


def packets(sender: Any, receiver: Any) -> scenario.Fault:
    ends: dict[str, Any] = {"from": sender, "to": receiver}
    return fault("network-drop", "node/infra", **ends)


A, B = {"namespace": "grid-a"}, {"namespace": "grid-b", "app": "grid-b"}
PLACED = {
    "a target of the bench": (fault("scale", "deployment/space-redis", replicas=0), PUBLIC),
    "a target of a site": (fault("scale", "deployment/grid-a", "grid-a", replicas=0), GRID),
    "a namespace that only looks alike": (fault("scale", "deployment/grid", "gridlock", replicas=0), PUBLIC),
    "packets between sites": (packets(A, B), GRID),
    "packets to a site, from anyone": (fault("network-loss", "node/infra", to=B, probability=0.5), GRID),
    "packets between pods of one site": (
        fault("network-drop", "node/infra", to={"app": "a"}, namespace="grid-a"),
        GRID,
    ),
    "packets between pods of the bench": (fault("network-drop", "node/infra", to={"app": "a"}), PUBLIC),
    "packets to a network": (fault("network-drop", "node/infra", to="10.0.0.0/8", namespace="grid-a"), PUBLIC),
    "a whole node": (fault("stop-node", "node/infra"), PUBLIC),
    "a node that takes no pods": (fault("cordon", "node/infra"), model_kinds.WORKERS),
    "what a site is told": (fault("grid-values", "gridnetwork/grid-a", values={"gridNetwork.gridId": "x"}), GRID),
    "a definition": (fault("crd-prune", "crd/things.example.test", field="spec"), GRID),
}


@pytest.mark.parametrize(("one", "domain"), PLACED.values(), ids=PLACED)
def test_a_fault_that_touches_a_site_is_under_the_grids_lease_and_no_other_is(one: scenario.Fault, domain: str) -> None:
    assert kinds.domain_of(one) == domain
    assert domain in kinds.DOMAINS


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "u"},
    "spec": {"providerID": "kind://docker/b/n1"},
}
DRAWN = [case for case in PLACED.values() if case[0].kind.startswith("network")]


@pytest.mark.parametrize(("one", "domain"), DRAWN)
def test_a_record_is_of_the_same_domain_as_the_fault_that_it_is_of(one: scenario.Fault, domain: str) -> None:
    kind = kinds.KINDS[one.kind]
    target = objects.ref_of(NODE)
    item = record.Record("f", "f", "r", kind.name, target, kind.address(one.arguments, NODE), None, None, 1, 0)
    assert [name for name in kinds.DOMAINS if targets.belongs(item, name, kinds.KINDS)] == [domain]


def bench() -> worlds.World:
    world = worlds.World()
    worlds.fill(world.api)
    world.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "grid-a"}})
    world.api.create(worlds.deployment("grid-a", [{"name": "operator", "image": "o:1"}], namespace="grid-a"))
    world.oracle.tampered.clear()
    return world


def taken(*domains: str) -> worlds.Make:
    def steps(setting: protocol.Setting) -> worlds.Steps:
        held = {}
        for domain in domains:
            held[domain] = yield from protocol.take(domain, setting)
        return held

    return steps


def in_both(setting: protocol.Setting) -> worlds.Steps:
    """As the engine does it with a scenario that has a fault in each."""
    held: Mapping[str, protocol.Held] = yield from taken(GRID, PUBLIC)(setting)
    yield from protocol.raise_fault(held[GRID], SITE_DOWN)
    yield from protocol.raise_fault(held[PUBLIC], worlds.REDIS_DOWN)
    for one in reversed(list(held.values())):
        yield from protocol.lower_all(one)
        yield from protocol.release(one)


def repaired(setting: protocol.Setting) -> worlds.Steps:
    """As preflight does it: what is recorded is taken, which puts it back."""
    seen = yield from protocol.look(kinds.DOMAINS, setting)
    held = yield from taken(*sorted(one.view.domain for one in seen if one.view.records))(setting)
    for one in held.values():
        yield from protocol.release(one)
    return sorted(held)


def replicas(world: worlds.World) -> list[int]:
    return [int(world.api.things[ref.where()]["spec"]["replicas"]) for ref in (SITE, worlds.REDIS)]


def test_a_run_in_two_domains_killed_anywhere_is_put_right_in_both() -> None:
    whole = bench()
    calls = whole.run(whole.start("whole", in_both)).calls
    assert replicas(whole) == [1, 1]
    both = 0
    for number in range(calls):
        world = bench()
        runner = world.start("dead", in_both)
        for _ in range(number):
            world.call(runner)
        world.kill(runner)
        both += world.act("next", repaired) == [GRID, PUBLIC]
        assert (number, replicas(world), oracle.left_over(world.api.things)) == (number, [1, 1], [])
    assert both > 5, "it was never killed with a fault up in both"


def test_a_live_holder_of_one_domain_keeps_nobody_from_the_other() -> None:
    world = bench()
    held = world.act("a", taken(GRID))
    world.act("a", worlds.raised(held[GRID], SITE_DOWN))
    other = world.act("b", taken(PUBLIC))
    world.act("b", worlds.raised(other[PUBLIC], worlds.REDIS_DOWN))
    assert replicas(world) == [0, 0]
    world.act("b", worlds.lowered(other[PUBLIC]))
    assert replicas(world) == [0, 1]
    world.act("a", worlds.lowered(held[GRID]))
    assert replicas(world) == [1, 1]


def test_a_fault_whose_lease_was_destroyed_is_found_in_its_own_domain_only() -> None:
    world = bench()
    held = world.act("dead", taken(GRID, PUBLIC))
    world.act("dead", worlds.raised(held[GRID], SITE_DOWN))
    world.act("dead", worlds.raised(held[PUBLIC], worlds.REDIS_DOWN))
    del world.processes["dead"]
    for domain in (GRID, PUBLIC):
        worlds.vanish(world, view.ref(domain).where())
    seen = world.act("eye", lambda setting: protocol.look(kinds.DOMAINS, setting, sweep=True))
    shown = {one.view.domain: [item.name for item in one.view.records] for one in seen}
    assert shown == {GRID: ["site-down"], PUBLIC: ["redis-down"]}
    world.act("next", taken(PUBLIC))
    assert replicas(world) == [0, 1]
    world.act("next", taken(GRID))
    assert replicas(world) == [1, 1]


class Driven:
    """Tells which Leases were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def drive(self, domain: str) -> str:
        self.asked.append(domain)
        return domain


def tenant(driven: Driven) -> Any:
    """The engine's hold on Leases, with nothing behind it."""
    one = cast(Any, object.__new__(tenure.Tenure))
    one._held, one._setting, one._performer, one._ended = {}, None, driven, threading.Event()
    return one


def test_a_scenario_with_faults_in_several_domains_takes_them_in_name_order(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [PLACED[case][0] for case in ("a node that takes no pods", "a target of the bench", "a target of a site")]
    the = histories.of_phases(scenario.Phase("all"), faults=told)
    driven = Driven()
    one = tenant(driven)
    monkeypatch.setattr(protocol, "take", lambda domain, _setting: domain)
    one.take(tenure.domains_of(the))
    one._ended.set()
    assert driven.asked == ["grid-mutation", "public-api-mutation", "worker-cordon"]
    plan = standing.planned(the, "space")
    assert plan["domains"] == driven.asked
    shown = {act["fault"]: (act["domain"], act["namespace"]) for act in plan["acts"] if act["do"] == "raise"}
    assert shown == {"cordon": (model_kinds.WORKERS, "space"), "scale": (GRID, "grid-a")}


class Kept(Driven):
    """In the grid something cannot be put back."""

    def drive(self, domain: str) -> str:
        super().drive(domain)
        if domain == GRID:
            raise protocol.incomplete(domain, [])
        return domain


def test_what_cannot_be_put_back_in_one_domain_keeps_no_other_from_being_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driven = Kept()
    one = tenant(driven)
    monkeypatch.setattr(protocol, "take", lambda domain, _setting: domain)
    with pytest.raises(errors.RestoreIncomplete, match="not everything under grid-mutation"):
        one.take([GRID, PUBLIC])
    assert (driven.asked, list(one._held)) == ([GRID, PUBLIC], [PUBLIC])


class Placed:
    """Two namespaces, each with one StatefulSet."""

    def read(self, ref: objects.Ref) -> Any:
        raise errors.ApiError(f"{ref} is not there", status=404)

    def listed(self, _api: str, _kind: str, namespace: str = "") -> list[Any]:
        there = [
            {"metadata": {"namespace": "grid-a", "name": "grid-a"}},
            {"metadata": {"namespace": "space", "name": "db"}},
        ]
        return [one for one in there if namespace in ("", one["metadata"]["namespace"])]


@pytest.mark.parametrize(
    ("target", "namespace", "told"),
    [
        (
            "grid-a",
            "space",
            "target statefulset/grid-a matches nothing in namespace space; it is in grid-a: say so with `namespace:`",
        ),
        ("gird-a", "grid-a", "matches nothing in namespace grid-a; did you mean statefulset/grid-a?"),
        ("nothing", "space", "matches nothing in namespace space; there are ['db']"),
    ],
)
def test_a_target_that_is_in_another_namespace_is_told_with_it(target: str, namespace: str, told: str) -> None:
    one = cast(Any, object.__new__(scene.Scene))
    object.__setattr__(one, "cluster", Placed())
    the = histories.of_phases(scenario.Phase("all"), faults=[fault("scale", f"statefulset/{target}", replicas=0)])
    with pytest.raises(errors.SpecError) as caught:
        one.find_targets(the, lambda it: objects.Ref("apps/v1", "StatefulSet", namespace, it.name))
    assert told in str(caught.value.mistakes[0])
