"""The journal on disk: a first line {"journal": 1, ...}, then one JSON object per event. Survives SIGKILL at any byte.

Each event is one write to a file opened for appending, so it is with the kernel before the next thing happens; at the
borders of phases, at faults and at verdicts it is also flushed to the disk. A `Writer` is a listener of a History and
must never stop a run that has faults up: a write that fails is kept in `trouble`, which the caller shows at the end.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from space_smoke import errors
from space_smoke.model import history

VERSION = 1
NAME = "journal.jsonl"

_FLUSHED = (
    "run-started", "scenario-started", "phase-started", "phase-ended", "fault-planned", "fault-up", "fault-restored",
    "fault-kept", "environment", "repaired", "lease-acquired", "lease-released", "lease-lost", "verdict", "open-faults",
    "scenario-ended", "run-ended",
)  # fmt: skip


class Writer:
    """Call it with each event. Raises UsageError when the journal is there already: a run never writes over another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        self._torn = False
        self._lock = threading.Lock()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise errors.UsageError(
                f"a journal is there already: {path}", next_step="give the run a directory of its own"
            ) from None
        self._put({"journal": VERSION, "of": "space_smoke"}, flush=True)

    def __call__(self, event: history.Event) -> None:
        line = {"n": event.index, "at_s": event.at_s, "kind": event.kind, "data": event.data}
        self._put(line, flush=event.kind in _FLUSHED)

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def _put(self, line: Mapping[str, Any], *, flush: bool) -> None:
        text = (json.dumps(line, default=str, separators=(",", ":")) + "\n").encode()
        with self._lock:
            try:
                self._write(b"\n" + text if self._torn else text)
                self._torn = False
                if flush:
                    os.fsync(self._file)
            except OSError as error:
                self._torn = True
                self.trouble = self.trouble or f"the journal could not be written: {error.strerror} ({self.path})"

    def _write(self, text: bytes) -> None:
        while text:
            text = text[os.write(self._file, text) :]


def read(path: Path) -> list[history.Event]:
    """The events of a journal. Lines that cannot be read (the last one of a killed run, most often) are left out, and a
    note event at the end says which. Raises UsageError when there is no journal or a newer version wrote it."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise errors.UsageError(
            f"there is no journal to read at {path} ({error.strerror})", next_step="give the directory of a run"
        ) from error
    tail = lines.pop()
    events: list[history.Event] = []
    notes: list[str] = []
    for number, line in enumerate([*lines, tail] if tail else lines, start=1):
        if not line:
            continue
        parsed = _parsed(line)
        if number == 1 and parsed is not None and "journal" in parsed:
            _known(path, parsed["journal"])
            continue
        event = _event(parsed)
        if event is not None:
            events.append(event)
        elif number > len(lines):
            notes.append(f"the journal ends within a line: {len(line)} bytes of an event were left out")
        else:
            notes.append(f"line {number} of the journal could not be read and was left out")
    if not events:
        notes.append("the journal holds no event")
    following = max((event.index for event in events), default=-1) + 1
    at_s = events[-1].at_s if events else 0.0
    return events + [history.Event(following + n, at_s, "note", {"sentence": said}) for n, said in enumerate(notes)]


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _event(line: Mapping[str, Any] | None) -> history.Event | None:
    if line is None:
        return None
    index, at_s, kind, data = (line.get(key) for key in ("n", "at_s", "kind", "data"))
    if not isinstance(index, int) or not isinstance(at_s, int | float) or not isinstance(kind, str):
        return None
    return history.Event(index, float(at_s), kind, data) if isinstance(data, dict) else None


def _known(path: Path, version: object) -> None:
    if not isinstance(version, int) or version > VERSION:
        raise errors.UsageError(
            f"{path} is a journal of version {version!r}, and this space_smoke reads versions up to {VERSION}",
            next_step="read it with the space_smoke that wrote it, or a newer one",
        )
