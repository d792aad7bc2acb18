"""The guarded renewal: what proves that a Lease is ours, and what does not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.lease import held as holding
from space_smoke.lease import protocol, view
from space_smoke.model import effect, objects, record
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds
from space_smoke.tests.unit import test_record


def lease(world: worlds.World) -> Any:
    return world.api.things[worlds.LEASE]


def put(held: protocol.Held, *items: record.Record) -> worlds.Make:
    return lambda _setting: holding.renew(held, "record", *items)


def test_every_renewal_is_a_new_version_of_the_lease() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    seen = set()
    for _ in range(3):
        world.act("a", worlds.renewed(held))
        seen.add(lease(world)["metadata"]["resourceVersion"])
    assert len(seen) == 3


def test_a_touch_by_somebody_else_is_adopted_and_the_holder_goes_on() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    worlds.annotate(world, worlds.LEASE, "someone/note", "hello")
    world.act("a", worlds.raised(held, worlds.CAP))
    assert objects.annotations_of(lease(world))["someone/note"] == "hello"
    assert not any(kind == "repaired" for _, kind, _ in world.told)


@pytest.mark.parametrize("fate", ["lost", "reply-lost", "held"])
def test_a_renewal_without_an_answer_is_decided_by_its_nonce(fate: worlds.Fate) -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.renewed(held), stays=True)
    world.call(runner, fate)
    world.run(runner)
    assert runner.error is None
    assert held.version == lease(world)["metadata"]["resourceVersion"]
    while world.held:
        world.land()
    world.act("a", worlds.renewed(held))


def test_a_successor_means_the_lease_is_lost_and_nothing_more_is_written() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    del world.processes["a"]
    world.act("b", worlds.taken)
    before = world.api.version
    for make in (worlds.renewed(held), worlds.raised(held, worlds.CAP)):
        with pytest.raises(errors.LeaseLost, match="no longer ours"):
            world.act("a", make)
    assert world.api.version == before


def test_a_deleted_lease_is_lost() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    worlds.vanish(world, worlds.LEASE)
    with pytest.raises(errors.LeaseLost, match="it was deleted"):
        world.act("a", worlds.renewed(held))


def test_a_lease_of_the_same_name_in_another_cluster_is_lost_even_at_the_same_version() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.recreate(worlds.fill)
    twin = {**lease_body(held), "spec": {"holderIdentity": held.holder}}
    world.api.version = int(held.version) - 1
    world.api.create(twin)
    assert lease(world)["metadata"]["resourceVersion"] == held.version
    before = world.api.version
    with pytest.raises(errors.LeaseLost):
        world.act("a", worlds.renewed(held))
    assert world.api.version == before


def lease_body(held: protocol.Held) -> dict[str, Any]:
    meta = {"name": worlds.DOMAIN, "namespace": view.NAMESPACE, "annotations": dict(held.notes)}
    return {"apiVersion": view.API_VERSION, "kind": "Lease", "metadata": meta}


def test_a_holder_whose_tenure_ran_out_writes_nothing() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    before = world.api.version
    world.clock += view.DURATION_S - view.MARGIN_S + 1
    with pytest.raises(errors.LeaseLost, match="a successor may have it"):
        world.act("a", worlds.raised(held, worlds.CAP))
    assert world.api.version == before


def test_the_last_requests_are_shorter_than_what_is_left_of_the_tenure() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.clock += view.DURATION_S - view.MARGIN_S - 3
    runner = world.start("a", worlds.renewed(held), stays=True)
    assert isinstance(runner.wanted, effect.Patch)
    assert 0 < runner.wanted.timeout_s <= 3


def test_a_shorter_duration_on_the_lease_shortens_the_holders_tenure() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    worlds.edit(world, worlds.LEASE, objects.put(10, "spec", "leaseDurationSeconds"))
    world.act("a", worlds.renewed(held))
    world.clock += 8
    with pytest.raises(errors.LeaseLost):
        world.act("a", worlds.renewed(held))


def test_annotations_that_somebody_wiped_are_written_again() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    (item,) = world.act("a", worlds.raised(held, worlds.CAP))
    worlds.edit(world, worlds.LEASE, objects.drop("metadata", "annotations"))
    world.act("a", worlds.renewed(held))
    notes = objects.annotations_of(lease(world))
    assert item.key in notes
    assert notes[view.FENCE] == "1"


def test_the_finalizer_stands_while_a_record_does() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    assert "finalizers" not in lease(world)["metadata"]
    world.act("a", worlds.raised(held, worlds.CAP, worlds.REDIS_DOWN))
    assert lease(world)["metadata"]["finalizers"] == [view.FINALIZER]
    world.act("a", worlds.lowered(held))
    assert "finalizers" not in lease(world)["metadata"]


def room_for(world: worlds.World, held: protocol.Held, item: record.Record) -> int:
    """Bytes of padding with which the record fits exactly, its reserve for growth included."""
    runner = world.fork()
    before = objects.size_of(dict(objects.annotations_of(lease(runner))))
    return (
        view.ANNOTATION_BYTES - before - len(item.key) - len(record.encode(item)) - record.GROWTH_BYTES - len("padding")
    )


@pytest.mark.parametrize("over", [0, 1])
def test_a_record_fits_to_the_byte_and_one_more_is_refused_before_anything_changed(over: int) -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.fresh = 10_000  # identities of the same length from here on, and times too
    world.clock += 0.001
    item = test_record.example(fault_id="f" * 12)
    worlds.annotate(world, worlds.LEASE, "padding", "x" * (room_for(world, held, item) - 0))
    world.act("a", worlds.renewed(held))
    slack = view.ANNOTATION_BYTES - record.GROWTH_BYTES - objects.size_of({**held.notes, item.key: record.encode(item)})
    worlds.annotate(world, worlds.LEASE, "padding", "x" * (len(held.notes["padding"]) + slack + over))
    world.act("a", worlds.renewed(held))
    grown = objects.size_of({**held.notes, item.key: record.encode(item)}) + record.GROWTH_BYTES
    assert grown == view.ANNOTATION_BYTES + over
    before = world.api.version
    if over:
        with pytest.raises(errors.UsageError, match=str(view.ANNOTATION_BYTES)):
            world.act("a", put(held, item))
        assert world.api.version == before
    else:
        world.act("a", put(held, item))
        assert item.key in objects.annotations_of(lease(world))


def test_a_record_that_fitted_when_it_was_planned_can_always_be_carried_on() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    world.act("a", worlds.raised(held, worlds.CAP))
    filled = objects.size_of(dict(objects.annotations_of(lease(world))))
    worlds.annotate(world, worlds.LEASE, "padding", "x" * (view.ANNOTATION_BYTES - filled - 7 - record.GROWTH_BYTES))
    key = worlds.API.where()
    worlds.edit(world, key, objects.put("9", "spec", "template", "spec", "containers", 1, "env", 1, "value"))
    (result,) = world.act("a", worlds.lowered(held))
    assert not result.ok
    assert "somebody else" in lease_record(world).last_error


def lease_record(world: worlds.World) -> record.Record:
    (item,), _ = record.read_all(objects.annotations_of(lease(world)))
    return item


def test_an_unreachable_api_server_ends_in_an_error_and_not_in_a_guess() -> None:
    world = worlds.bench()
    held = world.act("a", worlds.taken)
    runner = world.start("a", worlds.renewed(held), stays=True)
    for _ in itertools.count():
        if runner.wanted is None:
            break
        world.call(runner, "lost")
    assert isinstance(runner.error, errors.ApiError)
    assert oracle.holder(lease(world)) == held.holder
