"""Runners for drills: processes that are started, killed, stopped, resumed, and never left behind.

They are forked from one warm parent (bench.warm), so that a kill costs no interpreter start. A runner tells its events on
standard output, one JSON object a line under the key `event`. It dies with the warm parent, and that with this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.bench import injection, proc

_START_S = 60.0
_DIE_S = 10.0
_CHUNK_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is negative for a signal; `events` are what the process told that was not read before."""

    code: int
    events: list[dict[str, Any]]
    stderr: str


class Warm:
    """The parent of runners that call `MODULE.main`; it called `MODULE.warm(*arguments)` once. Close it at the end."""

    def __init__(self, module: str, arguments: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._child = subprocess.Popen(
                [*proc.mortal(), sys.executable, "-m", "space_smoke.bench.warm", module, *arguments],
                stdin=theirs.fileno(),
                start_new_session=True,
            )

    def start(self, arguments: Sequence[str], inject: str = "", env: Mapping[str, str] | None = None) -> Runner:
        """A runner in a session of its own, broken at the step that `inject` names (bench.injection)."""
        return Runner(self._control, arguments, {**(env or {}), injection.VARIABLE: inject})

    def close(self) -> None:
        """Ends the parent, and with it every runner that still lives."""
        self._control.close()
        try:
            self._child.wait(_START_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


class Runner:
    """One forked process, of which the parent tells `pid`, stops and the end. Its whole group gets the signals."""

    def __init__(self, control: socket.socket, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        self._out, out_end = os.pipe()
        self._life, life_end = os.pipe()
        self._err = os.memfd_create("stderr", os.MFD_CLOEXEC)
        self._open = {self._out, self._life}
        self._told, self._words = bytearray(), bytearray()
        self.pid = 0
        self.code: int | None = None
        self._was_stopped = False
        request = json.dumps({"arguments": list(arguments), "env": dict(env)}).encode()
        try:
            socket.send_fds(control, [request], [out_end, self._err, life_end])
        except OSError as cause:
            raise errors.BenchError(f"the parent of the drill's runners is gone: {cause}") from cause
        finally:
            os.close(out_end)
            os.close(life_end)
        self._until(lambda: self.pid != 0, _START_S, "start")

    def events(self) -> Iterator[dict[str, Any]]:
        """Each event as it is told, until the process ends."""
        while True:
            while b"\n" in self._told:
                line, _, self._told = self._told.partition(b"\n")
                if line.startswith(b"{"):
                    yield json.loads(line)
            if self.code is not None or not self._pump(None):
                return

    def finish(self, timeout_s: float) -> Ended:
        """Waits for the end. Raises BenchError, and kills, when it takes longer."""
        try:
            self._until(lambda: self.code is not None, timeout_s, "end")
        except errors.BenchError:
            self.send(signal.SIGKILL)
            with contextlib.suppress(errors.BenchError):  # that it did not end is what is told
                self._until(lambda: self.code is not None, _DIE_S, "die")
            raise
        assert self.code is not None
        while self._pump(0.0):  # what it told last; a child that it left may hold the pipe open, so this is no wait
            pass
        events = list(self.events())
        with os.fdopen(self._err, "rb") as kept:
            kept.seek(0)
            said = kept.read().decode(errors="replace")
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()
        return Ended(self.code, events, said)

    def stopped(self, timeout_s: float) -> bool:
        """Waits until the process is stopped; False when it ended before."""
        self._until(lambda: self._was_stopped or self.code is not None, timeout_s, "stop or end")
        return self.code is None

    def send(self, number: signal.Signals) -> None:
        """To the whole group; a group that is gone already is fine."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def _until(self, reached: Callable[[], bool], timeout_s: float, what: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not reached():
            left_s = deadline - time.monotonic()
            if left_s <= 0 or (not self._pump(left_s) and not reached() and not self._open):
                raise errors.BenchError(
                    f"a drill's runner did not {what} in {timeout_s:.0f} s; its last words: "
                    + self._told[-300:].decode(errors="replace")
                )

    def _pump(self, timeout_s: float | None) -> bool:
        """Takes what the pipes have, waiting for up to `timeout_s` (None: for ever); False when nothing came."""
        ready, _, _ = select.select(self._open, (), (), timeout_s) if self._open else ((), (), ())
        came = False
        for descriptor in ready:
            chunk = os.read(descriptor, _CHUNK_BYTES)
            if not chunk:
                os.close(descriptor)
                self._open.discard(descriptor)
                continue
            came = True
            if descriptor == self._out:
                self._told += chunk
            else:
                self._words += chunk
                self._hear()
        return came or bool(ready and self._open)

    def _hear(self) -> None:
        """The words of bench.warm."""
        while b"\n" in self._words:
            line, _, self._words = self._words.partition(b"\n")
            word, _, number = line.decode().partition(" ")
            match word:
                case "pid":
                    self.pid = int(number)
                case "stopped":
                    self._was_stopped = True
                case "ended":
                    self.code = int(number)
