"""The journal on disk, which must survive a kill at any byte."""

from __future__ import annotations

import io
import json
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from space_smoke import errors
from space_smoke.model import history
from space_smoke.report import files, gathering, journal, text
from space_smoke.tests.unit import sample_run

TOLD = sample_run.events(broken=True)


def written(directory: Path, told: list[history.Event] = TOLD) -> Path:
    path = directory / journal.NAME
    writer = journal.Writer(path)
    for event in told:
        writer(event)
    writer.close()
    assert not writer.trouble
    return path


WHOLE = written(Path(tempfile.mkdtemp())).read_bytes()


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    read = journal.read(written(tmp_path))
    assert [(e.index, e.at_s, e.kind) for e in read] == [(e.index, e.at_s, e.kind) for e in TOLD]
    assert read[-20].data == json.loads(json.dumps(TOLD[-20].data))


def test_every_event_is_on_disk_before_the_next_one(tmp_path: Path) -> None:
    writer = journal.Writer(tmp_path / journal.NAME)
    for n, event in enumerate(TOLD[:30], start=1):
        writer(event)
        assert len(journal.read(writer.path)) == n


@settings(max_examples=60, deadline=None)
@example(0)
@example(1)
@example(len(WHOLE) - 1)
@given(st.integers(0, len(WHOLE)))
def test_a_journal_cut_at_any_byte_gives_a_readable_report(cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / journal.NAME
        path.write_bytes(WHOLE[:cut])
        read = journal.read(path)
        whole_lines = WHOLE[:cut].count(b"\n")
        events = [event for event in read if event.kind != "note"]
        assert [event.index for event in events] == list(range(len(events)))
        assert len(events) in (max(0, whole_lines - 1), whole_lines)  # a last line may be whole but for its line feed
        run = gathering.run_of(read)
        # Only the very last line tells of the end; it may lack nothing but its line feed.
        assert run.killed == (cut < len(WHOLE) - 1)
        for render in files.RENDERERS.values():
            assert render(run)
        out = io.StringIO()
        text.write(out, read)
        assert ("KILLED" in out.getvalue()) == run.killed


def test_a_torn_last_line_is_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / journal.NAME
    path.write_bytes(WHOLE[: WHOLE.rindex(b"\n", 0, -1) + 20])
    last = journal.read(path)[-1]
    assert last.kind == "note"
    assert last.data["sentence"] == "the journal ends within a line: 19 bytes of an event were left out"


def test_a_broken_line_in_the_middle_is_left_out_and_told(tmp_path: Path) -> None:
    rows = WHOLE.split(b"\n")
    rows[5] = b'{"n": 4, "at_s": "soon"}'
    path = tmp_path / journal.NAME
    path.write_bytes(b"\n".join(rows))
    read = journal.read(path)
    assert read[-1].data["sentence"] == "line 6 of the journal could not be read and was left out"
    assert len(read) == len(TOLD)


def test_a_journal_of_a_newer_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / journal.NAME
    path.write_text('{"journal": 2}\n{"something": "new"}\n')
    with pytest.raises(
        errors.UsageError, match=r"version 2, and this space_smoke reads versions up to 1\n  next: read"
    ):
        journal.read(path)


def test_no_journal_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="there is no journal to read"):
        journal.read(tmp_path / "nowhere")


def test_a_run_never_writes_over_another(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(errors.UsageError, match="a journal is there already"):
        journal.Writer(path)
    assert path.read_bytes() == WHOLE


def test_a_disk_that_is_full_does_not_stop_the_run_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = journal.Writer(tmp_path / journal.NAME)
    real = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) > 40:
            return real(file, data[:40])
        raise OSError(28, "No space left on device")

    writer(TOLD[0])
    monkeypatch.setattr(os, "write", half)
    writer(TOLD[1])
    monkeypatch.setattr(os, "write", real)
    writer(TOLD[2])
    assert "No space left on device" in writer.trouble
    read = journal.read(writer.path)
    assert [event.index for event in read if event.kind != "note"] == [0, 2]
    assert "line 3" in read[-1].data["sentence"]


def test_events_of_several_threads_are_whole_lines(tmp_path: Path) -> None:
    writer = journal.Writer(tmp_path / journal.NAME)

    def work(base: int) -> None:
        for n in range(200):
            writer(history.Event(base + n, 1.0, "note", {"sentence": "x" * (n % 90)}))

    threads = [threading.Thread(target=work, args=(base,)) for base in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(event.index for event in journal.read(writer.path)) == [
        base + n for base in (0, 1000, 2000) for n in range(200)
    ]


def test_data_that_json_does_not_know_is_written_as_text(tmp_path: Path) -> None:
    data: dict[str, Any] = {"path": Path("a/b"), "odd": "\ud800"}
    read = journal.read(written(tmp_path, [history.Event(0, 0.0, "note", data)]))
    assert read[0].data["path"] == "a/b"
