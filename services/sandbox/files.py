"""Files of the workspace: put whole, got whole, listed.

A file is written beside its place and renamed into it, so that whoever reads sees one version whole, however many
write at once; the last one stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common import mutations
from sandbox import paths, refused

SIZE_LIMIT = 4 << 20  # bytes of one file
ENTRY_LIMIT = 10_000
_PARTIAL = ".space-put-"  # what is being written; not listed
_MODE = 0o644
_CHUNK = 1 << 16

_ERRORS = {
    errno.ENOENT: (404, "file_not_found", "there is no such file"),
    errno.ENOTDIR: (409, "not_a_directory", "a name on the way is no directory"),
    errno.EISDIR: (409, "not_a_file", "it is a directory"),
    errno.ELOOP: (409, "not_a_file", "it changed into a link meanwhile"),
    errno.ENXIO: (409, "not_a_file", "it is no regular file"),
    errno.EACCES: (409, "not_permitted", "its permissions do not allow that"),
    errno.EPERM: (409, "not_permitted", "its permissions do not allow that"),
    errno.ENOSPC: (413, "no_space", "the workspace is full"),
    errno.EDQUOT: (413, "no_space", "the workspace is full"),
    errno.ENAMETOOLONG: (400, "malformed", "the path is too long"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a folder; `size` in bytes, 0 for all but files."""

    name: str
    kind: str
    size: int


class Files:
    """The files below one folder. Every call raises Refused."""

    def __init__(self, root: Path, active: frozenset[str] = frozenset()) -> None:
        self._root = root
        self._trusting = mutations.PATH_TRAVERSAL_ALLOWED in active
        self._in_place = mutations.FILES_NOT_ATOMIC in active

    def put(self, path: str, data: bytes) -> int:
        """Make the file, and the folders it is in, or replace it; returns its size. It keeps its permissions."""
        if len(data) > SIZE_LIMIT:
            raise _too_large()
        with self._place(path, make=True) as (folder, name):
            mode = _replaceable(folder, name)
            if self._in_place:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
                with os.fdopen(os.open(name, flags, mode, dir_fd=folder), "wb", 0) as file:
                    for start in range(0, len(data), _CHUNK):
                        file.write(data[start : start + _CHUNK])
                return len(data)
            partial = _PARTIAL + secrets.token_hex(8)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(partial, flags, mode, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    os.fchmod(file.fileno(), mode)
                os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(partial, dir_fd=folder)
                raise
        return len(data)

    def get(self, path: str) -> bytes:
        """What the file holds, all of one version."""
        with self._place(path) as (folder, name):
            # A pipe would otherwise be waited for until somebody writes.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise refused.Refused(409, "not_a_file", "it is no regular file")
                data = file.read(SIZE_LIMIT + 1)
        if len(data) > SIZE_LIMIT:
            raise _too_large()
        return data

    def list(self, path: str) -> tuple[list[Entry], bool]:
        """The entries of a folder by name, and whether there are more than ENTRY_LIMIT."""
        with self._place(path) as (parent, name):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            folder = os.open(name, flags, dir_fd=parent)
            try:
                with os.scandir(folder) as found_all:
                    names = sorted(found.name for found in found_all if not found.name.startswith(_PARTIAL))
                entries = [entry for found in names[:ENTRY_LIMIT] if (entry := _entry(folder, found))]
            finally:
                os.close(folder)
        return entries, len(names) > ENTRY_LIMIT

    @contextlib.contextmanager
    def _place(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        try:
            with paths.parent(self._root, path, make=make, trusting=self._trusting) as place:
                yield place
        except OSError as error:
            if error.errno not in _ERRORS:
                raise
            raise refused.Refused(*_ERRORS[error.errno]) from error


def _replaceable(folder: int, name: str) -> int:
    """The permissions that the file at `name` has or will get; raises Refused when something else is there."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return _MODE
    if not stat.S_ISREG(found.st_mode):
        raise refused.Refused(409, "not_a_file", "something other than a file is there")
    return stat.S_IMODE(found.st_mode)


def _entry(folder: int, name: str) -> Entry | None:
    """One entry; None when it is gone by now. A name that is no Unicode is told with replacement characters."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
    kind = kinds.get(stat.S_IFMT(found.st_mode), "other")
    return Entry(os.fsencode(name).decode(errors="replace"), kind, found.st_size if kind == "file" else 0)


def _too_large() -> refused.Refused:
    return refused.Refused(413, "too_large", f"a file has at most {SIZE_LIMIT} bytes")
