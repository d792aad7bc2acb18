"""The audit log of a Kind bench's API server: what was really written, to be replayed through the protocol's invariants.

The API server writes an entry before it answers (its log backend blocks), so what was answered before a read is in that
read. It renames audit.log to audit-TIME.log at 100 MB and begins a new one: files are followed by inode, not by name.
"""

from __future__ import annotations

import json
from typing import Any

from space_smoke import errors
from space_smoke.bench import engine, proc

_FOLDER = "/var/log/kubernetes"
_CURRENT = "audit.log"
_READ_S = 120.0
# Rotated files first, oldest first, as their names sort; the one that is written to last. One open descriptor gives inode
# and bytes, so that a rename between the two cannot mix files up.
_LIST = f'cd {_FOLDER} || exit 1; for f in audit-*.log audit.log; do [ -e "$f" ] && stat -c "%i %s %n" "$f"; done; true'
_TAIL = f'cd {_FOLDER} && exec 3<"$1" && stat -L -c %i /dev/fd/3 && tail -c "+$2" <&3'


class Reader:
    """Reads on from where it stood, across rotations; at first that is the end of the log as it is now."""

    def __init__(self, bench: str) -> None:
        self._node = f"{bench}-control-plane"
        found = self._files()
        if not any(name == _CURRENT for _, _, name in found):
            raise errors.BenchError(
                f"{self._node} keeps no audit log in {_FOLDER}", next_step="space_smoke up --recreate"
            )
        self._read = {inode: size for inode, size, _ in found}

    def entries(self) -> list[dict[str, Any]]:
        """The whole entries since the last call, in the order they were written. Raises BenchError."""
        found: list[dict[str, Any]] = []
        for inode, size, name in self._files():
            start = self._read.get(inode, 0)
            if size > start:
                text = self._tail(inode, name, start)
                if text is None:
                    return found + self.entries()  # renamed since it was listed
                whole = text[: text.rfind("\n") + 1]
                self._read[inode] = start + len(whole.encode())
                found += [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return found

    def _files(self) -> list[tuple[int, int, str]]:
        lines = (line.split(" ", 2) for line in self._in_node(_LIST).stdout.splitlines())
        return [(int(inode), int(size), name) for inode, size, name in lines]

    def _tail(self, inode: int, name: str, start: int) -> str | None:
        done = self._in_node(_TAIL, name, str(start + 1), check=False)
        told, _, text = done.stdout.partition("\n")
        if done.returncode and told != str(inode):
            return None
        if done.returncode:
            raise errors.BenchError(f"{name} of {self._node} could not be read: {done.stderr[-300:]}")
        return text if told == str(inode) else None

    def _in_node(self, script: str, *arguments: str, check: bool = True) -> proc.Done:
        return engine.docker("exec", self._node, "sh", "-c", script, "-", *arguments, timeout_s=_READ_S, check=check)
