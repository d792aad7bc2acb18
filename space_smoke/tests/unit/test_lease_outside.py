"""Faults whose value lies outside of the API server: claimed there before they are looked at, changed only under that claim."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke import errors
from space_smoke.lease import protocol
from space_smoke.model import effect, kinds, objects, record
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds

STANDS, FAULT = {"value": "noeviction"}, {"value": "allkeys-lru"}


def value(world: worlds.World) -> Any:
    return world.api.things[worlds.SETTING]["value"]


def fence(world: worlds.World) -> int:
    return int(world.api.things[worlds.SETTING]["fence"])


def taken(world: worlds.World, name: str = "a") -> protocol.Held:
    held: protocol.Held = world.act(name, worlds.taken)
    return held


def up(*wants: protocol.Wanted) -> tuple[worlds.World, protocol.Held]:
    world = worlds.bench()
    held = taken(world)
    world.act("a", worlds.raised(held, *(wants or (worlds.EVICTING,))))
    return world, held


def step(call: effect.Effect | None) -> str:
    return call.purpose if isinstance(call, effect.Patch | effect.Alter) else type(call).__name__.lower()


def until(world: worlds.World, runner: worlds.Runner, name: str) -> None:
    while step(runner.wanted) != name:
        assert runner.wanted is not None, f"it never came to {name}: {runner.error!r}"
        world.call(runner)


def raising(world: worlds.World, held: protocol.Held, want: protocol.Wanted = worlds.EVICTING) -> worlds.Runner:
    return world.start("a", worlds.raised(held, want), stays=True)


def steps(world: worlds.World, runner: worlds.Runner) -> list[str]:
    """Runs it to its end; its calls, reads of the API server left out."""
    done = []
    while runner.wanted is not None:
        if not isinstance(runner.wanted, effect.Get | effect.ListKind):
            done.append(step(runner.wanted))
        world.call(runner)
    return done


# -- raising


def test_it_is_recorded_then_claimed_then_noted_on_the_target_and_only_then_changed() -> None:
    world = worlds.bench()
    runner = raising(world, taken(world))
    done = steps(world, runner)
    assert done == ["sense", "record", "stamp", "renew", "claim", "inject", "renew", "act", "settle", "mark-up"]
    assert (value(world), fence(world)) == (FAULT, 1)


def test_the_record_holds_what_was_sensed_and_the_address_as_it_was_completed() -> None:
    world, held = up(worlds.RESTARTED)
    (item,) = held.records.values()
    assert item.field == {"seen": 1, "mode": "fast"}
    assert (item.standing, item.fault) == ({"done": False}, {"done": True})
    copies, _ = record.read_all(objects.annotations_of(world.api.things[worlds.API.where()]))
    assert [copy.fault_id for copy in copies] == [item.fault_id]


def test_what_a_place_cannot_carry_is_unfit_and_nothing_was_recorded() -> None:
    world = worlds.bench()
    held = taken(world)
    runner = raising(world, held)
    until(world, runner, "sense")
    world.call(runner, 422)
    world.run(runner)
    assert isinstance(runner.error, kinds.Unfit)
    assert not held.records
    assert not oracle.left_over(world.api.things)


def test_a_value_that_cannot_be_read_is_an_error_and_nothing_was_recorded() -> None:
    world = worlds.bench()
    held = taken(world)
    runner = raising(world, held)
    while runner.wanted is not None:
        world.call(runner, "lost" if isinstance(runner.wanted, effect.Sense) else "ok")
    assert isinstance(runner.error, errors.ApiError)
    assert not held.records


def test_a_fault_that_would_change_nothing_is_unfit() -> None:
    world = worlds.bench()
    worlds.drift(world, worlds.SETTING, FAULT)
    with pytest.raises(kinds.Unfit, match="would change nothing"):
        world.act("a", worlds.raised(taken(world), worlds.EVICTING))


def test_a_value_that_changed_before_the_claim_is_not_overwritten_and_nothing_is_left() -> None:
    world = worlds.bench()
    held = taken(world)
    runner = raising(world, held)
    until(world, runner, "claim")
    worlds.drift(world, worlds.SETTING, {"value": "volatile-ttl"})
    world.run(runner)
    assert type(runner.error) is errors.BenchError
    assert value(world) == {"value": "volatile-ttl"}
    assert not oracle.left_over(world.api.things)


def test_a_value_that_changed_after_the_claim_is_not_overwritten_and_is_reported_as_drifted() -> None:
    world = worlds.bench()
    held = taken(world)
    runner = raising(world, held)
    until(world, runner, "act")
    worlds.drift(world, worlds.SETTING, {"value": "volatile-ttl"})
    world.run(runner)
    assert type(runner.error) is errors.BenchError
    (result,) = world.act("a", worlds.lowered(held))[-1:]
    assert not result.ok
    assert value(world) == {"value": "volatile-ttl"}
    assert [item.stage for item in held.records.values()] == ["drifted"]


def test_a_fault_that_takes_no_effect_is_an_error_and_stays_recorded() -> None:
    world = worlds.bench()
    held = taken(world)
    world.late = frozenset({"space-redis"})
    with pytest.raises(errors.WaitFailed, match="had not taken effect"):
        world.act("a", worlds.raised(held, worlds.EVICTING))
    assert [item.name for item in held.records.values()] == ["evicting"]


def test_a_second_fault_of_the_kind_on_the_target_is_refused() -> None:
    world, held = up()
    other = protocol.Wanted("more", worlds.EVICTING.kind, worlds.REDIS, {"setting": "maxmemory", "value": "1"}, "r")
    with pytest.raises(errors.Refused, match="already up"):
        world.act("a", worlds.raised(held, other))


def test_a_target_that_was_replaced_meanwhile_gets_no_record() -> None:
    world = worlds.bench()
    runner = raising(world, taken(world))
    until(world, runner, "claim")
    world.call(runner, "lost")
    replace(world)
    world.run(runner)
    assert isinstance(runner.error, errors.BenchError)
    assert value(world) == STANDS
    assert not [left for left in oracle.left_over(world.api.things) if left.startswith("Deployment")]


def replace(world: worlds.World) -> None:
    containers = world.api.things[worlds.REDIS.where()]["spec"]["template"]["spec"]["containers"]
    worlds.vanish(world, worlds.REDIS.where())
    world.api.create(worlds.deployment("space-redis", containers))


# -- putting back


def test_it_is_claimed_put_back_and_verified_before_its_record_goes() -> None:
    world, held = up()
    done = steps(world, world.start("a", worlds.lowered(held), stays=True))
    assert done == ["claim", "restoring", "restore", "restoring", "restore", "settle", "clear"]
    assert value(world) == STANDS
    assert not oracle.left_over(world.api.things)


def test_what_cannot_be_taken_back_is_waited_for_and_never_written() -> None:
    world, held = up(worlds.RESTARTED)
    runner = world.start("a", worlds.lowered(held), stays=True)
    assert steps(world, runner) == ["claim", "restoring", "restore", "settle", "clear"]
    assert isinstance(runner.value[0], protocol.Restored)
    told = [data for _, kind, data in world.told if kind == "fault-restored"]
    assert [data["standing"] for data in told] == ["the restarted server takes connections"]


def test_what_cannot_be_taken_back_and_does_not_recover_keeps_its_record() -> None:
    world, held = up(worlds.RESTARTED)
    world.late = frozenset({"space-api"})
    (result,) = world.act("a", worlds.lowered(held))
    assert not result.ok
    assert [item.stage for item in held.records.values()] == ["failed"]


def test_a_drifted_value_is_reported_and_not_overwritten() -> None:
    world, held = up()
    worlds.drift(world, worlds.SETTING, {"value": "volatile-ttl"})
    (result,) = world.act("a", worlds.lowered(held))
    for part in ("'volatile-ttl'", "'allkeys-lru'", "'noeviction'", "somebody else"):
        assert part in result.error
    assert value(world) == {"value": "volatile-ttl"}


def test_a_place_that_cannot_be_reached_keeps_its_record_until_it_can() -> None:
    world, held = up()
    runner = world.start("a", worlds.lowered(held), stays=True)
    while runner.wanted is not None:
        world.call(runner, "lost" if isinstance(runner.wanted, effect.Claim) else "ok")
    assert runner.error is None
    assert [result.ok for result in runner.value] == [False]
    assert "cannot be reached" in runner.value[0].error
    world.act("a", worlds.released(held))
    world.run(world.start("b", worlds.REPAIR))
    assert worlds.is_clean(world)


@pytest.mark.parametrize("fate", ["lost", "reply-lost", "held", 409, 412, 503])
def test_a_change_that_is_refused_or_unanswered_once_is_put_back_all_the_same(fate: worlds.Fate) -> None:
    world, held = up()
    runner = world.start("a", worlds.lowered(held), stays=True)
    until(world, runner, "restore")
    world.call(runner, fate)
    world.run(runner)
    assert [result.ok for result in runner.value] == [True]
    assert value(world) == STANDS


def test_a_lease_deleted_under_a_fault_is_repaired_from_the_record_on_the_target() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.EVICTING, worlds.RESTARTED)
    worlds.vanish(world, worlds.LEASE)
    taken(world, "b")
    assert value(world) == STANDS
    assert not oracle.left_over(world.api.things)


def test_a_value_outlives_a_target_that_is_made_anew_and_is_put_back() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.EVICTING)
    replace(world)
    taken(world, "b")
    assert value(world) == STANDS
    assert not oracle.left_over(world.api.things)


# -- the fence


def test_a_dead_holders_late_change_does_not_land_after_the_claim() -> None:
    world = worlds.bench()
    runner = raising(world, taken(world))
    until(world, runner, "act")
    world.call(runner, "held")
    world.kill(runner)
    taken(world, "b")
    world.land()
    assert value(world) == STANDS


def test_a_stopped_holder_that_goes_on_after_a_repair_changes_nothing() -> None:
    world = worlds.bench()
    runner = raising(world, taken(world))
    until(world, runner, "act")
    world.stop(runner)
    world.clock += 3601
    world.run(world.start("b", worlds.REPAIR))
    world.resume(runner, lag_s=3601)
    world.run(runner)
    assert isinstance(runner.error, errors.LeaseLost)
    assert value(world) == STANDS


def test_a_change_whose_answer_was_lost_can_no_longer_land_once_the_fence_was_raised() -> None:
    world = worlds.bench()
    held = taken(world)
    runner = raising(world, held)
    until(world, runner, "act")
    world.call(runner, "held")
    world.run(runner)
    assert runner.error is None
    assert held.fence == fence(world) == 2
    world.act("a", worlds.lowered(held))
    world.land()
    assert value(world) == STANDS


@pytest.mark.parametrize("at", ["claim", "inject", "act"])
def test_a_change_in_whose_step_a_signal_came_is_in_doubt(at: str) -> None:
    """It was sent, nobody reads the answer, and what follows is the restore."""
    world = worlds.bench()
    held = taken(world)
    runner = raising(world, held)
    until(world, runner, at)
    assert isinstance(runner.wanted, worlds.Write)
    world.held = (worlds.Held("a", runner.wanted),)
    runner.steps.close()
    assert all(result.ok for result in world.act("a", worlds.lowered(held)))
    world.land()
    assert value(world) == STANDS
    assert not oracle.left_over(world.api.things)


def test_a_place_that_counts_higher_than_our_lease_is_passed_by_raising_our_own_fence() -> None:
    """The Lease and the stamp on the target were destroyed by others; the place outside still knows an old number."""
    world = worlds.bench()
    for name in ("one", "two", "three"):
        world.run(world.start(name, worlds.BEYOND))
    worlds.vanish(world, worlds.LEASE)
    for target in (worlds.API, worlds.REDIS):
        worlds.edit(world, target.where(), objects.drop("metadata", "labels"))
        worlds.edit(world, target.where(), objects.drop("metadata", "annotations"))
    runner = world.run(world.start("b", worlds.BEYOND))
    assert runner.error is None
    assert fence(world) == 4
    assert worlds.is_clean(world)


def test_a_place_that_a_successor_claimed_means_the_lease_is_lost() -> None:
    world, held = up()
    runner = world.start("a", worlds.lowered(held), stays=True)
    until(world, runner, "claim")
    world.stop(runner)
    world.clock += 3601
    world.act("b", worlds.taken)
    before = world.api.version
    world.resume(runner, lag_s=3601)
    world.run(runner)
    assert isinstance(runner.error, errors.LeaseLost)
    assert world.api.version == before


@pytest.mark.parametrize("at", ["inject", "act"])
def test_a_change_by_a_runner_with_the_same_fence_number_under_a_lease_made_anew_does_not_land(at: str) -> None:
    """As for fields of targets: only the renewal between stamp and write tells the two Leases apart."""
    world = worlds.bench()
    held = taken(world)
    runner = raising(world, held)
    until(world, runner, at)
    world.call(runner, "lost")
    until(world, runner, "raise-fence")
    world.call(runner)
    worlds.vanish(world, worlds.LEASE)
    world.run(world.start("b", worlds.taken, stays=True))
    world.run(runner)
    assert isinstance(runner.error, errors.LeaseLost)
    assert value(world) == STANDS
    assert not oracle.left_over(world.api.things)


def test_a_late_claim_of_a_dead_holder_does_not_bring_its_number_back_to_a_place_that_lost_its_fence() -> None:
    world = worlds.bench()
    runner = raising(world, taken(world))
    until(world, runner, "claim")
    world.call(runner, "held")
    until(world, runner, "act")
    world.call(runner, "held")
    world.kill(runner)
    world.run(world.start("b", worlds.REPAIR))
    world.restart(worlds.SETTING, volatile=False)
    world.land()
    assert fence(world) == 1
    world.land()
    assert value(world) == STANDS


# -- stores that restart


@pytest.mark.parametrize("volatile", [True, False])
@pytest.mark.parametrize("at", ["claim", "inject", "act"])
def test_a_store_that_restarts_while_a_fault_is_raised_is_claimed_again(at: str, volatile: bool) -> None:
    world = worlds.bench()
    held = taken(world)
    runner = raising(world, held)
    until(world, runner, at)
    world.restart(worlds.SETTING, volatile=volatile)
    world.run(runner)
    assert runner.error is None
    assert (value(world), fence(world)) == (FAULT, 1)
    assert all(result.ok for result in world.act("a", worlds.lowered(held)))


@pytest.mark.parametrize("volatile", [True, False])
def test_a_store_that_restarted_under_a_fault_of_a_dead_run_is_put_right(volatile: bool) -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.EVICTING)
    world.restart(worlds.SETTING, volatile=volatile)
    done = steps(world, world.start("b", worlds.taken, stays=True))
    assert done.count("restore") == (1 if volatile else 2), done  # the copy alone, or the value and the copy
    assert value(world) == STANDS
    assert not oracle.left_over(world.api.things)


def test_a_place_without_a_fence_refuses_every_change() -> None:
    world, held = up()
    world.restart(worlds.SETTING, volatile=False)
    runner = world.start("a", worlds.lowered(held), stays=True)
    until(world, runner, "restore")
    world.restart(worlds.SETTING, volatile=False)
    world.call(runner)
    assert value(world) == FAULT
    world.run(runner)
    assert value(world) == STANDS
