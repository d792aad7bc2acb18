"""Random kills: every point is hit, successors are killed too, and what is wrong is told."""

from __future__ import annotations

import random
import signal
from collections.abc import Mapping
from typing import Any, cast

import pytest

from space_smoke import errors
from space_smoke.bench import runner
from space_smoke.engine import drill, ground
from space_smoke.engine.drills import kills, runs
from space_smoke.engine.drills import score as scoring
from space_smoke.lease import audit


class Fake:
    """A ground on which each kill is reached, unless its point is in `never`; `broken` is what `problems` finds each time."""

    def __init__(self, never: tuple[str, ...] = (), broken: tuple[str, ...] = (), repair: int = 0) -> None:
        self.never, self.broken, self.repair = never, broken, repair
        self.asked: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.chunks = 0
        self.bench = ""
        self.replay = audit.Replay("d")

    def go(self, mode: str, inject: str = "", *, env: Mapping[str, str] | None = None) -> runner.Ended:
        self.asked.append((mode, inject))
        if not inject:
            return runner.Ended(self.repair, [], "why")
        point = inject.removeprefix("kill:").rpartition(":")[0]
        return runner.Ended(0 if point in self.never else -signal.SIGKILL, [], "")

    def problems(self) -> list[str]:
        return list(self.broken)

    def audited(self) -> list[str]:
        self.chunks += 1
        return []

    def emit(self, kind: str, /, **data: Any) -> None:
        self.notes.append(f"{kind}: {data['sentence']}")


def killed(on: Fake, count: int, seed: int = 1) -> scoring.Score:
    score = scoring.Score()
    kills.random_kills(cast("ground.Ground", on), score, count, seed)
    return score


def test_the_first_points_are_all_points_once_at_their_first_occurrence() -> None:
    drawn = kills._points(random.Random(3))
    first = [next(drawn) for _ in scoring.POINTS]
    assert sorted(first) == sorted(f"{point}:1" for point in scoring.POINTS)
    assert {next(drawn).rpartition(":")[2] for _ in range(200)} == {"1", "2", "3"}


@pytest.mark.parametrize("seed", range(5))
def test_twenty_kills_are_enough_to_reach_every_point(seed: int) -> None:
    score = killed(Fake(), len(scoring.POINTS), seed)
    assert score.problems == []
    assert all(score.reached[point] for point in scoring.POINTS)


def test_successors_are_killed_too_and_some_runs_have_pods() -> None:
    on = Fake()
    score = killed(on, 60)
    assert score.problems == []
    assert score.kills >= 60
    assert all(score.reached[point] for point in scoring.POINTS)
    successors = sum(count for point, count in score.reached.items() if point.startswith("successor "))
    assert 5 < successors < 35
    assert {mode for mode, inject in on.asked if inject} == {"cycle", "cycle-pods", "repair"}


def test_the_same_seed_draws_the_same_kills_and_another_seed_does_not() -> None:
    first, second, third = Fake(), Fake(), Fake()
    killed(first, 30, seed=5), killed(second, 30, seed=5), killed(third, 30, seed=6)
    assert first.asked == second.asked
    runs_of_first, runs_of_third = ([one for one in on.asked if one[0] != "repair"] for on in (first, third))
    assert runs_of_first[:20] != runs_of_third[:20]


def test_a_point_that_is_never_reached_is_a_problem() -> None:
    score = killed(Fake(never=("inject:after",)), 30)
    assert score.problems == ["never killed at inject:after"]


def test_a_repair_that_fails_and_what_it_left_are_problems() -> None:
    score = killed(Fake(broken=("deployment/x is not standing",), repair=errors.INCOMPLETE), 1)
    assert len(score.problems) == 2
    assert "ended with 3: why" in score.problems[0]
    assert score.problems[1].endswith("deployment/x is not standing")


def test_progress_is_told_and_the_audit_log_read_every_25_kills() -> None:
    on = Fake()
    killed(on, 60)
    assert on.notes[0].startswith("note: 2")
    assert len(on.notes) == on.chunks == 2
    assert "s a cycle, 0 problems" in on.notes[-1]


def test_a_drill_that_needs_a_kind_bench_is_not_run_elsewhere_and_says_so() -> None:
    on = Fake()
    todo = drill._possible(drill.DRILLS, cast("ground.Ground", on), on.emit)
    assert set(drill.DRILLS) - set(todo) == drill.KIND_ONLY
    assert len(on.notes) == len(drill.KIND_ONLY)


def test_every_drill_makes_a_claim_and_says_what_it_touches() -> None:
    on = cast("ground.Ground", Fake())
    for name, one in drill.DRILLS.items():
        assert one.__doc__, name
        assert drill.touches(name, on), name
    whole = runs.Killing("local.x", 1, 0, [], "space")
    assert "local.x" in drill.touches("killed-runs", on, whole)
