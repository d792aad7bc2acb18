"""Where a drill breaks the harness on purpose: at a step of the protocol that was reached, never after a pause.

SPACE_SMOKE_DRILL=ACTION:PURPOSE:POSITION:COUNT, for example kill:inject:before:1. PURPOSE is the step (the purpose of a
write: acquire, stamp, record, inject, restore, clear, release, ...) or * for any; POSITION is before or after the request;
COUNT is which time. ACTION: kill (SIGKILL to this process), stop (SIGSTOP), fail (the request is refused with 403 and not
sent; a COUNT of 1+ means every time from then on). Off when the variable is unset.

SPACE_SMOKE_DRILL_WALL=SECONDS shifts the wall clock that this process writes down, as a jump of the machine's clock would.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from space_smoke import errors
from space_smoke.model import effect

VARIABLE = "SPACE_SMOKE_DRILL"
WALL = "SPACE_SMOKE_DRILL_WALL"
_ACTIONS = ("kill", "stop", "fail")


@dataclass(slots=True)
class Injection:
    """Counts the steps as they are reached and acts at the one that is named."""

    action: str
    purpose: str
    position: str
    count: int
    every: bool = False
    seen: int = 0

    def __call__(self, purpose: str, position: str) -> effect.No | None:
        """None, or the answer to give instead of sending the request."""
        if position != self.position or self.purpose not in ("*", purpose):
            return None
        self.seen += 1
        if self.seen != self.count and not (self.every and self.seen > self.count):
            return None
        if self.action == "fail":
            return effect.No(403, "refused on purpose by a drill")
        os.kill(os.getpid(), signal.SIGKILL if self.action == "kill" else signal.SIGSTOP)
        return None


Reached = Callable[[str, str], effect.No | None]


def nothing(_purpose: str, _position: str) -> effect.No | None:
    return None


def from_environment() -> Reached:
    """What SPACE_SMOKE_DRILL asks for. Raises UsageError when it cannot be read."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return nothing
    parts = text.split(":")
    every = text.endswith("+")
    if (
        len(parts) != 4
        or parts[0] not in _ACTIONS
        or parts[2] not in ("before", "after")
        or not parts[3].strip("+").isdecimal()
    ):
        raise errors.UsageError(
            f"{VARIABLE}={text!r} is not ACTION:PURPOSE:POSITION:COUNT with one of {', '.join(_ACTIONS)} and before or after",
            next_step=f"unset {VARIABLE}: it is for drills",
        )
    return Injection(parts[0], parts[1], parts[2], int(parts[3].strip("+")), every)


def wall_shift_s() -> float:
    """By how many seconds the wall clock is said to be off; 0 outside of drills."""
    return float(os.environ.get(WALL) or 0)
