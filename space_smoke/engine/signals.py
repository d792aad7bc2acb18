"""Ctrl-C, SIGTERM and a run that outlives its budget: each ends the phases and leads to the restore, never past it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGALRM: "its budget is used up"}


class Interrupted(BaseException):
    """Not an Exception on purpose: nothing between here and the restore may take it for a failed step."""


class Shield:
    """While it is up (the restore), a signal is told and otherwise has no effect: half a restore helps nobody."""

    def __init__(self, tell: Callable[..., Any]) -> None:
        self._tell = tell
        self._up = False
        self._came: list[str] = []

    def arrived(self, number: int, _frame: FrameType | None) -> None:
        name = _NAMES.get(signal.Signals(number), str(number))
        if self._up:
            self._came.append(name)  # told afterwards: the signal may have come in the middle of telling something
            return
        raise Interrupted(name)

    @contextmanager
    def raised(self) -> Iterator[None]:
        self._up = True
        try:
            yield
        finally:
            self._up = False
        for name in self._came:
            self._tell("note", sentence=f"{name} came while things were being put back, which it did not stop")


@contextmanager
def guarded(tell: Callable[..., Any], budget_s: float) -> Iterator[Shield]:
    """Signals raise Interrupted inside, except under the shield. In a thread other than the main one: no handlers."""
    shield = Shield(tell)
    if threading.current_thread() is not threading.main_thread():
        yield shield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {number: signal.signal(number, shield.arrived) for number in numbers}
    signal.setitimer(signal.ITIMER_REAL, budget_s)
    try:
        yield shield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
