"""Finds a file's place in the workspace without ever leaving it, whoever moves folders and links meanwhile.

Every step opens one name below a folder that is already open, and never through a link; links are read and walked here.
`..`, which only a link may hold, goes back to the folder that was opened before, not to what the kernel now calls the
parent. So there is no moment between a check and its use.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from sandbox import refused

PATH_LIMIT, NAME_LIMIT = 4096, 255  # bytes, as Linux has them
_LINK_LIMIT = 40  # as Linux follows
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def parent(root: Path, path: str, *, make: bool = False, trusting: bool = False) -> Iterator[tuple[int, str]]:
    """The open folder that holds `path`, and the last name in it, which is no link; "." is the folder itself.

    `make` creates folders that are missing. `trusting` lets a path lead anywhere, which is a mutation. Raises Refused
    and OSError.
    """
    if trusting:
        real = Path(os.path.realpath(root / path))
        with _opened(os.open(real.parent, os.O_RDONLY | os.O_DIRECTORY)) as folder:
            yield folder, real.name
        return
    walk = _Walk(root, path, make)
    try:
        yield walk.to_the_last()
    finally:
        walk.close()


class _Walk:
    """Folders opened so far, from the workspace down, and the names that are still to be walked."""

    def __init__(self, root: Path, path: str, make: bool) -> None:
        self._root, self._path, self._make, self._links = root, path, make, 0
        self._ahead = _names(path)
        self._open = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]

    def to_the_last(self) -> tuple[int, str]:
        while self._ahead:
            name = self._ahead.pop(0)
            if name == "..":
                self._back()
            elif (target := _link(name, self._open[-1])) is not None:
                self._follow(target)
            elif not self._ahead:
                return self._open[-1], name
            else:
                self._open.append(self._enter(name))
        return self._open[-1], "."

    def close(self) -> None:
        for folder in self._open:
            os.close(folder)

    def _back(self) -> None:
        if len(self._open) == 1:
            raise refused.outside(self._path)
        os.close(self._open.pop())

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > _LINK_LIMIT:
            raise refused.malformed("the path leads through too many links")
        if target.startswith("/"):
            within = os.path.relpath(target, os.path.realpath(self._root)) if _below(target, self._root) else None
            if within is None:
                raise refused.outside(self._path)
            while len(self._open) > 1:
                self._back()
            target = within
        self._ahead[:0] = [name for name in target.split("/") if name not in ("", ".")]

    def _enter(self, name: str) -> int:
        try:
            return os.open(name, _FOLDER, dir_fd=self._open[-1])
        except FileNotFoundError:
            if not self._make:
                raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=self._open[-1])
        return os.open(name, _FOLDER, dir_fd=self._open[-1])


def _names(path: str) -> list[str]:
    """The names of a caller's path; raises Refused when it breaks the rules that need no look at the disk."""
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        raise refused.malformed("a path must be Unicode") from None
    if "\0" in path or len(encoded) > PATH_LIMIT:
        raise refused.malformed(f"a path has no NUL and at most {PATH_LIMIT} bytes")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/") or ".." in names:
        raise refused.outside(path)
    if any(len(name.encode()) > NAME_LIMIT for name in names):
        raise refused.malformed(f"a name in a path has at most {NAME_LIMIT} bytes")
    return names


def _link(name: str, folder: int) -> str | None:
    """Where a link points; None for anything else, also for what does not exist."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None


def _below(target: str, root: Path) -> bool:
    real = os.path.realpath(root)
    return target == real or target.startswith(f"{real}/")


@contextlib.contextmanager
def _opened(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
