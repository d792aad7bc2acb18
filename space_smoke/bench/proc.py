"""The one way this project starts other programs: bounded in time, in a session of its own, and dead when we are.

Every child is started through `setpriv --pdeathsig KILL` (util-linux), so that a SIGKILL of this process reaches it
too. Python's own way, a `preexec_fn`, runs Python code between fork and exec and can deadlock in a program with
threads; `setpriv` costs a millisecond and keeps the pid. The signal is sent when the *thread* that started the child
ends, which is no danger here: `run` blocks that thread until the child is gone. A child's own children get no such
signal. They hold the file descriptors given to `inherit`, so whoever finds those locks still held by a dead run can end
them (`bench.cache`). `contained` goes further, where we are root: the whole tree of processes dies with the child.

Used by every module of `bench` that runs docker, kind, helm, debootstrap or go. Nothing else starts a process.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from space_smoke import errors

_LAST_LINES = 20
_CHUNK_BYTES = 65536
_inherited: list[int] = []
_running: set[subprocess.Popen[bytes]] = set()

STARTED_BY = "SPACE_SMOKE_STARTED_BY"
"""Set for every child to PID.START_TICKS of this process: how a later run knows the orphans of a dead one."""


@dataclass(frozen=True, slots=True)
class Done:
    """A finished child. `seconds` is wall time; `returncode` is negative for a signal, as in `subprocess`."""

    stdout: str
    stderr: str
    returncode: int
    seconds: float


def inherit(fd: int) -> None:
    """Lets every later child hold `fd` open: an flock on it then lasts until the last of them is gone."""
    if fd not in _inherited:
        _inherited.append(fd)


def disinherit(fd: int) -> None:
    """Undoes `inherit`; to be called before `fd` is closed."""
    with contextlib.suppress(ValueError):
        _inherited.remove(fd)


@functools.cache
def mortal() -> tuple[str, ...]:
    """What to put before a command so that it dies with us."""
    path = shutil.which("setpriv")
    if path is None:
        raise errors.HostUnfit(
            "setpriv is not on PATH; without it a killed run would leave its children behind",
            next_step="install util-linux (apt-get install util-linux)",
        )
    return (path, "--pdeathsig", "KILL", "--")


def start_ticks(pid: int) -> int | None:
    """When `pid` started, in clock ticks since boot; None when it does not exist or is a zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


@functools.cache
def _mark() -> str:
    return f"{os.getpid()}.{start_ticks(os.getpid())}"


def end_all() -> None:
    """Kills every child of every thread; each `run` then raises. For a run that failed or was interrupted."""
    for child in list(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def contained(argv: Sequence[str]) -> list[str]:
    """`argv` in process and mount namespaces of its own: what it starts or mounts is gone when it ends. Root only."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", *argv]


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: bytes | int | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    cwd: str | os.PathLike[str] | None = None,
    check: bool = True,
    on_line: Callable[[str], None] | None = None,
) -> Done:
    """Runs `argv` to its end and returns what it said.

    `stdin` is bytes to feed or a descriptor to read from; `env` is added to ours. `on_line` is called with each line of
    stdout and stderr as it comes, from this thread. Raises errors.CommandFailed for a non-zero return code (unless
    `check` is false), when `timeout_s` has passed (returncode None) and when the program does not exist. On timeout,
    and on any exception such as KeyboardInterrupt, the child's whole process group is killed and reaped first.
    """
    started = time.monotonic()
    feed = stdin if isinstance(stdin, bytes) else None
    try:
        child = subprocess.Popen(
            [*mortal(), *argv],
            stdin=subprocess.PIPE if isinstance(stdin, bytes) else subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, STARTED_BY: _mark(), **(env or {})},
            cwd=cwd,
            pass_fds=(*_inherited, *pass_fds),
            start_new_session=True,
        )
    except OSError as cause:
        raise errors.CommandFailed(f"cannot start {argv[0]}: {cause}", argv=argv, returncode=None, output="") from cause
    _running.add(child)
    try:
        out, err, in_time = _exchange(child, feed, started + timeout_s, on_line)
    except BaseException:
        _end_group(child)
        raise
    finally:
        _running.discard(child)
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                stream.close()
    if not in_time:
        _end_group(child)
        raise _failure(argv, None, out + err, f"ran longer than {timeout_s:g} s and was killed")
    done = Done(out, err, child.wait(), time.monotonic() - started)
    if check and done.returncode:
        said = err if err.strip() else out
        raise _failure(argv, done.returncode, said, f"returned {done.returncode} after {done.seconds:.1f} s")
    return done


def _exchange(
    child: subprocess.Popen[bytes], feed: bytes | None, deadline: float, on_line: Callable[[str], None] | None
) -> tuple[str, str, bool]:
    """Moves bytes both ways until the child has ended, or the deadline. The last item says whether it was in time."""
    collected: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
    told = dict.fromkeys(collected, 0)
    pending = memoryview(feed or b"")
    with selectors.DefaultSelector() as selector:
        for name in collected:
            selector.register(getattr(child, name), selectors.EVENT_READ, name)
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE, "stdin")
        while selector.get_map():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return *_texts(collected), False
            for key, _ in selector.select(left_s):
                if key.data == "stdin":
                    pending = _write(key.fd, pending)
                    if not pending:
                        selector.unregister(key.fileobj)
                        child.stdin.close()  # type: ignore[union-attr]
                    continue
                chunk = os.read(key.fd, _CHUNK_BYTES)
                if not chunk:
                    selector.unregister(key.fileobj)
                collected[key.data] += chunk
                if on_line is not None:
                    told[key.data] = _tell(collected[key.data], told[key.data], on_line, ended=not chunk)
    try:
        child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return *_texts(collected), False
    return *_texts(collected), True


def _texts(collected: Mapping[str, bytearray]) -> tuple[str, str]:
    return collected["stdout"].decode(errors="replace"), collected["stderr"].decode(errors="replace")


def _write(fd: int, pending: memoryview) -> memoryview:
    """What is left after one write; nothing when the child no longer reads, which its return code will explain."""
    try:
        return pending[os.write(fd, pending[:_CHUNK_BYTES]) :]
    except BrokenPipeError:
        return pending[len(pending) :]


def _tell(text: bytearray, told: int, on_line: Callable[[str], None], *, ended: bool) -> int:
    """Reports the complete lines after offset `told`; returns the offset up to which all is reported."""
    end = len(text) if ended else text.rfind(b"\n") + 1
    if end <= told:
        return told
    for line in text[told:end].decode(errors="replace").splitlines():
        on_line(line)
    return end


def _end_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _failure(argv: Sequence[str], returncode: int | None, output: str, what: str) -> errors.CommandFailed:
    tail = "\n".join(output.strip().splitlines()[-_LAST_LINES:])
    shown = shlex.join(argv[:6]) + (" ..." if len(argv) > 6 else "")
    return errors.CommandFailed(
        f"`{shown}` {what}" + (f"; its last lines:\n{tail}" if tail else ""),
        argv=argv,
        returncode=returncode,
        output=tail,
    )
