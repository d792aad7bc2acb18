"""`space_smoke` itself in a process of its own, for drills: followed line by line, killed, never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from space_smoke import errors
from space_smoke.bench import proc


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is negative for a signal; `out` is standard output that was not read before, `err` standard error."""

    code: int
    out: str
    err: str


class Command:
    """`space_smoke ARGUMENTS`, in a session of its own. It dies with this process. `together`: its standard error is part of
    its standard output."""

    def __init__(
        self, arguments: Sequence[str], env: Mapping[str, str] | None = None, *, cwd: Path, together: bool = False
    ) -> None:
        self._child = subprocess.Popen(
            [*proc.mortal(), sys.executable, "-m", "space_smoke", *arguments],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._child.pid

    def lines(self) -> Iterator[str]:
        """Standard output as it comes, until it ends; only for a command that runs `together`."""
        assert self._child.stdout is not None
        yield from self._child.stdout

    def kill(self) -> None:
        """SIGKILL to the command and to nothing that it started: what that leaves is what is to be seen."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child.pid, signal.SIGKILL)

    def end(self, timeout_s: float) -> Ended:
        """Waits for the end. Raises BenchError, and kills, when it takes longer."""
        try:
            out, err = self._child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self._child.communicate()
            raise errors.BenchError(
                f"a command that a drill started did not end in {timeout_s:.0f} s; its last words: {(err or out)[-300:]}"
            ) from None
        return Ended(self._child.returncode, out, err or "")
