"""Who belongs together: keys, networks, seeds, names and epochs."""

from __future__ import annotations

from swim import codec, events
from swim.envelope import KEY_BYTES, Envelope
from swim.messages import Ack
from swim.simulator.site import Site
from swim.simulator.world import World
from tests.swim import claims
from tests.swim.claims import THREE, agree, knows_all, signed, started, totals
from tests.swim.looking import NONE, node

OLD, NEW = bytes(KEY_BYTES), bytes(range(KEY_BYTES))


def test_another_holder_of_the_own_name_is_reported() -> None:
    world = started(NONE)
    conflicts: list[events.Effect] = []

    def look(_: float, site: Site, effect: events.Effect) -> None:
        if isinstance(effect, events.NameConflict):
            conflicts.append(effect)

    world.observers.append(look)
    twin = codec.head("s1", ("192.0.2.77", 7946)) + codec.encode(Ack(1))
    world.inject("s1", Envelope("net").close(twin))
    assert conflicts == [events.NameConflict("s1", ("192.0.2.77", 7946))]


def test_two_networks_on_the_same_addresses_do_not_mix() -> None:
    world = World(THREE)
    world.sites["s3"].make_envelope = lambda: Envelope("other")
    world.start()
    for name in THREE:
        world.spend(name, "t", 1)
    world.run(10)
    assert totals(world)[:2] == [2, 2]
    assert len(node(world, "s3").members) == 1
    assert node(world, "s1").counters["exchange", "other_network"] > 0


def test_seeds_are_asked_for_again_until_they_answer() -> None:
    world = World(THREE)
    for site in world.sites.values():
        site.seeds = ()
    world.start()
    world.run(10)
    assert [len(node(world, name).members) for name in THREE] == [1, 1, 1]
    world.sites["s1"].seeds = (world.sites["s2"].address,)
    world.sites["s3"].seeds = (world.sites["s2"].address,)
    assert world.run(10, lambda: knows_all(world))


def test_an_epoch_that_has_passed_is_refused_and_counted() -> None:
    world = started(NONE)
    world.tell("s1", events.EpochSet(3))
    world.tell("s1", events.EpochSet(2))
    assert node(world, "s1").ledger.epoch == 3
    assert node(world, "s1").counters["epoch", "old_epoch"] == 1


def test_spend_of_a_coming_epoch_is_kept_for_those_who_are_not_there_yet() -> None:
    world = started(NONE)
    world.set_epoch("s1", 1)
    world.spend("s1", "t", 8)
    world.run(3)
    world.kill("s1")
    assert totals(world) == [0, 0]
    for name in ("s2", "s3"):
        world.set_epoch(name, 1)
    assert totals(world) == [8, 8]


def test_a_claimed_record_with_an_absurd_sequence_locks_nobody_out() -> None:
    world = started(NONE)
    claims.say(world, "s1", signed("t", "s2", 1, sequence=2**53 - 1)._replace(signature=bytes(64)))
    world.spend("s2", "t", 2)
    assert world.run(1, lambda: agree(world, 2))
