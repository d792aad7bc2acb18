"""Giving up a record: by its id, only what cannot be put back, and never without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.lease import abandon, protocol, view
from space_smoke.model import effect, objects, record
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds


def given_up(fault_id: str) -> worlds.Make:
    return lambda setting: abandon.abandon(fault_id, (worlds.DOMAIN,), setting)


def looked(setting: protocol.Setting) -> worlds.Steps:
    return protocol.look((worlds.DOMAIN,), setting, sweep=True)


def lease(world: worlds.World) -> Any:
    return world.api.things[worlds.LEASE]


def replicas(world: worlds.World) -> int:
    return int(world.api.things[worlds.REDIS.where()]["spec"]["replicas"])


def poisoned() -> tuple[worlds.World, record.Record]:
    """A dead run's fault on Redis, whose field somebody else changed meanwhile; its other fault can be put back."""
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    worlds.edit(world, worlds.REDIS.where(), objects.put(7, "spec", "replicas"))
    items, _ = record.read_all(objects.annotations_of(lease(world)))
    return world, next(item for item in items if item.name == "redis-down")


def trace(world: worlds.World, fault_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(objects.annotations_of(lease(world))[abandon.ABANDONED + fault_id])
    return found


def test_a_record_that_cannot_be_put_back_is_taken_off_lease_and_target_and_the_field_is_left() -> None:
    world, item = poisoned()
    ended = world.act("b", given_up(item.fault_id))
    assert ended.abandoned
    assert not oracle.left_over(world.api.things)
    assert replicas(world) == 7
    assert not oracle.holder(lease(world))
    assert view.FINALIZER not in lease(world)["metadata"].get("finalizers", [])


def test_what_else_is_recorded_in_the_domain_is_put_back() -> None:
    world, item = poisoned()
    world.act("b", given_up(item.fault_id))
    assert worlds.specs(world)["space-api"] == worlds.SPECS["space-api"]


def test_an_abandoned_record_leaves_who_when_what_stood_and_what_the_field_holds() -> None:
    world, item = poisoned()
    world.act("b", given_up(item.fault_id))
    note = trace(world, item.fault_id)
    assert note["by"]["run"] == "b"
    assert note["at"].startswith("2026-")
    assert (note["standing"], note["value"]) == ({"replicas": 1}, {"replicas": 0})
    assert note["holds"] == "7 replicas"
    assert "somebody else changed it" in note["error"]
    (event,) = [thing for key, thing in world.api.things.items() if key[1] == "Event"]
    assert event["reason"] == "FaultAbandoned"
    assert item.fault_id in event["message"]


def test_the_domain_is_free_for_new_faults_afterwards() -> None:
    world, item = poisoned()
    world.act("b", given_up(item.fault_id))
    del world.processes["b"]
    held = world.act("c", worlds.taken)
    world.act("c", worlds.raised(held, worlds.REDIS_DOWN))
    assert replicas(world) == 0


def test_a_record_that_can_be_put_back_is_put_back_instead() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    items, _ = record.read_all(objects.annotations_of(lease(world)))
    ended = world.act("b", given_up(items[0].fault_id))
    assert not ended.abandoned
    assert worlds.specs(world) == worlds.SPECS
    assert not [key for key in objects.annotations_of(lease(world)) if key.startswith(abandon.ABANDONED)]


def test_an_id_that_is_not_there_is_refused_with_the_ids_that_are_and_nothing_is_written() -> None:
    world, item = poisoned()
    before = world.api.version
    with pytest.raises(errors.UsageError, match=item.fault_id) as refused:
        world.act("b", given_up("nonsense"))
    assert refused.value.exit_code == 64
    assert world.api.version == before


def test_a_live_holders_record_is_not_abandoned() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    (item,) = world.act("a", worlds.raised(held, worlds.REDIS_DOWN))
    before = world.api.version
    with pytest.raises(errors.Refused):
        world.act("b", given_up(item.fault_id))
    assert world.api.version == before


@pytest.mark.parametrize("text", ["{", '{"schema":2,"id":"later"}'])
def test_a_record_that_nobody_can_read_is_abandoned_by_the_id_in_its_key(text: str) -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    worlds.annotate(world, worlds.LEASE, record.PREFIX + "later", text)
    assert world.act("b", given_up("later")).abandoned
    assert trace(world, "later")["unreadable"] == text
    assert not oracle.left_over(world.api.things)
    assert worlds.specs(world) == worlds.SPECS


def test_a_record_that_nobody_can_read_on_a_target_alone_is_abandoned_too() -> None:
    world = worlds.bench()
    world.run(world.start("a", worlds.BOTH))
    worlds.annotate(world, worlds.REDIS.where(), record.PREFIX + "later", "{")
    with pytest.raises(errors.Refused, match="later"):
        world.act("b", worlds.taken)
    assert world.act("c", given_up("later")).abandoned
    assert trace(world, "later")["unreadable"] == "{"
    world.act("d", worlds.taken)


def test_one_unreadable_record_is_not_abandoned_together_with_another() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    worlds.annotate(world, worlds.LEASE, record.PREFIX + "one", "{")
    worlds.annotate(world, worlds.LEASE, record.PREFIX + "two", "{")
    before = world.api.version
    with pytest.raises(errors.Refused, match=r"record\.two"):
        world.act("b", given_up("one"))
    assert world.api.version == before


def test_an_abandonment_killed_at_any_step_can_be_repeated() -> None:
    whole, item = poisoned()
    calls = whole.run(whole.start("b", given_up(item.fault_id))).calls
    for step in range(calls):
        world, item = poisoned()
        runner = world.start("b", given_up(item.fault_id))
        for _ in range(step):
            world.call(runner)
        if isinstance(runner.wanted, worlds.Write):
            world.commit(runner.name, runner.wanted)
        world.kill(runner)
        last = world.run(world.start("c", given_up(item.fault_id)))
        assert last.error is None or isinstance(last.error, errors.UsageError), last.error  # it was done already
        world.run(world.start("d", worlds.REPAIR))
        assert not oracle.left_over(world.api.things), step
        assert replicas(world) == 7
        assert trace(world, item.fault_id)


def test_the_copy_goes_before_the_record_so_that_it_cannot_come_back() -> None:
    world, item = poisoned()
    runner = world.start("b", given_up(item.fault_id))
    order = []
    while runner.wanted is not None:
        if isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "abandon":
            order.append(runner.wanted.ref.kind)
        world.call(runner)
    assert order == ["Deployment", "Lease"]


def test_status_shows_a_record_that_somebody_wiped_from_its_lease() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    keys = [key for key in objects.annotations_of(lease(world)) if key.startswith(record.PREFIX)]
    worlds.edit(world, worlds.LEASE, *(objects.drop("metadata", "annotations", key) for key in keys))
    (plain,) = world.act("b", worlds.looked)
    assert not plain.view.records
    before = world.api.version
    (swept,) = world.act("b", looked)
    assert [item.name for item in swept.view.records] == ["cap", "redis-down"]
    assert swept.life == "dead"
    assert world.api.version == before


def test_a_sweep_shows_a_record_once_and_only_under_its_own_domain() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    worlds.annotate(world, worlds.REDIS.where(), view.target_fence("worker-cordon"), "3")
    standings = world.act("b", lambda setting: protocol.look((worlds.DOMAIN, "worker-cordon"), setting, sweep=True))
    shown = {standing.view.domain: [item.name for item in standing.view.records] for standing in standings}
    assert shown == {worlds.DOMAIN: ["cap", "redis-down"]}
