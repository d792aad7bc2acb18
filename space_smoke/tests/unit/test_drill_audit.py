"""The audit log is read on across rotations: nothing twice, nothing lost, and no half-written line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import audit, engine, proc


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The node's folder is one of ours, and what would run in the node runs here."""

    def here(*argv: str, check: bool = True, **_: Any) -> proc.Done:
        assert argv[:2] == ("exec", "b-control-plane")
        done = subprocess.run(argv[2:], capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise errors.CommandFailed(done.stderr, argv=argv, returncode=done.returncode, output="")
        return proc.Done(done.stdout, done.stderr, done.returncode, 0.0)

    folder = tmp_path / "log"
    folder.mkdir()
    for name in ("_LIST", "_TAIL"):
        monkeypatch.setattr(audit, name, getattr(audit, name).replace(audit._FOLDER, str(folder)))
    monkeypatch.setattr(engine, "docker", here)
    path = folder / "audit.log"
    write(path, 1, 2)
    return path


def write(path: Path, *numbers: int) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps({"n": number, "text": "größer"}, ensure_ascii=False) + "\n" for number in numbers)


def rotate(path: Path, at: str) -> None:
    path.rename(path.with_name(f"audit-{at}.log"))


def numbers(reader: audit.Reader) -> list[int]:
    return [entry["n"] for entry in reader.entries()]


def test_a_reader_begins_at_the_end_and_reads_on(log: Path) -> None:
    reader = audit.Reader("b")
    assert numbers(reader) == []
    write(log, 3, 4)
    assert numbers(reader) == [3, 4]
    write(log, 5)
    assert numbers(reader) == [5]
    assert numbers(reader) == []


def test_what_was_written_before_and_after_rotations_is_read_once_and_in_order(log: Path) -> None:
    reader = audit.Reader("b")
    write(log, 3)
    assert numbers(reader) == [3]
    write(log, 4)
    rotate(log, "2026-01-01T00-00-00.000")
    write(log, 5)
    rotate(log, "2026-01-01T00-00-01.000")
    write(log, 6)
    assert numbers(reader) == [4, 5, 6]
    write(log, 7)
    assert numbers(reader) == [7]


def test_a_line_that_is_being_written_is_read_when_it_is_whole(log: Path) -> None:
    reader = audit.Reader("b")
    with log.open("a") as file:
        file.write('{"n": 3, "text": "grö')
    assert numbers(reader) == []
    with log.open("a") as file:
        file.write('ßer"}\n')
    write(log, 4)
    assert numbers(reader) == [3, 4]


def test_a_rename_between_the_listing_and_the_read_loses_nothing(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = audit.Reader("b")
    write(log, 3)
    listed = reader._files
    once: list[bool] = []

    def files() -> list[tuple[int, int, str]]:
        found = listed()
        if not once:
            once.append(True)
            rotate(log, "2026-01-01T00-00-00.000")
            write(log, 4)
        return found

    monkeypatch.setattr(audit.Reader, "_files", lambda _self: files())
    assert numbers(reader) == [3, 4]


def test_a_node_without_a_log_is_an_error(log: Path) -> None:
    log.unlink()
    with pytest.raises(errors.BenchError, match="keeps no audit log"):
        audit.Reader("b")
    log.parent.rmdir()
    with pytest.raises(errors.CommandFailed):
        audit.Reader("b")
