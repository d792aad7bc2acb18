"""Drills: the harness is broken on purpose, at a step that it reached, and the bench must be put right by the next command.

Each drill is one function that breaks a runner and returns what was not right afterwards. They run on two light targets
(`ground`) through the same protocol code as a run. `DRILLS` is the whole list.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from space_smoke import errors
from space_smoke.bench import kube, runner
from space_smoke.engine import drilling, ground
from space_smoke.model import objects

STEPS = ("acquire", "record", "stamp", "renew", "inject", "mark-up", "restoring", "restore", "clear", "release")
POSITIONS = ("before", "after")


@dataclass(slots=True)
class Score:
    """`reached` counts by step and position how often a drill's point was hit; `problems` are what was not right."""

    cycles: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def judge(self, on: ground.Ground, what: str) -> None:
        self.cycles += 1
        self.problems += [f"{what}: {problem}" for problem in on.problems()]


Drill = Callable[[ground.Ground, Score], None]


def killed_at_each_step(on: ground.Ground, score: Score) -> None:
    """SIGKILL before and after each write of a run; one successor puts it right."""
    for step in STEPS:
        for position in POSITIONS:
            _kill(on, score, f"kill:{step}:{position}:1", "")
            _must(score, on.go("repair").code == 0, f"the successor after {step} {position} did not end well")
            score.judge(on, f"killed {position} {step}")


def killed_twice(on: ground.Ground, score: Score) -> None:
    """The successor is killed in its repair, at each of its steps; the one after it puts it right."""
    for step in ("acquire", "stamp", "restoring", "restore", "clear", "release"):
        _kill(on, score, "kill:mark-up:after:2", "")
        _kill(on, score, f"kill:{step}:after:1", "successor ")
        _must(score, on.go("repair").code == 0, f"the second successor after {step} did not end well")
        score.judge(on, f"killed twice, the second time after {step}")


def stale_runner(on: ground.Ground, score: Score) -> None:
    """A runner stopped before each of its writes, replaced after its Lease ran out, and resumed: it writes nothing."""
    for step in ("stamp", "renew", "inject", "mark-up", "restoring", "restore", "clear", "release"):
        stale = on.start("cycle", f"stop:{step}:before:1")
        if not stale.stopped(60):
            score.problems.append(f"a runner ended before it reached {step}")
            continue
        score.reached[f"{step}:stopped"] += 1
        on.backdate(7200)
        successor = on.held()
        before = on.snapshot()
        stale.send(signal.SIGCONT)
        ended = on.finish(stale)
        # Before its release everything of its own was put back and verified: then there is nothing left to lose.
        fine = (errors.LOST, errors.PASSED) if step == "release" else (errors.LOST,)
        _must(score, ended.code in fine, f"the stale runner at {step} ended with {ended.code}, not {errors.LOST}")
        _must(score, on.snapshot() == before, f"the stale runner at {step} changed what its successor holds")
        _end(on, successor)
        _must(score, on.go("repair").code == 0, f"the repair after the successor of {step} did not end well")
        score.judge(on, f"stale at {step}")


def restore_fails(on: ground.Ground, score: Score) -> None:
    """The API server refuses the restore once, twice, always: kept on record until it goes through."""
    for times, code in (("1", 0), ("1+", errors.INCOMPLETE)):
        ended = on.go("cycle", f"fail:restore:before:{times}")
        _must(
            score,
            ended.code == code,
            f"with the restore refused {times} times the run ended with {ended.code}, not {code}",
        )
        _must(score, on.go("repair").code == 0, f"the repair after {times} refusals did not end well")
        score.judge(on, f"restore refused {times} times")


def live_holder(on: ground.Ground, score: Score) -> None:
    """A live holder with its faults up, also a stopped one, is refused with 2, and nothing is written."""
    for pause in (False, True):
        holder = on.held()
        if pause:
            holder.send(signal.SIGSTOP)
        before = on.snapshot()
        ended = on.go("repair")
        _must(score, ended.code == errors.REFUSED, f"beside a live holder repair ended with {ended.code}, not 2")
        _must(score, on.snapshot() == before, "something was written beside a live holder")
        _end(on, holder)
        _must(score, on.go("repair").code == 0, "the repair after the holder's death did not end well")
        score.judge(on, "live holder")


def lease_deleted(on: ground.Ground, score: Score) -> None:
    """The Lease is deleted under two faults: the copies on the targets are enough, and the fence only grows."""
    fence = _fence(on)
    _end(on, on.held())
    finalizers = {"metadata": {"finalizers": None}}
    on.cluster.send("PATCH", kube.path_of(ground.LEASE), body=finalizers, content="application/merge-patch+json")
    on.cluster.delete(ground.LEASE)
    _must(score, on.go("repair").code == 0, "the repair without a Lease did not end well")
    score.judge(on, "Lease deleted")
    _must(score, _fence(on) > fence, "the new Lease's fence is not above the old one's")


def target_recreated(on: ground.Ground, score: Score) -> None:
    """A target is deleted and made anew while its fault is up: the fault went with it."""
    _end(on, on.held())
    on.cluster.delete(ground.SCALE)
    on.cluster.create(ground.manifest(ground.SCALE.name, 1))
    _must(score, on.go("repair").code == 0, "the repair after the target was made anew did not end well")
    on.standing[ground.SCALE] = on.cluster.read(ground.SCALE)["spec"]
    score.judge(on, "target recreated")


def two_successors(on: ground.Ground, score: Score) -> None:
    """Two commands find the same dead run at once: one repairs, the other is refused or finds nothing left."""
    for _ in range(3):
        _end(on, on.held())
        pair = [on.start("repair"), on.start("repair")]
        codes = sorted(on.finish(child).code for child in pair)
        _must(score, codes[0] == 0 and codes[1] in (0, errors.REFUSED), f"two successors ended with {codes}")
        score.judge(on, "two successors")


DRILLS: Mapping[str, Drill] = {
    "killed-at-each-step": killed_at_each_step,
    "killed-twice": killed_twice,
    "stale-runner": stale_runner,
    "restore-fails": restore_fails,
    "live-holder": live_holder,
    "lease-deleted": lease_deleted,
    "target-recreated": target_recreated,
    "two-successors": two_successors,
}


def random_kills(on: ground.Ground, score: Score, kills: int, seed: int) -> None:
    """`kills` SIGKILLs at random steps: of a run, and in every third case of its successor too."""
    dice = random.Random(seed)  # noqa: S311  # the seed repeats a drill
    done = 0
    while done < kills:
        point = _point(dice)
        done += _kill(on, score, point, "")
        if dice.random() < 0.34:
            done += _kill(on, score, _point(dice), "successor ")
        _must(score, on.go("repair").code == 0, f"the successor after {point} did not end well")
        score.judge(on, f"random kill {point}")


def run(
    names: Iterable[str], on: ground.Ground, emit: Callable[..., Any], *, kills: int = 0, seed: int = 0
) -> list[str]:
    """Runs drills by name and then the random kills; returns every problem. Raises Refused when the ground is in use."""
    emit(
        "note",
        sentence=f"drills write to namespace {drilling.NAMESPACE} and to the Lease of {drilling.DOMAIN}, nothing else",
    )
    on.prepare()
    problems: list[str] = []
    todo: dict[str, Drill] = {name: DRILLS[name] for name in names}
    if kills:
        todo["random-kills"] = lambda where, score: random_kills(where, score, kills, seed)
    try:
        for name, drill in todo.items():
            problems += _one(name, drill, on, emit)
    finally:
        on.remove()
    return problems


def _one(name: str, drill: Drill, on: ground.Ground, emit: Callable[..., Any]) -> list[str]:
    emit("drill-started", drill=name, claim=(drill.__doc__ or name).strip())
    score, started = Score(), time.monotonic()
    try:
        drill(on, score)
    except errors.SpaceSmokeError as error:
        score.problems.append(f"{name} could not go on: {error.message}")
    seconds = round(time.monotonic() - started, 2)
    reached, problems = dict(score.reached), score.problems
    emit(
        "drill-ended",
        drill=name,
        ok=not problems,
        cycles=score.cycles,
        seconds=seconds,
        problems=problems,
        reached=reached,
    )
    return [f"{name}: {problem}" for problem in score.problems]


def _kill(on: ground.Ground, score: Score, inject: str, who: str) -> bool:
    """Whether the point was reached; a runner that never comes there ends by itself, which is fine."""
    ended = on.go("cycle", inject)
    reached = ended.code == -signal.SIGKILL
    if reached:
        score.reached[who + inject.split(":", 1)[1].rpartition(":")[0]] += 1
    elif ended.code:
        score.problems.append(f"a runner with {inject} ended with {ended.code}: {ended.stderr[-200:]}")
    return reached


def _point(dice: random.Random) -> str:
    return f"kill:{dice.choice(STEPS)}:{dice.choice(POSITIONS)}:{dice.choice((1, 1, 2, 3))}"


def _end(on: ground.Ground, child: runner.Runner) -> None:
    child.send(signal.SIGKILL)
    on.finish(child)


def _fence(on: ground.Ground) -> int:
    return int(objects.annotations_of(on.cluster.read(ground.LEASE)).get("space-smoke.dev/fence", "0"))


def _must(score: Score, fact: bool, sentence: str) -> None:
    if not fact:
        score.problems.append(sentence)
