"""Death is proven or it is not known."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from space_smoke.model import life

_OURS = life.Facts(same_boot=True, same_pid_namespace=True, same_user=True)


def facts(**changes: object) -> life.Facts:
    return dataclasses.replace(_OURS, **changes)  # type: ignore[arg-type]


_RUNS = {"pid_present": True, "same_start": True, "zombie": False, "group_members": 1}
_GONE = {"pid_present": False, "group_members": 0}


@pytest.mark.parametrize(
    ("given", "verdict", "says"),
    [
        (facts(lock_free=True), "dead", "its lock is free"),
        (facts(**_GONE), "dead", "its process is gone"),
        (facts(**{**_RUNS, "same_start": False, "group_members": 0}), "dead", "belongs to another process now"),
        (facts(**{**_RUNS, "zombie": True, "group_members": 0}), "dead", "zombie"),
        (facts(**_RUNS), "alive", "its process runs"),
        (facts(**_RUNS, lock_free=False), "alive", "its process runs"),
        (facts(**{**_RUNS, "same_start": None}), "alive", "may run"),
        (facts(**_GONE, lock_free=False), "alive", "a child of that run still holds its lock"),
        (facts(**{**_GONE, "group_members": 2}), "unknown", "2 processes are left in its group"),
        (facts(**{**_GONE, "group_members": None}), "unknown", "process group could not be looked up"),
        (facts(), "unknown", "could not be looked up"),
        (facts(**_GONE, same_boot=False), "unknown", "another machine"),
        (facts(**_GONE, same_pid_namespace=False), "unknown", "another pid namespace"),
        (facts(**_GONE, same_user=False), "unknown", "another user"),
        (facts(lock_free=True, same_boot=False), "unknown", "another machine"),
    ],
)
def test_a_holder_is_dead_only_on_proof(given: life.Facts, verdict: str, says: str) -> None:
    judged = life.judge(given)
    assert judged.life == verdict
    assert says in judged.reason


def test_nothing_that_is_not_known_to_be_ours_is_ever_dead() -> None:
    three = (None, True, False)
    for ours in itertools.product((True, False), repeat=3):
        for lock, present, start, zombie, members in itertools.product(three, three, three, three, (None, 0, 1)):
            boot, namespace, user = ours
            judged = life.judge(life.Facts(boot, namespace, user, lock, present, start, zombie, members))
            if not all(ours):
                assert judged.life == "unknown"
            elif judged.life == "dead" and not lock:
                assert members == 0
                assert present is False or start is False or zombie


def test_a_held_lock_is_never_a_dead_run() -> None:
    three = (None, True, False)
    for present, start, zombie, members in itertools.product(three, three, three, (None, 0, 1)):
        judged = life.judge(life.Facts(True, True, True, False, present, start, zombie, members))
        assert judged.life != "dead"
