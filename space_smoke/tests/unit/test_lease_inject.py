"""Raising a fault: recorded first, never twice on a field, never on what is not the target any more."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke import errors
from space_smoke.lease import protocol, view
from space_smoke.model import effect, kinds, objects, record
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds


def until(world: worlds.World, runner: worlds.Runner, purpose: str) -> None:
    while not (isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == purpose):
        assert runner.wanted is not None, f"it never came to {purpose}: {runner.error!r}"
        world.call(runner)


def purposes(world: worlds.World, runner: worlds.Runner) -> list[str]:
    """Runs it to its end; what it did that could change something."""
    done = []
    while runner.wanted is not None:
        if isinstance(runner.wanted, effect.Patch | effect.Settle):
            done.append(runner.wanted.purpose if isinstance(runner.wanted, effect.Patch) else "settle")
        world.call(runner)
    return done


def test_a_fault_is_recorded_before_it_is_raised_and_verified_before_it_is_up() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.raised(held, worlds.CAP), stays=True)
    assert purposes(world, runner) == ["record", "stamp", "renew", "inject", "settle", "mark-up"]


def test_record_and_copy_are_the_same_and_hold_what_stood() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    (item,) = world.act("a", worlds.raised(held, worlds.CAP))
    copy, _ = record.read_all(objects.annotations_of(world.api.things[worlds.API.where()]))
    assert copy[0].standing == item.standing
    assert item.standing["LIMIT"] == {"entry": {"name": "LIMIT", "value": "600"}}
    assert item.standing["NEW"] == {"absent": True}
    assert "valueFrom" in item.standing["PASSWORD"]["entry"]
    assert item.target.uid == world.api.things[worlds.API.where()]["metadata"]["uid"]
    assert (item.stage, item.fence, item.cluster) == ("up", held.fence, "uid-1")


def test_a_second_fault_on_the_same_field_is_refused_and_changes_nothing_of_the_target() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.act("a", worlds.raised(held, worlds.REDIS_DOWN))
    before = world.api.things[worlds.REDIS.where()]
    again = protocol.Wanted("more", worlds.REDIS_DOWN.kind, worlds.REDIS, {"replicas": 5}, "r")
    with pytest.raises(errors.Refused, match=r"redis-down .* is already up"):
        world.act("a", worlds.raised(held, again))
    assert world.api.things[worlds.REDIS.where()] is before
    assert len(held.records) == 1


def test_a_fault_that_would_change_nothing_is_unfit() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    same = protocol.Wanted("same", worlds.REDIS_DOWN.kind, worlds.REDIS, {"replicas": 1}, "r")
    with pytest.raises(kinds.Unfit, match="would change nothing"):
        world.act("a", worlds.raised(held, same))


def test_a_target_that_is_not_there_is_an_error_and_leaves_no_record() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    missing = objects.Ref("apps/v1", "Deployment", "space", "nowhere")
    with pytest.raises(errors.ApiError, match="nowhere"):
        world.act("a", worlds.raised(held, protocol.Wanted("x", worlds.REDIS_DOWN.kind, missing, {"replicas": 0}, "r")))
    assert not held.records


@pytest.mark.parametrize("over", [0, 1])
def test_a_target_whose_annotations_have_no_room_is_unfit_to_the_byte(over: int) -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    probe = world.fork()
    other = probe.act("a", worlds.raised(held_copy(held), worlds.REDIS_DOWN))[0]
    size = objects.size_of({other.key: record.encode(other.at("injecting"))})
    room = view.ANNOTATION_BYTES - record.GROWTH_BYTES - size - len("padding")
    worlds.annotate(world, worlds.REDIS.where(), "padding", "x" * (room + over))
    if over:
        with pytest.raises(kinds.Unfit, match="too many"):
            world.act("a", worlds.raised(held, worlds.REDIS_DOWN))
    else:
        world.act("a", worlds.raised(held, worlds.REDIS_DOWN))


def held_copy(held: protocol.Held) -> Any:
    import copy

    return copy.deepcopy(held)


def test_a_value_that_changed_before_the_write_is_not_overwritten_and_nothing_is_left() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.raised(held, worlds.REDIS_DOWN), stays=True)
    until(world, runner, "inject")
    worlds.edit(world, worlds.REDIS.where(), objects.put(4, "spec", "replicas"))
    world.run(runner)
    assert isinstance(runner.error, errors.BenchError)
    assert all(result.ok for result in world.act("a", worlds.lowered(held)))
    world.act("a", worlds.released(held))
    assert world.api.things[worlds.REDIS.where()]["spec"]["replicas"] == 4
    assert not oracle.left_over(world.api.things)


@pytest.mark.parametrize("purpose", ["stamp", "inject"])
def test_a_target_that_was_replaced_meanwhile_is_not_given_the_fault(purpose: str) -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.raised(held, worlds.REDIS_DOWN), stays=True)
    until(world, runner, purpose)
    body = world.api.things[worlds.REDIS.where()]
    worlds.vanish(world, worlds.REDIS.where())
    world.api.create(worlds.deployment("space-redis", body["spec"]["template"]["spec"]["containers"]))
    world.run(runner)
    assert isinstance(runner.error, errors.BenchError)
    assert world.api.things[worlds.REDIS.where()]["spec"]["replicas"] == 1
    assert all(result.ok for result in world.act("a", worlds.lowered(held)))
    assert not oracle.left_over(world.api.things)


def test_a_fault_that_takes_no_effect_is_an_error_and_stays_recorded() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.late = frozenset({"space-redis"})
    with pytest.raises(errors.WaitFailed, match="had not taken effect"):
        world.act("a", worlds.raised(held, worlds.REDIS_DOWN))
    assert [item.name for item in held.records.values()] == ["redis-down"]


def test_a_change_whose_answer_was_lost_can_no_longer_land_once_the_fence_was_raised() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.raised(held, worlds.REDIS_DOWN), stays=True)
    until(world, runner, "inject")
    world.call(runner, "held")
    world.run(runner)
    assert runner.error is None
    assert held.fence == 2
    world.act("a", worlds.lowered(held))
    world.land()
    assert world.api.things[worlds.REDIS.where()]["spec"]["replicas"] == 1
