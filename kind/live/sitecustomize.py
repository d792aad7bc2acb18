"""Starts a service anew when Tilt has put changed code beside it. Imported by Python itself, at the start of a process.

A container's root is read-only, so live update writes to LIVE, in an emptyDir. A package is found in one place only: its
unchanged files are copied there as well before the first start with changed ones. The process is replaced in place,
so its container is not restarted and keeps what was synced. A file that is removed stays until the image is built anew.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

SHIPPED, LIVE = Path("/opt/space"), Path("/tmp/space-live")  # noqa: S108 (the pod's own)
_POLL_S = 0.3

Seen = frozenset[tuple[str, int, int]]


def seen(folder: Path) -> Seen:
    """Path, time of change and size of every file that is no bytecode; empty when there is no folder."""
    found = set()
    for path in folder.rglob("*"):
        try:
            state = path.stat()
        except FileNotFoundError:
            continue  # it is being replaced
        if path.is_file() and "__pycache__" not in path.parts:
            found.add((str(path), state.st_mtime_ns, state.st_size))
    return frozenset(found)


def complete(shipped: Path, live: Path) -> None:
    """Copies what `live` lacks of the services; `site`, their dependencies, is found where it is."""
    for path in shipped.rglob("*"):
        there = live / path.relative_to(shipped)
        skipped = {"__pycache__", "site"} & set(path.relative_to(shipped).parts)
        if path.is_file() and not skipped and not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, there)


def watch(shipped: Path, live: Path, restart: Callable[[], None], sleep: Callable[[float], None]) -> None:
    """Calls `restart` once after each change, when nothing has changed for one turn."""
    before = seen(live)
    while True:
        sleep(_POLL_S)
        now = seen(live)
        while now != before:
            before = now
            sleep(_POLL_S)
            now = seen(live)
            if now == before:
                complete(shipped, live)
                restart()
                before = now = seen(live)


def _again() -> None:
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 (the very same program)


# Only the container's first process is a service; what runs inside a sandbox is not.
if os.getpid() == 1:
    threading.Thread(target=watch, args=(SHIPPED, LIVE, _again, time.sleep), daemon=True).start()
