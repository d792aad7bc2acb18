"""The cache folder: where everything that `up` makes is kept, each piece whole or absent, and who is making it.

    $SPACE_SMOKE_CACHE, or $XDG_CACHE_HOME/space-smoke, or ~/.cache/space-smoke
      binaries/KEY/       programs, by digest of their recipe        debian/KEY.tar    Debian roots
      work/NAME/          half-made pieces; whoever holds NAME's lock may remove what it finds there
      scratch/PROCESS/    what one process needs for a moment; whoever finds the process dead removes it
      locks/NAME.lock     one flock per piece and per bench; the file's text says which process took it
      benches/NAME/       bench.json, kubeconfig and audit policy of one bench

A piece is made in work/ and renamed into place, so a run killed at any instruction leaves either nothing or a folder in
work/ that the next run removes. Locks are held by the run *and its children* (`proc.inherit`): when a lock is busy but
the process that took it is dead, what remains are orphans of that run, and they are ended. Called by tools, images,
kind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator

from space_smoke import errors
from space_smoke.bench import proc

Emit = Callable[..., None]

PROJECT = pathlib.Path(__file__).resolve().parents[2]
KIND = PROJECT / "kind"
_BUSY_CHECK_S = 0.1


def folder() -> pathlib.Path:
    """The cache folder, made when it is missing. Raises errors.HostUnfit when it cannot be."""
    named = os.environ.get("SPACE_SMOKE_CACHE")
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    path = pathlib.Path(named) if named else base / "space-smoke"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise errors.HostUnfit(
            f"the cache folder {path} cannot be made: {cause}", next_step="name another with SPACE_SMOKE_CACHE"
        ) from cause
    return path.resolve()


def digest(parts: Iterable[str | pathlib.Path]) -> str:
    """A short digest (16 hex digits) of texts and of files or folders with their names, modes and bytes."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            total.update(f"text {len(part)} {part}".encode())
            continue
        for file in [part] if part.is_file() else sorted(p for p in part.rglob("*") if p.is_file()):
            if "__pycache__" in file.parts:
                continue
            content = file.read_bytes()
            executable = bool(file.stat().st_mode & 0o100)
            name = file.name if part.is_file() else str(file.relative_to(part))
            total.update(f"file {name} {executable} {len(content)} ".encode() + content)
    return total.hexdigest()[:16]


def sha256_of(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_whole(path: pathlib.Path, text: str) -> None:
    """Writes `path` so that a reader, or a kill, finds the old text or the new one and nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


@dataclasses.dataclass(frozen=True, slots=True)
class Process:
    """A process that cannot be mistaken for a later one with its number: pid, start time in ticks, boot and host."""

    pid: int
    start_ticks: int
    boot_id: str
    host: str

    @staticmethod
    def current() -> Process:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return Process(os.getpid(), proc.start_ticks(os.getpid()) or 0, boot, socket.gethostname())

    def dead(self) -> bool:
        """Whether it certainly runs no more. A process of another host or mount of /proc cannot be judged: not dead."""
        here = Process.current()
        if self.host != here.host:
            return False
        return self.boot_id != here.boot_id or proc.start_ticks(self.pid) != self.start_ticks


@contextlib.contextmanager
def lock(name: str, emit: Emit, *, timeout_s: float) -> Iterator[bool]:
    """Holds lock `name`; yields whether a run that died holding it was found (its last work may be half done).

    Waits up to `timeout_s` for a live holder, saying so once, then raises errors.BenchError naming it.
    """
    path = folder() / "locks" / f"{name}.lock"
    path.parent.mkdir(exist_ok=True)
    deadline = time.monotonic() + timeout_s
    fd, after_death, told = -1, False, False
    while fd < 0:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(fd)
            orphans = _orphans(path, holder) if holder and holder.dead() else []
            os.close(fd)
            fd = -1
            if orphans:
                after_death = True
                emit("orphans-ended", lock=name, pids=orphans, saying=f"ending {len(orphans)} processes of a dead run")
            elif not told:
                told = True
                emit(
                    "waiting",
                    lock=name,
                    saying=f"another run works on {name}" + (f" (pid {holder.pid})" if holder else ""),
                )
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise errors.BenchError(
                    f"{name} is still being worked on by pid {holder.pid if holder else '?'} after {timeout_s:g} s",
                    next_step="wait for that run to end, or end it, and repeat the command",
                ) from None
            time.sleep(_BUSY_CHECK_S)
            continue
        # Whoever removed the file while we waited left us a lock on nothing.
        if not path.exists() or path.stat().st_ino != os.fstat(fd).st_ino:
            os.close(fd)
            fd = -1
    previous = _holder(fd)
    after_death = after_death or previous is not None
    os.ftruncate(fd, 0)
    os.pwrite(fd, json.dumps(dataclasses.asdict(Process.current())).encode(), 0)
    proc.inherit(fd)
    try:
        yield after_death
    finally:
        proc.disinherit(fd)
        os.ftruncate(fd, 0)
        os.close(fd)


def remove_lock(name: str) -> None:
    """Removes the lock's file; only for its holder. A run that waits for it notices and makes a new one."""
    (folder() / "locks" / f"{name}.lock").unlink(missing_ok=True)


def _holder(fd: int) -> Process | None:
    try:
        return Process(**json.loads(os.pread(fd, 4096, 0) or b"null"))
    except (ValueError, TypeError):
        return None


def _orphans(path: pathlib.Path, dead: Process) -> list[int]:
    """What `dead` started and that still has `path` open. A run that merely waits for the lock has another mark."""
    mark = f"{proc.STARTED_BY}={dead.pid}.{dead.start_ticks}".encode()
    found = set()
    for link in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if link.readlink() == path and mark in (link.parents[1] / "environ").read_bytes().split(b"\0"):
                found.add(int(link.parts[2]))
    return sorted(found)


@contextlib.contextmanager
def workshop(name: str, emit: Emit, *, timeout_s: float) -> Iterator[pathlib.Path]:
    """An empty work folder under lock `name`; what a dead run left in it is removed first, and all of it afterwards."""
    with lock(name, emit, timeout_s=timeout_s):
        place = folder() / "work" / name
        clear(place)
        place.mkdir(parents=True)
        try:
            yield place
        finally:
            clear(place)


@contextlib.contextmanager
def scratch() -> Iterator[pathlib.Path]:
    """An empty folder that only this user may read, gone afterwards. Without a lock: a stopped process must not hold up
    the one that takes over from it. What killed processes left is removed first."""
    place = folder() / "scratch"
    place.mkdir(exist_ok=True)
    for left in place.iterdir():
        host, boot_id, pid, ticks, _ = left.name.split("+")
        if Process(int(pid), int(ticks), boot_id, host).dead():
            shutil.rmtree(left, ignore_errors=True)  # another may be at it too
    mine = Process.current()
    prefix = "+".join((mine.host, mine.boot_id, str(mine.pid), str(mine.start_ticks), ""))
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place) as made:
        yield pathlib.Path(made)


def clear(place: pathlib.Path) -> None:
    """Removes a folder. Refuses one that still has file systems mounted in it: removing would reach into those."""
    inside = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    mounted = [mount for mount in inside if pathlib.Path(mount).is_relative_to(place)]
    if mounted:
        raise errors.BenchError(
            f"{place} has mounts in it: {', '.join(mounted)}", next_step=f"umount {' '.join(mounted)}"
        )
    if place.exists():
        shutil.rmtree(place)
