"""Every error that space_smoke raises on purpose, with the exit code that the command returns for it.

    SpaceSmokeError            70  the harness itself broke (also any exception that is not in this tree)
    |- UsageError              64  wrong flag, wrong argument
    |  `- SpecError            64  a scenario file is wrong: every mistake, each with its place
    |- BenchError               5  the bench or the host is not fit to judge
    |  |- HostUnfit             5  the machine lacks something: what, and the command that cures it
    |  |- CommandFailed         5  docker, kind or helm returned an error or ran out of time
    |  |- ApiError              5  the Kubernetes API refused or could not be reached
    |  `- WaitFailed            5  what was waited for did not come, with the last state seen
    |- Refused                  2  a live holder has a fault up, or the Lease is held by someone not provably dead
    |- LeaseLost                4  a successor holds the Lease now
    `- RestoreIncomplete        3  a fault could not be put back; its record is kept

A message says what was tried, the value, the rule and what to do next. Foreign errors are wrapped once, in
`space_smoke.bench`, with their cause. When several apply, `worst` picks by the order 70, 3, 4, 2, 1, 5, 64, 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PASSED, FAILED, REFUSED, INCOMPLETE, LOST, UNFIT, USAGE, BROKE = 0, 1, 2, 3, 4, 5, 64, 70

_PRECEDENCE = (BROKE, INCOMPLETE, LOST, REFUSED, FAILED, UNFIT, USAGE, PASSED)


def worst(codes: Iterable[int]) -> int:
    """The exit code that wins when several apply; PASSED when there is none. An unlisted code counts as BROKE."""
    seen = {code if code in _PRECEDENCE else BROKE for code in codes}
    return next((code for code in _PRECEDENCE if code in seen), PASSED)


class SpaceSmokeError(Exception):
    """Base of the tree. `next_step` is one sentence or command that the user can act on, or empty."""

    exit_code = BROKE

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message}\n  next: {self.next_step}" if self.next_step else self.message


class UsageError(SpaceSmokeError):
    exit_code = USAGE


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake in a file: `place` is path:line:column, `message` names value and rule."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class SpecError(UsageError):
    """All mistakes of the files that were read, in file order."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(
            "\n".join(str(m) for m in self.mistakes), next_step="correct the places above, then: space_smoke lint"
        )


class BenchError(SpaceSmokeError):
    exit_code = UNFIT


class HostUnfit(BenchError):
    pass


class CommandFailed(BenchError):
    """`argv` without secrets, `returncode` (None: ran out of time), `output` its last lines."""

    def __init__(
        self, message: str, *, argv: Sequence[str], returncode: int | None, output: str, next_step: str = ""
    ) -> None:
        super().__init__(message, next_step=next_step)
        self.argv = tuple(argv)
        self.returncode = returncode
        self.output = output


class ApiError(BenchError):
    """`status` is the HTTP status, or 0 when no answer came and the outcome of the request is unknown."""

    def __init__(self, message: str, *, status: int, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.status = status


class WaitFailed(BenchError):
    """`last` is the last state seen, in words."""

    def __init__(self, message: str, *, last: str, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.last = last


class Refused(SpaceSmokeError):
    exit_code = REFUSED


class LeaseLost(SpaceSmokeError):
    exit_code = LOST


class RestoreIncomplete(SpaceSmokeError):
    exit_code = INCOMPLETE
