"""A runner in a process of its own, for drills: started, killed, stopped, resumed, and never left behind.

It tells its events on standard output, one JSON object a line under the key `event`. It dies with this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from space_smoke import errors
from space_smoke.bench import injection, proc


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is negative for a signal; `events` are what the process told that was not read before."""

    code: int
    events: list[dict[str, Any]]
    stderr: str


class Runner:
    """`python -m MODULE ARGUMENTS`, broken at the step that `inject` names (bench.injection)."""

    def __init__(self, module: str, arguments: Sequence[str], inject: str = "") -> None:
        self._child = subprocess.Popen(
            [*proc.mortal(), sys.executable, "-m", module, *arguments],
            env={**os.environ, injection.VARIABLE: inject},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def events(self) -> Iterator[dict[str, Any]]:
        """Each event as it is told, until the process ends."""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if line.startswith("{"):
                yield json.loads(line)

    def finish(self, timeout_s: float) -> Ended:
        """Waits for the end. Raises BenchError, and kills, when it takes longer."""
        try:
            out, err = self._child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            out, _ = self._child.communicate()
            raise errors.BenchError(
                f"a drill's runner did not end in {timeout_s:.0f} s; its last words: {out[-300:]}"
            ) from None
        told = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        return Ended(self._child.returncode, told, err)

    def stopped(self, timeout_s: float) -> bool:
        """Waits until the process is stopped (state T); False when it ended before."""
        deadline = time.monotonic() + timeout_s
        while self._child.poll() is None:
            with contextlib.suppress(OSError, IndexError):
                if Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                    return True
            if time.monotonic() > deadline:
                raise errors.BenchError(f"a drill's runner neither stopped nor ended in {timeout_s:.0f} s")
            os.sched_yield()  # there is no event to wait for when a child that is not traced stops in another session
        return False

    def send(self, number: signal.Signals) -> None:
        """To the whole group; a group that is gone already is fine."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, number)
