"""Pieces are whole or absent, locks outlive their holder only as long as its children, and orphans are ended."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import cache, proc

Events = list[tuple[str, dict[str, Any]]]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path / "cache"))


def recorder(events: Events) -> cache.Emit:
    def emit(kind: str, **data: Any) -> None:
        events.append((kind, data))

    return emit


def wait_for(path: pathlib.Path) -> None:
    for _ in range(2000):
        if path.exists():
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"{path} did not appear")


def test_the_cache_folder_follows_its_variable_then_xdg_then_home(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = cache.folder()
    monkeypatch.delenv("SPACE_SMOKE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    by_xdg = cache.folder()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [named, by_xdg, cache.folder()] == [
        tmp_path / "cache",
        tmp_path / "xdg/space-smoke",
        tmp_path / ".cache/space-smoke",
    ]


def test_a_cache_that_cannot_be_made_is_the_hosts_fault_and_says_what_to_set(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(errors.HostUnfit, match="SPACE_SMOKE_CACHE"):
        cache.folder()


@pytest.mark.parametrize("change", ["bytes", "name", "mode", "text"])
def test_a_digest_changes_with(change: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "recipe" / "build.sh"
    file.parent.mkdir()
    file.write_text("one")
    before = cache.digest(["v1", file.parent])
    if change == "bytes":
        file.write_text("two")
    elif change == "name":
        file.rename(file.with_name("other.sh"))
    elif change == "mode":
        file.chmod(0o755)
    assert cache.digest(["v2" if change == "text" else "v1", file.parent]) != before


def test_a_digest_does_not_change_with_time_or_caches_of_python(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "build.py"
    file.write_text("one")
    before = cache.digest([tmp_path])
    os.utime(file, (0, 0))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "build.pyc").touch()
    assert cache.digest([tmp_path]) == before


def test_a_process_is_dead_when_its_number_belongs_to_another_one_now() -> None:
    me = cache.Process.current()
    assert not me.dead()
    assert dataclasses.replace(me, start_ticks=me.start_ticks - 1).dead()
    assert dataclasses.replace(me, boot_id="an earlier boot").dead()


def test_a_process_of_another_host_is_never_judged_dead() -> None:
    assert not dataclasses.replace(cache.Process.current(), host="elsewhere", start_ticks=0).dead()


def test_a_lock_that_a_living_run_holds_is_waited_for_said_and_then_refused() -> None:
    events: Events = []
    with (
        cache.lock("piece", recorder([]), timeout_s=1),
        pytest.raises(errors.BenchError, match=f"still being worked on by pid {os.getpid()}"),
        cache.lock("piece", recorder(events), timeout_s=0.3),
    ):
        raise AssertionError("the lock was given twice")
    assert [kind for kind, _ in events] == ["waiting"]


def test_a_lock_whose_file_is_removed_between_opening_and_locking_is_taken_on_the_new_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = cache.folder() / "locks" / "piece.lock"
    real = fcntl.flock
    calls: list[int] = []

    def flock(fd: int, operation: int) -> None:
        calls.append(operation)
        if len(calls) == 1:
            path.unlink()
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with cache.lock("piece", recorder([]), timeout_s=10):
        assert path.exists(), "a lock on a file that nobody else can find excludes nobody"
    assert len(calls) == 2


HOLDER = """
    import sys
    from space_smoke.bench import cache, proc
    with cache.lock("piece", lambda *a, **k: None, timeout_s=5):
        proc.run(["sh", "-c", "sleep 300 & echo $! >{0}/pid.part; mv {0}/pid.part {0}/pid; wait"], timeout_s=600)
"""


def killed_holder(tmp_path: pathlib.Path) -> int:
    """A run that took the lock and was killed; returns a grandchild of it that lives on and holds the lock."""
    run = subprocess.Popen([sys.executable, "-c", textwrap.dedent(HOLDER.format(tmp_path))])
    wait_for(tmp_path / "pid")
    run.send_signal(signal.SIGKILL)
    run.wait()
    return int((tmp_path / "pid").read_text())


def test_orphans_of_a_killed_run_are_ended_and_its_lock_is_taken(tmp_path: pathlib.Path) -> None:
    orphan = killed_holder(tmp_path)
    assert proc.start_ticks(orphan) is not None
    events: Events = []
    with cache.lock("piece", recorder(events), timeout_s=10) as after_death:
        assert after_death
        assert proc.start_ticks(orphan) is None
    assert [(kind, data["pids"]) for kind, data in events] == [("orphans-ended", [orphan])]


def test_a_run_that_merely_waits_for_a_dead_runs_lock_is_not_taken_for_an_orphan(tmp_path: pathlib.Path) -> None:
    orphan = killed_holder(tmp_path)
    lock_file = cache.folder() / "locks" / "piece.lock"
    with lock_file.open() as opened, subprocess.Popen(["sleep", "300"], pass_fds=[opened.fileno()]) as waiter:
        with cache.lock("piece", recorder([]), timeout_s=10):
            assert proc.start_ticks(orphan) is None
        assert waiter.poll() is None
        waiter.kill()


def test_what_a_dead_run_left_in_a_workshop_is_gone_when_it_is_entered_again(tmp_path: pathlib.Path) -> None:
    left = cache.folder() / "work" / "piece" / "half-made"
    left.mkdir(parents=True)
    with cache.workshop("piece", recorder([]), timeout_s=5) as place:
        assert list(place.iterdir()) == []
        (place / "mine").touch()
    assert not left.parent.exists()


DWELLER = """
    import pathlib, time
    from space_smoke.bench import cache
    with cache.scratch() as place:
        (place / "kubeconfig").write_text("secret")
        pathlib.Path("{0}/made").touch()
        time.sleep(300)
"""


def test_what_a_killed_run_left_in_its_scratch_folder_is_removed_by_the_next_and_a_living_runs_is_not(
    tmp_path: pathlib.Path,
) -> None:
    run = subprocess.Popen([sys.executable, "-c", textwrap.dedent(DWELLER.format(tmp_path))])
    wait_for(tmp_path / "made")
    with cache.scratch() as mine:
        assert mine.stat().st_mode & 0o077 == 0
        assert len(list(mine.parent.iterdir())) == 2
    run.kill()
    run.wait()
    with cache.scratch() as mine:
        assert list(mine.parent.iterdir()) == [mine]
    assert list(mine.parent.iterdir()) == []


def test_a_folder_with_a_mount_in_it_is_not_removed() -> None:
    with pytest.raises(errors.BenchError, match="has mounts in it"):
        cache.clear(pathlib.Path("/proc"))


def test_a_whole_write_leaves_no_part_behind(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "folder" / "bench.json"
    cache.write_whole(path, "old")
    cache.write_whole(path, "new")
    assert [(p.name, p.read_text()) for p in path.parent.iterdir()] == [("bench.json", "new")]
