"""Which claims about members are believed, and what becomes of those who are accused."""

from __future__ import annotations

import dataclasses
import random

import pytest

from swim import broadcasts, events
from swim.context import Context
from swim.health import Health
from swim.members import DEAD, LEFT, LIFE_LIMIT, MEMBER_CAP, SUSPECT, Member, Members
from swim.messages import Alive, Claim, Dead, Left, Suspect
from swim.parameters import KIND
from swim.turn import Turn

HERE, THERE = ("10.0.0.1", 1), ("10.0.0.2", 1)
SHORT_LIVED = dataclasses.replace(KIND, dead_ttl=10.0)


class Table:
    """Members of the node "me", with nothing around them."""

    def __init__(self, *others: str) -> None:
        self.context = Context(SHORT_LIVED, random.Random(1))
        self.context.begin(0)
        self.health = Health(8)
        self.queue = broadcasts.Queue(1000, lambda: 3, 4)
        self.members = Members(self.context, self.queue, self.health, Member("me", (3, 0), HERE))
        self.hear(*(Alive(name, (1, 0), THERE) for name in others))

    def hear(self, *claims: Claim) -> list[events.Effect]:
        for claim in claims:
            self.members.hear(claim)
        return self.context.finish()

    def wait(self, seconds: float) -> list[events.Effect]:
        """Let time pass in small steps, as a node's ticks would."""
        effects = []
        for _ in range(round(seconds * 10)):
            self.context.begin(self.context.now + 0.1)
            effects += self.context.finish()
        return effects

    def state(self, name: str) -> tuple[str, tuple[int, int]] | None:
        member = self.members.get(name)
        return (member.state, member.life) if member else None


def test_a_newcomer_is_believed_and_told_on() -> None:
    table = Table()
    assert table.hear(Alive("x", (1, 0), THERE)) == [events.MemberChanged("x", THERE, (1, 0), "alive")]
    assert len(table.members) == 2
    assert len(table.queue) == 1


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([Suspect("x", (1, 0), "y")], (SUSPECT, (1, 0))),
        ([Suspect("x", (0, 9), "y")], ("alive", (1, 0))),
        ([Suspect("x", (1, 0), "y"), Alive("x", (1, 0), THERE)], (SUSPECT, (1, 0))),
        ([Suspect("x", (1, 0), "y"), Alive("x", (1, 1), THERE)], ("alive", (1, 1))),
        ([Dead("x", (1, 0), "y"), Alive("x", (1, 0), THERE)], (DEAD, (1, 0))),
        ([Dead("x", (1, 0), "y"), Suspect("x", (1, 5), "y")], (DEAD, (1, 0))),
        ([Dead("x", (1, 0), "y"), Alive("x", (2, 0), HERE)], ("alive", (2, 0))),
        ([Left("x", (1, 0)), Dead("x", (1, 0), "y")], (LEFT, (1, 0))),
        ([Alive("x", (1, 2), THERE), Dead("x", (1, 1), "y")], ("alive", (1, 2))),
        ([Alive("x", (1, 70_000), THERE)], ("alive", (1, 0))),
        ([Dead("x", (70_000, 0), "y")], ("alive", (1, 0))),
    ],
)
def test_the_later_life_holds_and_then_the_worse_state(claims: list[Claim], expected: tuple[str, object]) -> None:
    table = Table("x")
    table.hear(*claims)
    assert table.state("x") == expected


def test_accusations_of_strangers_are_not_believed() -> None:
    table = Table()
    table.hear(Suspect("x", (1, 0), "y"), Dead("x", (1, 0), "y"), Left("x", (1, 0)))
    assert table.state("x") is None


@pytest.mark.parametrize("accusation", [Suspect("me", (3, 0), "y"), Dead("me", (3, 4), "y"), Left("me", (3, 2))])
def test_an_accused_node_refutes_with_a_later_life_and_doubts_itself(accusation: Claim) -> None:
    table = Table("x")
    table.hear(accusation)
    assert table.members.me.life == (3, accusation.life[1] + 1)
    assert table.health.score == 1


def test_an_accusation_of_an_earlier_life_is_not_worth_an_answer() -> None:
    table = Table("x")
    table.hear(Dead("me", (2, 9), "y"))
    assert table.members.me.life == (3, 0)


def test_a_node_that_lost_its_generation_goes_past_what_others_knew_and_says_so() -> None:
    table = Table("x")
    effects = table.hear(Dead("me", (7, 2), "y"))
    assert effects == [events.GenerationRaised(7)]
    assert table.members.me.life == (7, 3)


def test_no_life_is_so_late_that_it_cannot_be_followed() -> None:
    table = Table("x")
    table.hear(*(Dead("me", (3, LIFE_LIMIT - back), "y") for back in (1, 1)))
    assert table.members.me.life == (4, 0)
    table.hear(Dead("me", (LIFE_LIMIT, 0), "y"), Suspect("me", (2**32 - 1, 2**32 - 1), "y"))
    table.hear(Alive("z", (LIFE_LIMIT, 0), THERE))
    assert (table.members.me.life, table.state("z")) == ((4, 0), None)
    table.hear(Dead("me", (LIFE_LIMIT - 1, LIFE_LIMIT - 1), "y"))
    assert table.members.me.life == (4, 0)
    assert table.context.counters["claim", "absurd"] == 4


def test_two_holders_of_one_name_are_a_conflict() -> None:
    table = Table("x")
    assert events.NameConflict("me", THERE) in table.hear(Alive("me", (3, 0), THERE))
    assert events.NameConflict("x", HERE) in table.hear(Alive("x", (1, 5), HERE))
    assert table.state("x") == ("alive", (1, 0))


def test_a_node_that_leaves_answers_no_more() -> None:
    table = Table("x")
    table.members.leave()
    table.hear(Dead("me", (3, 0), "y"))
    assert table.members.me.life == (3, 0)
    assert table.members.me.state == LEFT


def test_a_suspicion_ends_in_death_and_sooner_when_others_confirm() -> None:
    table = Table("x", "y", "z", "u")
    table.hear(Suspect("x", (1, 0), "me"))
    table.wait(11.5)
    assert table.state("x") == (SUSPECT, (1, 0))
    assert events.MemberChanged("x", THERE, (1, 0), DEAD) in table.wait(1)
    table.hear(Suspect("y", (1, 0), "me"), Suspect("y", (1, 0), "z"), Suspect("y", (1, 0), "u"))
    table.wait(1.5)
    assert table.state("y") == (SUSPECT, (1, 0))
    assert events.MemberChanged("y", THERE, (1, 0), DEAD) in table.wait(1)


def test_the_same_accuser_confirms_nothing() -> None:
    table = Table("x", "y", "z")
    table.hear(*[Suspect("x", (1, 0), "me")] * 5)
    while table.queue.take(1000):
        pass
    table.hear(Suspect("x", (1, 0), "me"))
    assert len(table.queue) == 0
    table.wait(11.5)
    assert table.state("x") == (SUSPECT, (1, 0))


def test_a_refuted_suspicion_does_not_end_in_death() -> None:
    table = Table("x", "y")
    table.hear(Suspect("x", (1, 0), "me"))
    table.wait(1)
    table.hear(Alive("x", (1, 1), THERE))
    table.wait(30)
    assert table.state("x") == ("alive", (1, 1))


def test_a_forgotten_member_is_not_brought_back_by_a_late_claim() -> None:
    table = Table("x")
    table.hear(Dead("x", (1, 4), "y"))
    assert events.MemberEvicted("x") in table.wait(11)
    table.hear(Alive("x", (1, 4), THERE))
    assert table.state("x") is None
    assert table.members.accused("x") == Dead("x", (1, 4), "me")
    table.hear(Alive("x", (1, 5), THERE))
    assert table.state("x") == ("alive", (1, 5))


def test_a_member_that_came_back_is_not_forgotten_for_its_earlier_death() -> None:
    table = Table("x")
    table.hear(Dead("x", (1, 0), "y"))
    table.wait(5)
    table.hear(Alive("x", (2, 0), THERE))
    table.wait(30)
    assert table.state("x") == ("alive", (2, 0))


def test_everybody_has_a_turn_in_each_round_and_the_rounds_differ() -> None:
    names = sorted(f"x{number}" for number in range(6))
    table = Table(*names)
    turn = Turn(table.members, random.Random(2))
    rounds = [[found.name for _ in names if (found := turn.next())] for _ in range(5)]
    assert all(sorted(once) == names for once in rounds)
    assert len({tuple(once) for once in rounds}) == 5
    table.hear(Dead("x0", (1, 0), "y"))
    later = [turn.next() for _ in range(10)]
    assert table.members.get("x0") not in later


def test_members_are_bounded() -> None:
    table = Table(*(f"x{number}" for number in range(MEMBER_CAP + 5)))
    assert len(table.members) == MEMBER_CAP + 1
    assert table.context.counters["claim", "member_cap"] == 5
