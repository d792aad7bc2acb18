"""Putting back: the recorded value, only over our own, verified before the record goes, one failure never the others'."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.model import effect, objects, record
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds


def up(*wants: Any) -> tuple[worlds.World, Any]:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.act("a", worlds.raised(held, *(wants or (worlds.CAP, worlds.REDIS_DOWN))))
    return world, held


def replicas(world: worlds.World) -> int:
    return int(world.api.things[worlds.REDIS.where()]["spec"]["replicas"])


def test_what_was_raised_last_is_put_back_first() -> None:
    world, held = up()
    assert [result.record.name for result in world.act("a", worlds.lowered(held))] == ["redis-down", "cap"]


def test_a_whole_spec_is_what_it_was_after_the_restore() -> None:
    world, held = up()
    assert worlds.specs(world) != worlds.SPECS
    world.act("a", worlds.lowered(held))
    assert json.dumps(worlds.specs(world), sort_keys=True) == json.dumps(worlds.SPECS, sort_keys=True)


def test_a_fault_is_verified_before_its_record_goes() -> None:
    world, held = up(worlds.REDIS_DOWN)
    runner = world.start("a", worlds.lowered(held), stays=True)
    done = []
    while runner.wanted is not None:
        if not isinstance(runner.wanted, effect.Get):
            done.append(getattr(runner.wanted, "purpose", "settle"))
        world.call(runner)
    assert done == ["restoring", "restore", "settle", "clear"]


def test_a_drifted_field_is_reported_and_not_overwritten() -> None:
    world, held = up(worlds.REDIS_DOWN)
    worlds.edit(world, worlds.REDIS.where(), objects.put(7, "spec", "replicas"))
    (result,) = world.act("a", worlds.lowered(held))
    assert not result.ok
    for part in ("7 replicas", "0 replicas", "1 replica", "somebody else"):
        assert part in result.error
    assert replicas(world) == 7
    assert held.records[result.record.fault_id].stage == "drifted"


def test_a_field_that_already_stands_is_verified_and_cleared_without_a_restore() -> None:
    world, held = up(worlds.REDIS_DOWN)
    worlds.edit(world, worlds.REDIS.where(), objects.put(1, "spec", "replicas"))
    (result,) = world.act("a", worlds.lowered(held))
    assert result.ok
    assert not oracle.left_over(world.api.things)


def test_one_failing_restore_never_stops_the_others() -> None:
    world, held = up()
    worlds.edit(world, worlds.REDIS.where(), objects.put(7, "spec", "replicas"))
    results = world.act("a", worlds.lowered(held))
    assert sorted((result.record.name, result.ok) for result in results) == [("cap", True), ("redis-down", False)]
    assert worlds.specs(world)["space-api"] == worlds.SPECS["space-api"]


def test_a_restore_that_does_not_settle_stays_recorded_and_a_later_take_clears_it() -> None:
    world, held = up()
    world.late = frozenset({"space-redis"})
    results = world.act("a", worlds.lowered(held))
    assert [(result.record.name, result.ok) for result in results] == [("cap", True), ("redis-down", False)]
    world.act("a", worlds.released(held))
    assert replicas(world) == 1
    assert len(oracle.left_over(world.api.things)) == 1
    world.late = frozenset()
    world.act("b", worlds.taken)
    assert not oracle.left_over(world.api.things)


@pytest.mark.parametrize("status", [403, 404, 409, 422, 429, 500, "lost", "reply-lost"])
def test_a_restore_that_is_always_refused_keeps_its_record(status: worlds.Fate) -> None:
    world, held = up()
    runner = world.start("a", worlds.lowered(held), stays=True)
    while runner.wanted is not None:
        refuse = isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "restore"
        redis = refuse and isinstance(runner.wanted, effect.Patch) and runner.wanted.ref.name == "space-redis"
        world.call(runner, status if redis else "ok")
    assert runner.error is None
    failed = [result.record.name for result in runner.value if not result.ok]
    if status == "reply-lost":
        assert failed == []
        assert worlds.specs(world) == worlds.SPECS
    else:
        assert failed == ["redis-down"]
        assert [item.name for item in held.records.values()] == ["redis-down"]
        (item,) = held.records.values()
        assert (item.attempts, item.stage) == (2, "failed")


def test_a_record_that_makes_no_sense_to_its_kind_fails_alone() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    notes = objects.annotations_of(world.api.things[worlds.LEASE])
    items, _ = record.read_all(notes)
    broken = dataclasses.replace(items[0], field={"nonsense": 1})
    worlds.annotate(world, worlds.LEASE, broken.key, record.encode(broken))
    with pytest.raises(errors.RestoreIncomplete, match="cap"):
        world.act("b", worlds.taken)
    assert replicas(world) == 1
    assert len([left for left in oracle.left_over(world.api.things) if left.startswith("Lease")]) == 1


def test_a_record_of_a_kind_that_is_not_known_fails_alone_and_is_kept() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    items, _ = record.read_all(objects.annotations_of(world.api.things[worlds.LEASE]))
    strange = dataclasses.replace(items[0], kind="from-the-future")
    worlds.annotate(world, worlds.LEASE, strange.key, record.encode(strange))
    with pytest.raises(errors.RestoreIncomplete, match="does not know"):
        world.act("b", worlds.taken)
    assert replicas(world) == 1


def test_a_record_of_another_cluster_is_not_applied() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.REDIS_DOWN)
    (item,), _ = record.read_all(objects.annotations_of(world.api.things[worlds.LEASE]))
    worlds.annotate(world, worlds.LEASE, item.key, record.encode(dataclasses.replace(item, cluster="another")))
    with pytest.raises(errors.RestoreIncomplete, match="another cluster"):
        world.act("b", worlds.taken)
    assert replicas(world) == 0


def test_a_target_that_is_gone_took_its_fault_with_it() -> None:
    world, held = up()
    worlds.vanish(world, worlds.REDIS.where())
    assert all(result.ok for result in world.act("a", worlds.lowered(held)))
    assert not oracle.left_over(world.api.things)


@pytest.mark.parametrize(("replicas_now", "after"), [(1, 1), (3, 3), (0, 1)])
def test_a_replaced_target_keeps_its_own_value_unless_that_is_our_faults(replicas_now: int, after: int) -> None:
    world, held = up()
    containers = world.api.things[worlds.REDIS.where()]["spec"]["template"]["spec"]["containers"]
    worlds.vanish(world, worlds.REDIS.where())
    world.api.create(worlds.deployment("space-redis", containers, replicas_now))
    assert all(result.ok for result in world.act("a", worlds.lowered(held)))
    assert replicas(world) == after
    assert not oracle.left_over(world.api.things)


def test_attempts_are_counted_across_acquisitions() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.REDIS_DOWN)
    world.late = frozenset({"space-redis"})
    for name in ("b", "c", "d"):
        with pytest.raises(errors.RestoreIncomplete):
            world.act(name, worlds.taken)
        del world.processes[name]
    (item,), _ = record.read_all(objects.annotations_of(world.api.things[worlds.LEASE]))
    assert item.attempts == 3
    assert "did not come back" in item.last_error
