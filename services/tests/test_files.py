"""Files of a sandbox: whole or not at all, and never outside of its workspace."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
import urllib3

from sandbox import files, paths, refused
from tests import sandboxes, serving
from tests.sandboxes import Sandbox

Setup = Callable[[Path], object]


@pytest.fixture
def room(tmp_path: Path) -> Path:
    return serving.make_room(tmp_path)


@pytest.fixture
def sandbox(room: Path) -> Iterator[Sandbox]:
    made = Sandbox(room)
    yield made
    made.stop()


def ask(sandbox: Sandbox, method: str, body: bytes = b"", **query: str | bytes) -> urllib3.BaseHTTPResponse:
    return sandbox.http.request(method, f"/files?{urlencode(query)}", body=body)


@pytest.mark.parametrize(
    "path", ["a", "folder/a", "./a//b/", "ü/\N{SNOWMAN} x", "a b+c%20", "..a/b..", "\u202e", "n\nl"]
)
@pytest.mark.parametrize("data", [b"", bytes(range(256)) * 5])
def test_what_was_put_is_got(path: str, data: bytes, sandbox: Sandbox) -> None:
    put = ask(sandbox, "PUT", data, path=path)
    assert (put.status, put.json()) == (200, {"path": path, "size": len(data)})
    got = ask(sandbox, "GET", path=path)
    assert (got.status, got.data) == (200, data)
    assert got.headers["Content-Type"] == "application/octet-stream"


def test_a_listing_names_kinds_and_sizes_in_order(sandbox: Sandbox, room: Path) -> None:
    (room / "b").write_bytes(b"12")
    (room / "a").mkdir()
    (room / "l").symlink_to("b")
    os.mkfifo(room / "pipe")
    (room / ".space-put-x").write_bytes(b"half")
    expected = [("a", "directory", 0), ("b", "file", 2), ("l", "symlink", 0), ("pipe", "other", 0)]
    for path in ("", ".", "./"):
        told = ask(sandbox, "GET", list=path).json()
        assert [(one["name"], one["kind"], one["size"]) for one in told["entries"]] == expected
        assert told["truncated"] is False
    assert ask(sandbox, "GET", list="a").json() == {"entries": [], "truncated": False}


def test_a_long_listing_is_cut_and_says_so(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ENTRY_LIMIT", 2)
    for name in "abc":
        (room / name).touch()
    entries, truncated = files.Files(room).list("")
    assert ([entry.name for entry in entries], truncated) == (["a", "b"], True)


OUTSIDE: dict[str, tuple[Setup, str]] = {
    "absolute": (lambda room: None, "/etc/passwd"),
    "parent": (lambda room: None, "../outside/secret"),
    "parent within": (lambda room: (room / "a").mkdir(), "a/../../outside/secret"),
    "parent that stays within": (lambda room: (room / "a").mkdir(), "a/../b"),
    "link to a file": (lambda room: (room / "l").symlink_to("../outside/secret"), "l"),
    "absolute link": (lambda room: (room / "l").symlink_to(room.parent / "outside" / "secret"), "l"),
    "link to a folder": (lambda room: (room / "l").symlink_to(room.parent / "outside"), "l/secret"),
    "link to a link": (
        lambda room: ((room / "m").symlink_to("../outside"), (room / "l").symlink_to("m/secret")),
        "l",
    ),
    "link from a folder below": (
        lambda room: ((room / "a").mkdir(), (room / "a" / "l").symlink_to("../../outside")),
        "a/l/secret",
    ),
    "link past a folder with the workspace's name": (
        lambda room: (room / "l").symlink_to(f"{room}-not/secret"),
        "l",
    ),
    "link to the root's proc": (lambda room: (room / "l").symlink_to("/proc/self/root"), "l/etc/passwd"),
}


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("method", ["PUT", "GET", "list"])
def test_no_path_leads_out_of_the_workspace(name: str, method: str, sandbox: Sandbox, room: Path) -> None:
    setup, path = OUTSIDE[name]
    setup(room)
    refusal = ask(sandbox, "GET", list=path) if method == "list" else ask(sandbox, method, b"overwritten", path=path)
    assert (refusal.status, refusal.json()["error"]["code"]) == (400, "path_outside")
    assert (room.parent / "outside" / "secret").read_bytes() == b"secret"
    assert {entry.name for entry in (room.parent / "outside").iterdir()} == {"secret"}


WITHIN: dict[str, Setup] = {
    "a relative link": lambda room: (room / "l").symlink_to("real"),
    "a link up and down again": lambda room: ((room / "a").mkdir(), (room / "l").symlink_to("a/../real")),
    "an absolute link": lambda room: (room / "l").symlink_to(room / "real"),
    "a chain": lambda room: ((room / "m").symlink_to("./real"), (room / "l").symlink_to("m")),
}


@pytest.mark.parametrize("name", WITHIN)
def test_a_link_that_stays_within_is_followed(name: str, sandbox: Sandbox, room: Path) -> None:
    (room / "real").mkdir()
    WITHIN[name](room)
    assert ask(sandbox, "PUT", b"x", path="l/file").status == 200
    assert (room / "real" / "file").read_bytes() == b"x"
    assert ask(sandbox, "GET", path="l/file").data == b"x"
    assert [one["name"] for one in ask(sandbox, "GET", list="l").json()["entries"]] == ["file"]


def test_putting_through_a_link_changes_its_target_and_keeps_the_link(sandbox: Sandbox, room: Path) -> None:
    (room / "real").write_bytes(b"old")
    (room / "l").symlink_to("real")
    assert ask(sandbox, "PUT", b"new", path="l").status == 200
    assert (room / "real").read_bytes() == b"new"
    assert (room / "l").is_symlink()


REFUSED: dict[str, tuple[Setup, str, dict[str, str | bytes], int, str]] = {
    "NUL": (lambda room: None, "GET", {"path": "a\0b"}, 400, "malformed"),
    "not UTF-8": (lambda room: None, "GET", {"path": b"\xff"}, 400, "malformed"),
    "a long name": (lambda room: None, "PUT", {"path": "x" * 256}, 400, "malformed"),
    "a long path": (lambda room: None, "PUT", {"path": "x/" * 2049}, 400, "malformed"),
    "no parameter": (lambda room: None, "GET", {}, 400, "malformed"),
    "another parameter": (lambda room: None, "GET", {"file": "a"}, 400, "malformed"),
    "two parameters": (lambda room: None, "GET", {"path": "a", "list": "b"}, 400, "malformed"),
    "a list of a put": (lambda room: None, "PUT", {"list": "a"}, 400, "malformed"),
    "a loop of links": (lambda room: (room / "l").symlink_to("l"), "GET", {"path": "l"}, 400, "malformed"),
    "no such file": (lambda room: None, "GET", {"path": "a"}, 404, "file_not_found"),
    "no such folder": (lambda room: None, "GET", {"list": "a"}, 404, "file_not_found"),
    "getting a folder": (lambda room: (room / "a").mkdir(), "GET", {"path": "a"}, 409, "not_a_file"),
    "replacing a folder": (lambda room: (room / "a").mkdir(), "PUT", {"path": "a"}, 409, "not_a_file"),
    "the workspace": (lambda room: None, "PUT", {"path": ""}, 409, "not_a_file"),
    "listing a file": (lambda room: (room / "a").touch(), "GET", {"list": "a"}, 409, "not_a_directory"),
    "below a file": (lambda room: (room / "a").touch(), "PUT", {"path": "a/b"}, 409, "not_a_directory"),
    "a pipe": (lambda room: os.mkfifo(room / "p"), "GET", {"path": "p"}, 409, "not_a_file"),
    "replacing a pipe": (lambda room: os.mkfifo(room / "p"), "PUT", {"path": "p"}, 409, "not_a_file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_refused_with_its_code(name: str, sandbox: Sandbox, room: Path) -> None:
    setup, method, query, status, code = REFUSED[name]
    setup(room)
    answer = ask(sandbox, method, b"x" if method == "PUT" else b"", **query)
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)
    assert not [entry for entry in room.rglob("*") if entry.name.startswith(".space-put-")]


def test_a_file_may_have_the_limit_and_not_a_byte_more(sandbox: Sandbox, room: Path) -> None:
    assert ask(sandbox, "PUT", bytes(files.SIZE_LIMIT), path="most").status == 200
    assert len(ask(sandbox, "GET", path="most").data) == files.SIZE_LIMIT
    over = ask(sandbox, "PUT", bytes(files.SIZE_LIMIT + 1), path="more")
    assert (over.status, over.json()["error"]["code"]) == (413, "too_large")
    assert not (room / "more").exists()
    (room / "grown").write_bytes(bytes(files.SIZE_LIMIT + 1))
    grown = ask(sandbox, "GET", path="grown")
    assert (grown.status, grown.json()["error"]["code"]) == (413, "too_large")


def test_a_file_keeps_its_permissions_when_it_is_replaced(sandbox: Sandbox, room: Path) -> None:
    (room / "run").write_bytes(b"old")
    (room / "run").chmod(0o777)  # more than a umask leaves
    ask(sandbox, "PUT", b"new", path="run")
    ask(sandbox, "PUT", b"new", path="fresh")
    assert ((room / "run").stat().st_mode & 0o777, (room / "fresh").stat().st_mode & 0o777) == (0o777, 0o644)


def test_nothing_is_put_or_got_while_frozen(sandbox: Sandbox, room: Path) -> None:
    sandbox.call("/freeze")
    for answer in (ask(sandbox, "PUT", b"x", path="a"), ask(sandbox, "GET", path="a"), ask(sandbox, "GET", list="")):
        assert (answer.status, answer.json()["error"]["code"]) == (409, "sandbox_paused")
    assert not list(room.iterdir())


def test_a_body_that_ends_early_changes_nothing(sandbox: Sandbox, room: Path) -> None:
    (room / "a").write_bytes(b"whole")
    with socket.create_connection(("127.0.0.1", sandbox.http.port or 0), timeout=10) as raw:
        raw.sendall(b"PUT /files?path=a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        raw.shutdown(socket.SHUT_WR)
        assert b" 400 " in raw.recv(65536)
    assert (room / "a").read_bytes() == b"whole"


def test_concurrent_writers_never_tear_a_file(room: Path) -> None:
    sandboxes.readers_never_see_a_torn_file(room, frozenset())
    assert [entry.name for entry in room.iterdir()] == ["file"]


def test_a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere_else(room: Path) -> None:
    """A hostile command swaps a folder and a link as fast as it can; puts fail or land within."""
    (room / "folder").mkdir()
    kept, stop = files.Files(room), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (room / "folder").rename(room / "aside")
            with contextlib.suppress(FileExistsError):  # a put makes the folder that it misses
                (room / "folder").symlink_to("../outside")
                (room / "folder").unlink()
            shutil.rmtree(room / "folder", ignore_errors=True)
            with contextlib.suppress(OSError):
                (room / "aside").rename(room / "folder")
            (room / "folder").mkdir(exist_ok=True)
            shutil.rmtree(room / "aside", ignore_errors=True)

    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        swapping = threads.submit(swap)
        outcomes: collections.Counter[str] = collections.Counter()
        try:
            for _ in range(2000):
                try:
                    kept.put("folder/planted", b"x")
                    outcomes["landed"] += 1
                except refused.Refused as error:
                    outcomes[error.code] += 1
        finally:
            stop.set()
        swapping.result()
    assert outcomes["landed"]
    assert outcomes["path_outside"], "the link was never met"
    assert outcomes.keys() <= {"landed", "path_outside", "not_a_directory", "file_not_found", "not_a_file"}
    assert {entry.name for entry in (room.parent / "outside").iterdir()} == {"secret"}


def test_a_walk_closes_every_folder_it_opened(room: Path) -> None:
    (room / "a" / "b").mkdir(parents=True)
    (room / "a" / "b" / "l").symlink_to("../../../..")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("a/b/c", "a/b/l/x", "a/x/y"):
        with contextlib.suppress(refused.Refused, OSError), paths.parent(room, path):
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
