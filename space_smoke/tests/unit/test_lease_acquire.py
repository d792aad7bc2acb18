"""Who may take a Lease, and what everybody else leaves untouched."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.lease import view
from space_smoke.model import effect, objects
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds

THERE = worlds.Machine("there", "boot-2")


def version(world: worlds.World) -> int:
    """Grows with every write to anything."""
    return world.api.version


def lease(world: worlds.World) -> Any:
    return world.api.things[worlds.LEASE]


def test_a_live_holder_is_refused_with_zero_writes() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.act("a", worlds.raised(held, worlds.CAP))
    before = version(world)
    with pytest.raises(errors.Refused) as refused:
        world.act("b", worlds.taken)
    assert version(world) == before
    for part in ("run a", "pid 101", "here", held.holder, "cap", "its process runs"):
        assert part in str(refused.value)
    assert refused.value.next_step


def test_a_stopped_holder_is_alive() -> None:
    world = worlds.bench()
    world.act("a", worlds.taken)
    world.processes["a"] = dataclasses.replace(world.processes["a"], state="stopped")
    before = version(world)
    with pytest.raises(errors.Refused):
        world.act("b", worlds.taken)
    assert version(world) == before


def test_a_dead_holder_is_succeeded_at_once() -> None:
    world = worlds.bench()
    first = world.act("a", worlds.taken)
    del world.processes["a"]
    second = world.act("b", worlds.taken)
    assert second.fence == first.fence + 1
    assert any(kind == "lease-acquired" and "lock is free" in data["how"] for _, kind, data in world.told)


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "here", "boot": "boot-2"},
        {"pidns": 1},
        {"user": "other:1001"},
    ],
)
def test_a_holder_that_cannot_be_looked_up_is_refused_with_zero_writes(changes: dict[str, Any]) -> None:
    world = worlds.bench()
    world.act("a", worlds.taken)
    del world.processes["a"]
    before = version(world)
    with pytest.raises(errors.Refused):
        world.act("b", worlds.taken, dataclasses.replace(worlds.HERE, **changes))
    assert version(world) == before


def test_a_reused_process_id_is_not_the_holder() -> None:
    world = worlds.bench()
    world.act("a", worlds.taken, lock=False)
    process = world.processes.pop("a")
    world.processes["stranger"] = dataclasses.replace(process, ticks=process.ticks + 1, group=7)
    assert world.act("b", worlds.taken).fence == 2


def test_an_orphaned_child_keeps_its_dead_parent_alive() -> None:
    world = worlds.bench()
    world.act("a", worlds.taken, lock=False)
    process = world.processes.pop("a")
    world.processes["a/child"] = dataclasses.replace(process, pid=999)
    with pytest.raises(errors.Refused, match="1 processes are left in its group"):
        world.act("b", worlds.taken)


def test_a_holder_of_this_boot_has_expired_by_its_own_stamp_at_once() -> None:
    world = worlds.bench()
    world.act("a", worlds.taken)
    world.clock += view.DURATION_S + 1
    assert world.act("b", worlds.taken).fence == 2


def test_another_machines_holder_expires_only_by_our_own_watch() -> None:
    world = worlds.bench()
    world.act("a", worlds.taken)
    world.clock += 10 * view.DURATION_S
    with pytest.raises(errors.Refused):
        world.act("b", worlds.taken, THERE)
    world.clock += view.DURATION_S + 1
    assert world.act("c", worlds.taken, THERE).fence == 2


def test_a_renewal_seen_in_between_starts_the_watch_anew() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    with pytest.raises(errors.Refused):
        world.act("b", worlds.taken, THERE)
    world.clock += 3000
    world.act("a", worlds.renewed(held))
    world.clock += 3000
    with pytest.raises(errors.Refused):
        world.act("b", worlds.taken, THERE)


@pytest.mark.parametrize("stamp", [None, "soon", 10**9])
def test_a_holder_of_this_boot_with_a_useless_stamp_expires_by_our_own_watch(stamp: object) -> None:
    world = worlds.bench()
    world.act("a", worlds.taken)
    note = {
        "boot": "boot-1",
        "pidns": 4026531836,
        "user": "runner:1000",
        "pid": 101,
        "ticks": 100000,
        "boottime": stamp,
    }
    worlds.annotate(world, worlds.LEASE, view.HOLDER, json.dumps(note))
    with pytest.raises(errors.Refused):
        world.act("b", worlds.taken)
    world.clock += view.DURATION_S + 1
    assert world.act("b", worlds.taken).fence == 2


@pytest.mark.parametrize(("stated", "waits_s"), [(2**31 - 1, 3600), (30, 30), (1, 1), (None, 3600)])
def test_the_stated_duration_is_clamped(stated: int | None, waits_s: int) -> None:
    world = worlds.bench()
    world.act("a", worlds.taken)
    change = (
        objects.put(stated, "spec", "leaseDurationSeconds") if stated else objects.drop("spec", "leaseDurationSeconds")
    )
    worlds.edit(world, worlds.LEASE, change)
    with pytest.raises(errors.Refused):
        world.act("b", worlds.taken, THERE)
    world.clock += waits_s - 0.5
    with pytest.raises(errors.Refused):
        world.act("b", worlds.taken, THERE)
    world.clock += 1
    assert world.act("b", worlds.taken, THERE).fence == 2


def test_our_own_acquisition_whose_answer_was_lost_is_adopted() -> None:
    world = worlds.bench()
    world.run(world.start("earlier", worlds.REPAIR))
    runner = world.start("a", worlds.taken, stays=True)
    while not (isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "acquire"):
        world.call(runner)
    world.call(runner, "reply-lost")
    world.run(runner)
    assert runner.error is None
    assert runner.value.fence == 2
    assert runner.value.holder == oracle.holder(lease(world))
    world.act("a", worlds.renewed(runner.value))


def test_of_two_that_see_a_free_lease_one_wins_and_the_other_changes_nothing() -> None:
    world = worlds.bench()
    one, two = world.start("one", worlds.taken, stays=True), world.start("two", worlds.taken, stays=True)
    for runner in (one, two):
        while not isinstance(runner.wanted, effect.Create | effect.Patch):
            world.call(runner)
    world.run(one)
    before = version(world)
    world.run(two)
    assert isinstance(two.error, errors.Refused)
    assert version(world) == before


def test_a_lease_made_anew_starts_above_every_fence_on_any_target() -> None:
    world = worlds.bench()
    for name in ("one", "two", "three"):
        world.run(world.start(name, worlds.BOTH))
    worlds.vanish(world, worlds.LEASE)
    assert world.act("a", worlds.taken).fence == 4


@pytest.mark.parametrize("fence", [None, "0", "1", "2", "3"])
def test_a_lease_made_by_hand_is_raised_above_every_fence_on_any_target(fence: str | None) -> None:
    world = worlds.bench()
    for name in ("one", "two", "three"):
        world.run(world.start(name, worlds.BOTH))
    worlds.vanish(world, worlds.LEASE)
    notes = {"annotations": {view.FENCE: fence}} if fence else {}
    meta = {"name": worlds.DOMAIN, "namespace": view.NAMESPACE, **notes}
    world.api.create({"apiVersion": view.API_VERSION, "kind": "Lease", "metadata": meta, "spec": {}})
    held = world.act("a", worlds.taken)
    assert held.fence > 3
    assert oracle.fence(lease(world)) == held.fence
    world.act("a", worlds.raised(held, worlds.CAP))


def test_a_lease_whose_holder_somebody_emptied_is_free() -> None:
    world = worlds.bench()
    world.act("a", worlds.taken)
    worlds.edit(world, worlds.LEASE, objects.put("", "spec", "holderIdentity"))
    assert world.act("b", worlds.taken, THERE).fence == 2


def test_a_lease_that_was_released_is_free() -> None:
    world = worlds.bench()
    world.run(world.start("one", worlds.BOTH))
    assert world.act("b", worlds.taken, THERE).fence == 2


def test_a_missing_namespace_is_an_error_that_names_it() -> None:
    world = worlds.bench()
    world.api.delete(("v1", "Namespace", "", "space-smoke"))
    with pytest.raises(errors.ApiError, match="space-smoke"):
        world.act("a", worlds.taken)
