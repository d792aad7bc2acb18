"""Runs commands and freezes them: every process below this one is stopped by SIGSTOP and goes on with SIGCONT.

Memory, open files and background processes survive a freeze, which is what "pause keeps state" means here. Time spent
frozen does not count against a command's timeout.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common import mutations

OUTPUT_LIMIT = 1 << 20  # bytes kept of each stream; the rest is read and dropped
NOT_FOUND, NOT_RUNNABLE = 127, 126  # as a shell says it
_CHUNK = 1 << 16
_TICK_S = 0.25  # how soon a running command's clock notices a freeze
_FREEZE_ROUNDS = 20  # a process may fork while its siblings are being stopped


class Frozen(Exception):
    """The sandbox is frozen and starts nothing."""


@dataclass(frozen=True, slots=True)
class Result:
    """`exit_code` is 128 + n for a process ended by signal n; `truncated` when a stream passed OUTPUT_LIMIT."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    truncated: bool
    timed_out: bool
    duration_ms: int


@dataclass(slots=True)
class _Streams:
    """What a command wrote so far, and what it has yet to read."""

    stdin: memoryview
    kept: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()})
    truncated: bool = False

    def keep(self, name: str, data: bytes) -> None:
        room = OUTPUT_LIMIT - len(self.kept[name])
        self.kept[name] += data[:room]
        self.truncated = self.truncated or len(data) > room


class Processes:
    """The processes of one sandbox."""

    def __init__(self, folder: Path, active: frozenset[str] = frozenset()) -> None:
        """Commands run in `folder`, which must exist."""
        self._folder = folder
        self._loses_state = mutations.PAUSE_LOSES_STATE in active
        self._rounds = 0 if mutations.PAUSE_KEEPS_RUNNING in active else _FREEZE_ROUNDS
        self._shell = mutations.COMMAND_THROUGH_SHELL in active
        self._lock = threading.Lock()  # a process is started and known, or not started, before a freeze begins
        self._own: set[int] = set()
        self._frozen_at: float | None = None
        self._frozen_s = 0.0

    @property
    def frozen(self) -> bool:
        return self._frozen_at is not None

    def run(self, command: Sequence[str], stdin: bytes, timeout_s: float) -> Result:
        """Run one command to its end, at most `timeout_s` unfrozen seconds; then its process group is killed.

        Returns when the command itself ends, also when something it started lives on. Raises Frozen.
        """
        started, frozen_before = time.monotonic(), self._frozen_so_far()
        try:
            process = self._start(command)
        except OSError as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
            return Result(code, b"", f"{command[0]}: {error.strerror}\n".encode(), False, False, _ms_since(started))
        streams = _Streams(memoryview(stdin))
        try:
            timed_out = False
            for _ in _pump(process, streams):
                spent_s = time.monotonic() - started - (self._frozen_so_far() - frozen_before)
                if spent_s > timeout_s and not self.frozen:
                    timed_out = True
                    _signal_group(process.pid, signal.SIGKILL)
                    break
            code = process.wait()
        finally:
            self._own.discard(process.pid)
            self._reap_orphans()
        return Result(
            exit_code=code if code >= 0 else 128 - code,
            stdout=bytes(streams.kept["stdout"]),
            stderr=bytes(streams.kept["stderr"]),
            truncated=streams.truncated,
            timed_out=timed_out,
            duration_ms=_ms_since(started),
        )

    def freeze(self) -> int:
        """Stop every process below this one; returns how many are stopped. Again is harmless."""
        if self._loses_state:
            self.kill()
            _empty(self._folder)
        with self._lock:
            if self._frozen_at is None:
                self._frozen_at = time.monotonic()
            for _ in range(self._rounds):
                running = [pid for pid, state in _descendants() if state not in "TtZX"]
                if not running:
                    break
                for pid in running:
                    _signal(pid, signal.SIGSTOP)
            return sum(1 for _, state in _descendants() if state in "Tt")

    def thaw(self) -> int:
        """Let every stopped process go on; returns how many did. Again is harmless."""
        with self._lock:
            stopped = [pid for pid, state in _descendants() if state in "Tt"]
            for pid in stopped:
                _signal(pid, signal.SIGCONT)
            if self._frozen_at is not None:
                self._frozen_s += time.monotonic() - self._frozen_at
                self._frozen_at = None
            return len(stopped)

    def kill(self) -> None:
        """End every process below this one, for the end of the sandbox."""
        for pid, _ in _descendants():
            _signal(pid, signal.SIGKILL)

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self.frozen:
                raise Frozen
            process = subprocess.Popen(
                ["sh", "-c", " ".join(command)] if self._shell else list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self._folder,
                start_new_session=True,
            )
            self._own.add(process.pid)
            return process

    def _frozen_so_far(self) -> float:
        frozen_at = self._frozen_at
        return self._frozen_s + (time.monotonic() - frozen_at if frozen_at is not None else 0.0)

    def _reap_orphans(self) -> None:
        """Collect ended processes that were left to us as the pod's first process; Popen collects its own."""
        with self._lock:
            for pid, state in _descendants():
                if state == "Z" and pid not in self._own:
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)


def _pump(process: subprocess.Popen[bytes], streams: _Streams) -> Iterator[None]:
    """Move data until the process ends; yields at least every `_TICK_S`, so that the caller can look at the clock."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    ended = os.pidfd_open(process.pid)
    with contextlib.ExitStack() as cleanup, selectors.DefaultSelector() as selector:
        cleanup.callback(os.close, ended)
        for pipe in (process.stdin, process.stdout, process.stderr):
            cleanup.callback(pipe.close)
            os.set_blocking(pipe.fileno(), False)
        selector.register(ended, selectors.EVENT_READ)
        selector.register(process.stdout, selectors.EVENT_READ, "stdout")
        selector.register(process.stderr, selectors.EVENT_READ, "stderr")
        selector.register(process.stdin, selectors.EVENT_WRITE, "stdin")
        while True:
            ready = [key for key, _ in selector.select(_TICK_S)]
            for key in ready:
                if key.data and not _move(key.fd, key.data, streams):
                    selector.unregister(key.fileobj)
                    if key.data == "stdin":
                        process.stdin.close()
            if any(key.fd == ended for key in ready):
                break
            yield
        for pipe, name in ((process.stdout, "stdout"), (process.stderr, "stderr")):
            while _move(pipe.fileno(), name, streams, once=False):
                pass


def _move(descriptor: int, name: str, streams: _Streams, *, once: bool = True) -> bool:
    """One read or write; False when this stream has nothing more: it ended, or (not `once`) it is empty for now."""
    try:
        if name == "stdin":
            streams.stdin = (
                streams.stdin[os.write(descriptor, streams.stdin[:_CHUNK]) :] if streams.stdin else streams.stdin
            )
            return bool(streams.stdin)
        data = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return once
    except BrokenPipeError:
        return False
    streams.keep(name, data)
    return bool(data)


def _descendants() -> list[tuple[int, str]]:
    """Every process below this one with its state letter, from /proc; in a pod that is everything else in it."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name may hold spaces and parentheses; the fields after its last parenthesis are plain.
                state, parent = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                parents[int(entry.name)] = (int(parent), state)
    found: set[int] = {os.getpid()}
    grown = True
    while grown:
        below = {pid for pid, (parent, _) in parents.items() if parent in found} - found
        grown = bool(below)
        found |= below
    return [(pid, parents[pid][1]) for pid in sorted(found - {os.getpid()})]


def _empty(folder: Path) -> None:
    """Remove all that a folder holds."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
