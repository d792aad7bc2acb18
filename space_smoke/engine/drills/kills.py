"""Runners killed at steps that they reached, and their successors too."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from space_smoke.engine import ground
from space_smoke.engine.drills import score as scoring

_TOLD_EVERY = 25
_PODS_EVERY = 5  # of random cycles, how many are on faults that start and stop pods


def killed_at_each_step(on: ground.Ground, score: scoring.Score) -> None:
    """SIGKILL before and after each write of a run; one successor puts it right."""
    for point in scoring.POINTS:
        scoring.kill(on, score, "cycle-pods", f"{point}:1")
        score.ended_well(on.go("repair"), f"the successor after {point}")
        score.judge(on, f"killed {point}")


def killed_twice(on: ground.Ground, score: scoring.Score) -> None:
    """The successor is killed in its repair, at each of its steps; the one after it puts it right."""
    for step in ("acquire", "stamp", "restoring", "restore", "clear", "release"):
        scoring.kill(on, score, "cycle", "mark-up:after:2")
        scoring.kill(on, score, "repair", f"{step}:after:1", "successor ")
        score.ended_well(on.go("repair"), f"the second successor after {step}")
        score.judge(on, f"killed twice, the second time after {step}")


def random_kills(on: ground.Ground, score: scoring.Score, kills: int, seed: int) -> None:
    """SIGKILLs at random steps: of a run, and in every third case of its successor too."""
    dice = random.Random(seed)  # noqa: S311  # the seed repeats a drill
    points, began, told = _points(dice), time.monotonic(), 0
    whole = kills >= len(scoring.POINTS)  # enough to come by every point
    while score.kills < kills or (whole and score.cycles < len(scoring.POINTS)):
        point = next(points)
        pods = score.cycles % _PODS_EVERY == 0
        killed = scoring.kill(on, score, "cycle-pods" if pods else "cycle", point)
        if killed and dice.random() < 1 / 3:
            scoring.kill(on, score, "repair", f"{dice.choice(scoring.POINTS)}:{dice.choice((1, 1, 2))}", "successor ")
        score.ended_well(on.go("repair"), f"the successor after {point}")
        score.judge(on, f"random kill {point}")
        if score.kills // _TOLD_EVERY > told:
            told = score.kills // _TOLD_EVERY
            score.problems += on.audited()
            on.emit("note", sentence=_progress(on, score, kills, time.monotonic() - began))
    if whole:
        missed = [point for point in scoring.POINTS if not score.reached[point]]
        score.must(not missed, f"never killed at {', '.join(missed)}")


def _points(dice: random.Random) -> Iterator[str]:
    """Every point once, in a random order, again and again: the first time round at its first occurrence, so that all are
    reached, later at any of the first three."""
    occurrences: tuple[int, ...] = (1,)
    while True:
        for point in dice.sample(scoring.POINTS, len(scoring.POINTS)):
            yield f"{point}:{dice.choice(occurrences)}"
        occurrences = (1, 1, 2, 3)


def _progress(on: ground.Ground, score: scoring.Score, kills: int, seconds: float) -> str:
    return (
        f"{score.kills} of {kills} kills, {score.cycles} cycles, {seconds / score.cycles:.2f} s a cycle, "
        f"{len(score.problems)} problems, {sum(on.replay.committed.values())} writes replayed from the audit log"
    )
