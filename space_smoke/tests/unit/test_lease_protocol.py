"""The door: take, look, release, and what is left for the next one."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke import errors
from space_smoke.lease import view
from space_smoke.model import effect, objects, record
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds


def lease(world: worlds.World) -> Any:
    return world.api.things[worlds.LEASE]


def test_taking_repairs_before_anything_else_and_tells_what_and_whose() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, name="dead")
    world.clock += 60
    world.act("b", worlds.taken)
    assert worlds.specs(world) == worlds.SPECS
    told = [data for _, kind, data in world.told if kind == "repaired"]
    assert [data["fault"] for data in told] == ["redis-down", "cap"]
    assert {data["pid"] for data in told} == {101}
    assert all(60 <= data["age_s"] < 62 for data in told)


def test_a_record_that_is_left_makes_take_fail_with_exit_3_and_the_lease_is_free_for_the_next() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.REDIS_DOWN)
    worlds.edit(world, worlds.REDIS.where(), objects.put(7, "spec", "replicas"))
    with pytest.raises(errors.RestoreIncomplete) as incomplete:
        world.act("b", worlds.taken)
    assert incomplete.value.exit_code == 3
    assert not oracle.holder(lease(world))
    assert objects.annotations_of(lease(world))[view.NEEDS_REPAIR] == "true"
    assert lease(world)["metadata"]["finalizers"] == [view.FINALIZER]
    worlds.edit(world, worlds.REDIS.where(), objects.put(0, "spec", "replicas"))
    world.act("c", worlds.taken, worlds.Machine("elsewhere", "boot-9"))
    assert worlds.specs(world) == worlds.SPECS


@pytest.mark.parametrize("text", ["{", '{"schema":2,"more":1}'])
def test_an_unreadable_record_is_refused_with_zero_writes_and_stays(text: str) -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    worlds.annotate(world, worlds.LEASE, record.PREFIX + "x", text)
    before = world.api.version
    with pytest.raises(errors.Refused, match=r"record\.x"):
        world.act("b", worlds.taken)
    assert world.api.version == before


def test_releasing_never_frees_a_successors_lease() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    del world.processes["a"]
    successor = world.act("b", worlds.taken)
    before = world.api.version
    world.act("a", worlds.released(held))
    assert world.api.version == before
    assert oracle.holder(lease(world)) == successor.holder


@pytest.mark.parametrize("fate", ["lost", "reply-lost", "held", 409, 503])
def test_a_release_without_an_answer_ends_released(fate: worlds.Fate) -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.released(held), stays=True)
    world.call(runner, fate)
    world.run(runner)
    assert runner.error is None
    assert not oracle.holder(lease(world))


def test_releasing_a_lease_that_is_gone_is_not_an_error() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    worlds.vanish(world, worlds.LEASE)
    world.act("a", worlds.released(held))
    assert worlds.LEASE not in world.api.things


def test_a_lease_is_never_deleted() -> None:
    world = worlds.bench()
    world.run(world.start("a", worlds.BOTH))
    assert worlds.LEASE in world.api.things


def test_a_lease_under_deletion_is_repaired_and_then_made_anew() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    world.api.delete(worlds.LEASE)
    assert "deletionTimestamp" in lease(world)["metadata"]
    held = world.act("b", worlds.taken)
    assert worlds.specs(world) == worlds.SPECS
    assert "deletionTimestamp" not in lease(world)["metadata"]
    world.act("b", worlds.raised(held, worlds.CAP))
    world.act("b", worlds.lowered(held))
    world.act("b", worlds.released(held))
    assert worlds.is_clean(world)


def test_a_lease_under_deletion_whose_annotations_were_wiped_is_repaired_from_the_targets() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    world.api.delete(worlds.LEASE)
    worlds.edit(world, worlds.LEASE, objects.drop("metadata", "annotations"))
    world.clock += view.DURATION_S + 1
    with pytest.raises(errors.Refused):  # nobody knows whose it was, so it is watched for its duration first
        world.act("b", worlds.taken)
    world.clock += view.DURATION_S + 1
    held = world.act("b", worlds.taken)
    assert worlds.specs(world) == worlds.SPECS
    world.act("b", worlds.renewed(held))


def test_a_record_that_somebody_removed_just_before_the_release_stands_there_after_it() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    (item,) = world.act("a", worlds.raised(held, worlds.CAP))
    worlds.edit(world, worlds.LEASE, objects.drop("metadata", "annotations"))
    world.act("a", worlds.released(held))
    assert item.key in objects.annotations_of(lease(world))
    assert lease(world)["metadata"]["finalizers"] == [view.FINALIZER]


def test_a_lease_deleted_while_a_run_goes_on_ends_clean() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.act("a", worlds.raised(held, worlds.CAP))
    world.api.delete(worlds.LEASE)
    assert all(result.ok for result in world.act("a", worlds.lowered(held)))
    world.act("a", worlds.released(held))
    assert worlds.is_clean(world)
    assert world.act("b", worlds.taken).fence == 2


def test_taking_that_fails_half_way_gives_the_lease_back() -> None:
    world = worlds.bench()
    world.run(world.start("earlier", worlds.BOTH))
    runner = world.start("b", worlds.taken, stays=True)
    while runner.wanted is not None:
        stamp = isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "stamp"
        world.call(runner, 403 if stamp else "ok")
    assert isinstance(runner.error, errors.ApiError)
    assert not oracle.holder(lease(world))


def test_looking_writes_nothing_and_shows_holder_faults_and_life() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.act("a", worlds.raised(held, worlds.CAP))
    before = world.api.version
    (standing,) = world.act("b", worlds.looked)
    assert world.api.version == before
    assert standing.life == "alive"
    assert standing.view.holder == held.holder
    assert [item.name for item in standing.view.records] == ["cap"]
    del world.processes["a"]
    (standing,) = world.act("b", worlds.looked)
    assert standing.life == "dead"


def test_looking_costs_one_call_when_nothing_is_recorded() -> None:
    world = worlds.bench()
    world.run(world.start("a", worlds.REPAIR))
    runner = world.run(world.start("b", worlds.looked))
    assert runner.calls == 1
    assert runner.value[0].life == "none"


def test_looking_shows_faults_whose_lease_was_deleted() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    worlds.vanish(world, worlds.LEASE)
    (standing,) = world.act("b", worlds.looked)
    assert [item.name for item in standing.view.records] == ["cap", "redis-down"]
    assert standing.life == "none"


def test_looking_at_a_bench_where_nothing_ever_ran_shows_nothing() -> None:
    assert worlds.bench().act("b", worlds.looked) == []


def test_lowering_one_fault_leaves_the_other_up() -> None:
    from space_smoke.lease import protocol

    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.act("a", worlds.raised(held, worlds.CAP, worlds.REDIS_DOWN))
    result = world.act("a", lambda _setting: protocol.lower_fault(held, "cap"))
    assert result.ok
    assert [item.name for item in held.records.values()] == ["redis-down"]
    assert world.act("a", lambda _setting: protocol.lower_fault(held, "cap")) is None
