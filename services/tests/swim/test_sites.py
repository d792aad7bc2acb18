"""Simulated sites at the edges of their lives: kills, restarts, partitions, jumps of clocks."""

from __future__ import annotations

from swim import bounds, events
from swim.members import ALIVE, DEAD, LEFT, SUSPECT
from swim.parameters import KIND
from swim.simulator.churn import Churn
from tests.swim import claims
from tests.swim.claims import THREE, agree, knows_all, started
from tests.swim.looking import NONE, node, state, states_seen


def test_churn_with_loss_cuts_kills_jumps_and_forgeries_violates_nothing() -> None:
    for seed in range(4):
        run = Churn(seed, every=1.0)
        assert run.run(120) == []
        assert run.watch.merges > 100


def test_a_run_is_determined_by_its_seed() -> None:
    first, again, other = Churn(7), Churn(7), Churn(8)
    for run in (first, again, other):
        run.run(60)
    assert (first.world.packets, first.world.acknowledged) == (again.world.packets, again.world.acknowledged)
    assert first.world.acknowledged != other.world.acknowledged


def test_who_cannot_be_asked_directly_is_asked_through_others() -> None:
    world = started(NONE)
    seen = states_seen(world)
    world.conditions.cut = {("s1", "s2")}
    world.run(60)
    assert not [change for change in seen if change[2] == DEAD]
    assert node(world, "s1").counters["probe", "failed"] == 0


def test_a_node_that_hears_nobody_doubts_itself_and_accuses_more_slowly() -> None:
    world = started(NONE)
    world.conditions.cut = {("s2", "s1"), ("s3", "s1")}
    world.run(5)
    assert node(world, "s1").health > 0
    assert node(world, "s1").counters["probe", "failed"] <= 5  # of ten periods
    world.heal()
    world.run(30)
    assert node(world, "s1").health == 0
    assert knows_all(world)


def test_a_node_whose_helpers_answer_does_not_doubt_itself_when_another_dies() -> None:
    world = started(NONE)
    world.kill("s3")
    assert not world.run(20, lambda: node(world, "s1").health > 0)
    assert state(world, "s1", "s3") == DEAD
    assert node(world, "s1").counters["probe", "failed"] > 0


def test_one_that_was_stopped_for_long_accuses_nobody_when_it_goes_on() -> None:
    world = started(NONE)
    seen = states_seen(world)
    for seconds in (3600.0, -3600.0, 40.0, -0.3):
        world.jump("s1", seconds)
        world.run(30)
    assert not seen
    assert node(world, "s1").counters["clock", "late"] >= 2
    assert node(world, "s1").counters["clock", "back"] >= 1
    world.spend("s1", "t", 3)
    assert world.run(1, lambda: agree(world, 3))


def test_a_suspicion_does_not_end_by_a_jump_of_the_clock() -> None:
    world = started(NONE)
    world.cut(["s2"], ["s1", "s3"])
    assert world.run(10, lambda: state(world, "s1", "s2") == SUSPECT)
    seen = states_seen(world)
    world.heal()
    world.jump("s1", 3600.0)
    assert world.run(10, lambda: state(world, "s1", "s2") == ALIVE)
    assert not [change for change in seen if change[2] == DEAD]


def test_a_restarted_site_is_alive_again_at_once_with_what_it_acknowledged() -> None:
    world = started(NONE)
    world.spend("s1", "t", 30)
    world.kill("s1")
    world.start("s1")
    world.spend("s1", "t", 4)
    assert world.run(bounds.healing(3, KIND), lambda: agree(world, 34) and knows_all(world))
    assert state(world, "s2", "s1") == ALIVE
    world.run(30)
    assert agree(world, 34)


def test_all_restart_together_and_nothing_is_lost() -> None:
    world = started(NONE)
    for cents, name in enumerate(THREE, start=1):
        world.spend(name, "t", cents)
    for name in THREE:
        world.kill(name)
    world.start()
    assert world.run(bounds.healing(3, KIND), lambda: agree(world, 6))


def test_a_site_that_lost_its_disk_relearns_its_own_spend_and_generation_from_others() -> None:
    world = started(NONE)
    world.kill("s1")
    world.start("s1")
    world.run(5)
    world.spend("s1", "t", 30)
    world.run(5)
    world.kill("s1")
    world.sites["s1"].lose_disk()
    world.start("s1")
    assert world.run(bounds.healing(3, KIND), lambda: agree(world, 30) and knows_all(world))
    world.run(bounds.detection(3, KIND))
    assert state(world, "s2", "s1") == ALIVE
    world.spend("s1", "t", 5)
    assert world.run(2, lambda: agree(world, 35))


def test_a_site_made_anew_elsewhere_takes_its_own_place_with_and_without_its_disk() -> None:
    for loses_disk in (False, True):
        world = started(NONE)
        world.kill("s1")
        world.move("s1", "10.9.9.9")
        if loses_disk:
            world.sites["s1"].lose_disk()
        world.start("s1")
        world.spend("s1", "t", 5)
        world.run(bounds.detection(3, KIND) + bounds.healing(3, KIND))
        for name in ("s2", "s3"):
            member = node(world, name).members.get("s1")
            assert member
            assert (member.state, member.address[0]) == (ALIVE, "10.9.9.9")
        assert agree(world, 5)


def test_who_says_good_bye_has_left_and_is_not_dead() -> None:
    world = started(NONE)
    seen = states_seen(world)
    world.tell("s3", events.Leave())
    world.run(1)
    world.kill("s3")
    world.run(30)
    assert {change for change in seen if change[1] == "s3"} == {("s1", "s3", LEFT), ("s2", "s3", LEFT)}


def test_both_sides_of_a_partition_that_outlived_membership_find_each_other_again() -> None:
    world = started(NONE, parameters=claims.SHORT_LIVED)
    world.cut(["s1"], ["s2", "s3"])
    world.run(bounds.detection(3, KIND) + 10)
    assert state(world, "s1", "s2") is None
    world.heal()
    assert world.run(bounds.healing(3, KIND), lambda: knows_all(world))


def test_what_an_isolated_site_believed_kills_nobody_when_it_comes_back() -> None:
    world = started(NONE)
    world.cut(["s1"], ["s2", "s3"])
    world.run(bounds.detection(3, KIND))
    assert (state(world, "s1", "s2"), state(world, "s1", "s3")) == (DEAD, DEAD)
    seen = states_seen(world)
    world.heal()
    assert world.run(bounds.healing(3, KIND), lambda: knows_all(world))
    world.run(5)
    assert not [change for change in seen if change[2] == DEAD]


def test_the_dead_are_asked_now_and_then_also_without_seeds() -> None:
    world = started(NONE)
    for site in world.sites.values():
        site.seeds = ()
    world.cut(["s1"], ["s2", "s3"])
    world.run(bounds.detection(3, KIND))
    world.heal()
    assert world.run(KIND.reconnect_interval + bounds.healing(3, KIND), lambda: knows_all(world))
