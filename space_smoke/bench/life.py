"""What this machine knows of processes: who we are, and whether the process that a Lease names still lives.

Linux only for proofs: elsewhere every fact is unknown, and an unknown holder is never taken for dead.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from space_smoke.bench import cache, proc
from space_smoke.model import life

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boottime() -> float:
    """Seconds since boot, suspend included."""
    return time.clock_gettime(_CLOCK)


class Lock:
    """The flock that a run takes for life. Children inherit the descriptor, so it is free only when all are gone."""

    def __init__(self, run: str) -> None:
        folder = cache.folder() / "runs"
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        self.path = folder / f"{run}.lock"
        self.descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        proc.inherit(self.descriptor)


def _sweep(folder: Path) -> None:
    """Removes lock files of long-dead runs: nobody holds them and no Lease can outlive its hour by a day."""
    for path in folder.glob("*.lock"):
        if time.time() - path.stat().st_mtime > 86_400 and lock_free(str(path)):
            path.unlink(missing_ok=True)


def identity(run: str, lock: Lock | None) -> dict[str, Any]:
    """What a run writes of itself on the Lease."""
    return {
        "run": run,
        "host": socket.gethostname(),
        "user": f"{getpass.getuser()}:{os.getuid()}",
        "boot": _boot_id(),
        "pidns": _pid_namespace(),
        "pid": os.getpid(),
        "ticks": start_ticks(os.getpid()),
        "group": os.getpgid(0),
        "lock": str(lock.path) if lock else "",
        "command": " ".join(sys.argv)[:200],
    }


def examine(holder: Mapping[str, Any]) -> life.Facts:
    """Facts about a holder as `identity` described it; whatever is missing or malformed there stays unknown."""
    same = {
        "same_boot": bool(holder.get("boot")) and holder.get("boot") == _boot_id(),
        "same_pid_namespace": bool(holder.get("pidns")) and holder.get("pidns") == _pid_namespace(),
        "same_user": holder.get("user") == f"{getpass.getuser()}:{os.getuid()}",
    }
    pid, ticks, group = (_whole(holder.get(key)) for key in ("pid", "ticks", "group"))
    if not all(same.values()) or pid is None or not Path("/proc/self/stat").exists():
        return life.Facts(**same)
    present = Path(f"/proc/{pid}").exists()
    return life.Facts(
        **same,
        lock_free=lock_free(str(holder.get("lock") or "")),
        pid_present=present,
        same_start=(start_ticks(pid) == ticks) if present and ticks is not None else None,
        zombie=_zombie(pid) if present else None,
        group_members=_members(group) if group is not None else None,
    )


def lock_free(path: str) -> bool | None:
    """True: the file is there and nobody holds its flock. A missing file proves nothing."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot (proc(5), field 22)."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def first_seen(uid: str, version: str) -> float:
    """Boottime at which this machine first saw a Lease at this version. Kept across commands, forgotten at a boot."""
    path = cache.folder() / "seen.json"
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        known = {}
    if not isinstance(known, dict) or known.get("boot") != _boot_id():
        known = {"boot": _boot_id()}
    entry = known.get(uid)
    if isinstance(entry, list) and len(entry) == 2 and entry[0] == version:
        return float(entry[1])
    known[uid] = [version, boottime()]
    cache.write_whole(path, json.dumps(known))
    return float(known[uid][1])


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name may hold spaces and brackets; fields count from the last one


def _zombie(pid: int) -> bool:
    """Defunct and no other thread left: a leader may exit before its threads do."""
    fields = _stat(pid)
    try:
        threads = [path for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(pid)]
    except OSError:
        threads = []
    return bool(fields) and fields[0] in ("Z", "X") and not threads


def _members(group: int) -> int:
    """Live processes of a process group."""
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(path.name))
        if fields and int(fields[2]) == group and fields[0] not in ("Z", "X"):
            count += 1
    return count


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _pid_namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
