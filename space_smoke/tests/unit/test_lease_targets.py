"""Fences on targets: stamped by every acquisition, and what is not ours can then not land any more."""

from __future__ import annotations

import pytest

from space_smoke import errors
from space_smoke.lease import view
from space_smoke.model import effect, objects, record
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds


def fences(world: worlds.World) -> list[int | None]:
    return [view.fence_on(world.api.things[ref.where()], worlds.DOMAIN) for ref in (worlds.API, worlds.REDIS)]


def test_every_acquisition_stamps_every_target_that_was_ever_stamped() -> None:
    world = worlds.bench()
    world.run(world.start("earlier", worlds.BOTH))
    assert fences(world) == [1, 1]
    world.act("b", worlds.taken)
    assert fences(world) == [2, 2]


def test_a_dead_holders_late_change_does_not_land_after_the_stamp() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.raised(held, worlds.REDIS_DOWN), stays=True)
    while not (isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "inject"):
        world.call(runner)
    world.call(runner, "held")
    world.kill(runner)
    world.act("b", worlds.taken)
    world.land()
    assert worlds.specs(world) == worlds.SPECS


def test_a_late_first_stamp_does_not_land_after_a_successor_came_and_went() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.raised(held, worlds.REDIS_DOWN), stays=True)
    while not (isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "stamp"):
        world.call(runner)
    world.call(runner, "held")
    world.kill(runner)
    world.run(world.start("b", worlds.REPAIR))
    before = world.api.version
    world.land()
    assert world.api.version == before


def test_a_stamp_keeps_what_others_wrote_on_the_target() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.act("a", worlds.raised(held, worlds.CAP))
    thing = world.api.things[worlds.API.where()]
    assert objects.annotations_of(thing)["team"] == "space"
    assert objects.labels_of(thing)["app"] == "space-api"


def test_labels_that_another_writes_while_we_stamp_are_kept() -> None:
    world = worlds.bench()
    world.run(world.start("earlier", worlds.BOTH))
    worlds.edit(world, worlds.API.where(), objects.put({view.FENCED: "true"}, "metadata", "labels"))
    runner = world.start("b", worlds.taken, stays=True)
    while not (isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "stamp"):
        world.call(runner)
    worlds.edit(world, worlds.API.where(), objects.put({"new": "label"}, "metadata", "labels"))
    world.run(runner)
    assert objects.labels_of(world.api.things[worlds.API.where()]) == {"new": "label", view.FENCED: "true"}


def test_a_lease_deleted_under_a_fault_is_repaired_from_the_record_on_the_target() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    worlds.vanish(world, worlds.LEASE)
    held = world.act("b", worlds.taken)
    assert worlds.specs(world) == worlds.SPECS
    assert not oracle.left_over(world.api.things)
    assert held.fence == 2
    assert {data["fault"] for _, kind, data in world.told if kind == "repaired"} == {"cap", "redis-down"}


def test_records_that_were_wiped_from_the_lease_are_found_on_the_targets() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world)
    worlds.edit(world, worlds.LEASE, objects.drop("metadata", "annotations"), objects.drop("spec", "holderIdentity"))
    world.act("b", worlds.taken)
    assert worlds.specs(world) == worlds.SPECS
    assert not oracle.left_over(world.api.things)


def test_a_copy_on_an_object_that_it_does_not_name_is_not_adopted() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.REDIS_DOWN)
    meta = world.api.things[worlds.REDIS.where()]["metadata"]
    clone = worlds.deployment("clone", [{"name": "redis"}], 0, annotations=meta["annotations"])
    clone["metadata"]["labels"] = meta["labels"]
    world.api.create(clone)
    world.run(world.start("b", worlds.REPAIR))
    runner = world.run(world.start("c", worlds.REPAIR))
    assert runner.error is None
    assert not any(name == "c" and kind == "repaired" for name, kind, _ in world.told)


def test_a_copy_of_a_kind_that_is_not_known_is_not_passed_over() -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.REDIS_DOWN)
    worlds.vanish(world, worlds.LEASE)
    (item,), _ = record.read_all(objects.annotations_of(world.api.things[worlds.REDIS.where()]))
    text = record.encode(item).replace('"kind":"scale"', '"kind":"from-the-future"')
    worlds.annotate(world, worlds.REDIS.where(), item.key, text)
    with pytest.raises(errors.RestoreIncomplete, match="does not know"):
        world.act("b", worlds.taken)


@pytest.mark.parametrize("text", ["{", '{"schema":2}'])
def test_a_copy_that_cannot_be_read_refuses_the_domain_and_gives_the_lease_back(text: str) -> None:
    world = worlds.bench()
    worlds.killed_with_faults_up(world, worlds.REDIS_DOWN)
    (item,), _ = record.read_all(objects.annotations_of(world.api.things[worlds.REDIS.where()]))
    worlds.vanish(world, worlds.LEASE)
    worlds.annotate(world, worlds.REDIS.where(), item.key, text)
    with pytest.raises(errors.Refused, match="deployment/space-redis"):
        world.act("b", worlds.taken)
    assert objects.annotations_of(world.api.things[worlds.REDIS.where()])[item.key] == text
    assert not oracle.holder(world.api.things[worlds.LEASE])


def test_a_fence_that_is_not_a_number_stops_everybody() -> None:
    world = worlds.bench()
    world.run(world.start("earlier", worlds.BOTH))
    worlds.annotate(world, worlds.API.where(), view.target_fence(worlds.DOMAIN), "many")
    with pytest.raises(errors.SpaceSmokeError, match="fence"):
        world.act("b", worlds.taken)


def test_a_write_by_a_runner_with_the_same_fence_number_under_a_lease_made_anew_does_not_land() -> None:
    """Its fence was raised on the Lease, which was then deleted before any target bore it: the successor got the same
    number. Only the renewal between stamp and write tells them apart."""
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.raised(held, worlds.REDIS_DOWN), stays=True)
    while not (isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "inject"):
        world.call(runner)
    world.call(runner, "lost")
    while not (isinstance(runner.wanted, effect.Patch) and runner.wanted.purpose == "raise-fence"):
        world.call(runner)
    world.call(runner)
    worlds.vanish(world, worlds.LEASE)
    world.run(world.start("b", worlds.taken, stays=True))
    assert fences(world)[1] == held.fence == 2
    world.run(runner)
    assert isinstance(runner.error, errors.LeaseLost)
    assert worlds.specs(world) == worlds.SPECS
