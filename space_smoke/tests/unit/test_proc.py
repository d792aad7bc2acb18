"""Children end when told, when late and when we die; what they said is kept."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from space_smoke import errors
from space_smoke.bench import proc


def alive(pid: int) -> bool:
    return proc.start_ticks(pid) is not None


def eventually_dead(pid: int, within_s: float = 5.0) -> bool:
    """Polls without a library of ours, because what is tested here is below the one wait."""
    deadline = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    return not alive(pid)


def test_stdout_stderr_and_the_return_code_are_kept_apart() -> None:
    done = proc.run(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=10, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 3)


def test_a_failing_command_is_named_with_its_last_lines() -> None:
    with pytest.raises(errors.CommandFailed, match=r"returned 3(.|\n)*no such bench") as raised:
        proc.run(["sh", "-c", "echo no such bench >&2; exit 3"], timeout_s=10)
    assert raised.value.returncode == 3
    assert raised.value.output == "no such bench"


def test_a_program_that_does_not_exist_is_an_error_and_not_a_traceback() -> None:
    with pytest.raises(errors.CommandFailed, match="no-such-program"):
        proc.run(["no-such-program"], timeout_s=10)


def test_a_late_command_is_killed_with_its_whole_group(tmp_path: pathlib.Path) -> None:
    script = f"sleep 300 & echo $! >{tmp_path}/pid; wait"
    with pytest.raises(errors.CommandFailed, match=r"longer than 0\.5 s") as raised:
        proc.run(["sh", "-c", script], timeout_s=0.5)
    assert raised.value.returncode is None
    assert eventually_dead(int((tmp_path / "pid").read_text()))


def test_a_command_that_closes_its_output_but_stays_is_late_too() -> None:
    with pytest.raises(errors.CommandFailed, match="longer than"):
        proc.run(["sh", "-c", "exec >&- 2>&-; sleep 300"], timeout_s=0.5)


def test_more_input_than_a_pipe_holds_arrives_whole() -> None:
    sent = b"x" * 1_000_000
    assert proc.run(["wc", "-c"], stdin=sent, timeout_s=20).stdout.strip() == "1000000"


def test_a_command_that_does_not_read_its_input_is_no_error() -> None:
    assert proc.run(["true"], stdin=b"x" * 1_000_000, timeout_s=20).returncode == 0


def test_lines_are_told_as_they_come_also_a_last_one_without_an_end() -> None:
    lines: list[str] = []
    proc.run(["printf", "one\\ntwo\\nthree"], timeout_s=10, on_line=lines.append)
    assert lines == ["one", "two", "three"]


def test_an_inherited_descriptor_is_held_by_children_until_it_is_taken_back() -> None:
    read, write = os.pipe()
    try:
        proc.inherit(write)
        held = proc.run(["sh", "-c", f"test -e /proc/self/fd/{write} && echo held"], timeout_s=10)
        proc.disinherit(write)
        free = proc.run(["sh", "-c", f"test -e /proc/self/fd/{write} || echo free"], timeout_s=10)
    finally:
        os.close(read)
        os.close(write)
    assert (held.stdout, free.stdout) == ("held\n", "free\n")


def test_end_all_makes_a_running_call_raise() -> None:
    raised: list[BaseException] = []

    def call(begun: threading.Event) -> None:
        try:
            proc.run(["sh", "-c", "echo begun; sleep 300"], timeout_s=60, on_line=lambda _: begun.set())
        except errors.CommandFailed as failure:
            raised.append(failure)

    begun = threading.Event()
    thread = threading.Thread(target=call, args=(begun,))
    thread.start()
    assert begun.wait(10)
    proc.end_all()
    thread.join(10)
    assert "returned -9" in str(raised[0])


def test_children_die_with_a_run_that_is_killed(tmp_path: pathlib.Path) -> None:
    program = textwrap.dedent(f"""
        from space_smoke.bench import proc
        proc.run(["sh", "-c", "echo $$ >{tmp_path}/pid.part; mv {tmp_path}/pid.part {tmp_path}/pid; exec sleep 300"],
                 timeout_s=600)
    """)
    run = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 20
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    child = int((tmp_path / "pid").read_text())
    assert alive(child)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert eventually_dead(child)
