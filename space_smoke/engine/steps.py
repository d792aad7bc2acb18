"""A list of steps, each begun as soon as those it comes after are done; independent ones overlap.

The list is written in the order a person would do it by hand. A step may reach marks before it ends, so that others
need not wait for all of it. The first failure ends every child process, lets the rest unwind, and is raised. Called by
up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from space_smoke.bench import cache, proc

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Step(Generic[State]):
    """`act` returns what to tell of the result, in a few words. `after` names steps or marks."""

    name: str
    saying: str
    act: Callable[[State], str]
    after: tuple[str, ...] = ()


@dataclass(slots=True)
class Marks:
    """What has been reached so far, and the first failure."""

    seconds: dict[str, float] = field(default_factory=dict)
    failure: BaseException | None = None
    _reached: set[str] = field(default_factory=set)
    _change: threading.Condition = field(default_factory=threading.Condition)

    def reach(self, name: str) -> None:
        with self._change:
            self._reached.add(name)
            self._change.notify_all()

    def fail(self, cause: BaseException) -> None:
        """Keeps the first failure; ends all children, whose `run` calls then raise in their threads."""
        with self._change:
            if self.failure is None:
                self.failure = cause
            self._change.notify_all()
        proc.end_all()

    def wait_for(self, names: Iterable[str]) -> bool:
        """True once all are reached, false when something failed first."""
        wanted = set(names)
        with self._change:
            self._change.wait_for(lambda: self.failure is not None or wanted <= self._reached)
            return self.failure is None


def run(steps: Sequence[Step[State]], state: State, marks: Marks, emit: cache.Emit) -> None:
    """Runs the steps; raises the first failure. `marks.seconds` then holds the time that each took."""
    threads = [
        threading.Thread(target=_one, args=(step, state, marks, emit), name=step.name, daemon=True) for step in steps
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as interruption:
        marks.fail(interruption)
        for thread in threads:
            thread.join(timeout=10)
        raise
    if marks.failure is not None:
        raise marks.failure


def _one(step: Step[State], state: State, marks: Marks, emit: cache.Emit) -> None:
    if not marks.wait_for(step.after):
        return
    emit("step-started", step=step.name, saying=step.saying)
    started = time.monotonic()
    try:
        detail = step.act(state)
    except BaseException as cause:
        told = marks.failure is not None  # ended because another step failed: that one is worth telling, this is not
        marks.fail(cause)
        seconds = time.monotonic() - started
        emit("step-ended", step=step.name, seconds=seconds, ok=False, detail="ended" if told else str(cause))
        return
    marks.seconds[step.name] = time.monotonic() - started
    emit("step-ended", step=step.name, seconds=marks.seconds[step.name], ok=True, detail=detail)
    marks.reach(step.name)
