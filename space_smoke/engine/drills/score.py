"""What a drill found, and the few acts that all of them share."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from space_smoke import errors
from space_smoke.bench import runner
from space_smoke.engine import ground

STEPS = ("acquire", "record", "stamp", "renew", "inject", "mark-up", "restoring", "restore", "clear", "release")
POSITIONS = ("before", "after")
POINTS = tuple(f"{step}:{position}" for step in STEPS for position in POSITIONS)


@dataclass(slots=True)
class Score:
    """`reached` counts by step and position how often a drill's point was hit; `problems` are what was not right."""

    cycles: int = 0
    kills: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def judge(self, on: ground.Ground, what: str) -> None:
        self.cycles += 1
        self.problems += [f"{what}: {problem}" for problem in on.problems()]

    def must(self, fact: bool, sentence: str) -> None:
        if not fact:
            self.problems.append(sentence)

    def ended_well(self, ended: runner.Ended, who: str) -> None:
        told = next((event["sentence"] for event in ended.events if event["event"] == "note"), ended.stderr[-300:])
        self.must(ended.code == errors.PASSED, f"{who} ended with {ended.code}: {told}")


Drill = Callable[[ground.Ground, Score], None]


def kill(on: ground.Ground, score: Score, mode: str, point: str, who: str = "") -> bool:
    """Whether the point (STEP:POSITION:COUNT) was reached; a runner that never comes there ends by itself, which is fine."""
    ended = on.go(mode, f"kill:{point}")
    reached = ended.code == -signal.SIGKILL
    if reached:
        score.kills += 1
        score.reached[who + point.rpartition(":")[0]] += 1
    else:
        score.ended_well(ended, f"a runner that was to be killed at {point}, and was not,")
    return reached


def end(on: ground.Ground, child: runner.Runner) -> None:
    child.send(signal.SIGKILL)
    on.finish(child)
