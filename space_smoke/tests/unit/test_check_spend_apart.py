"""spend-apart: what sites show that do not hear of each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import grid_story, histories
from space_smoke.tests.unit.grid_story import spent

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN
GROUPS = [["a"], ["b", "c"]]
OWN = {"a": 110, "b": 150, "c": 150}  # of 100 before, 10 on a, and 20 and 30 on b and c


def story(end: Mapping[str, int], until_s: float = 16.0) -> grid_story.Story:
    """All show 1.00 USD, are told of spend at 2 s, and show `end` from then on."""
    made = grid_story.Story()
    made.watched()
    made.all_show(1.0, {"acme": 100})
    made.load("spend", [spent("a", 10, 2.0), spent("b", 20, 2.0), spent("c", 30, 2.0)], kind="grid-spend")
    for at_s in (3.0, until_s):
        for site, cents in end.items():
            made.sample(site, at_s, {"acme": cents})
    made.ended()
    return made


def judged(the: grid_story.Story, **more: Any) -> verdict.Verdict:
    return histories.judged("spend-apart", the, **{"watch": "seen", "loads": ["spend"], "groups": GROUPS, **more})


def test_sites_that_show_their_own_groups_spend_alone_pass() -> None:
    found = judged(story(OWN))
    assert found.judged == PASS, found.sentence
    assert "shows its own group's spend and no other's (a and bc)" in found.sentence


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (
            {**OWN, "a": 160},
            "at most 1.10 USD of tenant acme on site a, which is all that its group was told; saw 1.60",
        ),
        ({**OWN, "c": 151}, "at most 1.50 USD of tenant acme on site c"),
    ],
)
def test_spend_of_another_group_in_a_sum_fails(end: Mapping[str, int], words: str) -> None:
    found = judged(story(end))
    assert found.judged == FAIL
    assert words in found.sentence


def test_spend_of_ones_own_group_must_come_within_its_bound_and_a_shorter_watch_is_unknown() -> None:
    silent = {**OWN, "b": 120}
    found = judged(story(silent))
    assert found.judged == FAIL
    assert "1.50 USD of tenant acme on site b within 10.3 s; saw 1.20 USD 14.0 s after" in found.sentence
    assert judged(story(silent, until_s=9.0)).judged == UNKNOWN


def test_only_the_sites_that_are_asked_for_are_judged() -> None:
    assert judged(story({**OWN, "c": 999}), among=["a", "b"]).judged == PASS
    assert judged(story({**OWN, "a": 999}), among=["a"]).judged == FAIL


def test_a_group_that_was_told_nothing_and_a_site_without_samples_are_unknown() -> None:
    assert judged(story(OWN), groups=[["a"], ["b", "c"], ["d"]], among=["a"]).judged == UNKNOWN
    assert judged(story({"a": 110, "b": 150})).judged == UNKNOWN
