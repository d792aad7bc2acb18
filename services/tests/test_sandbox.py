"""The server of a sandbox, as a process of its own: it freezes everything below itself, which here is only its own."""

from __future__ import annotations

import base64
import concurrent.futures
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import sandboxes, stores


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[sandboxes.Sandbox]:
    made = sandboxes.Sandbox(tmp_path)
    yield made
    assert made.stop() == 0


def test_a_sandbox_is_ready_soon(sandbox: sandboxes.Sandbox) -> None:
    assert sandbox.ready_s <= 2.0  # 0.1 s on an idle machine; tests share theirs


def test_time_frozen_does_not_count_against_a_command(sandbox: sandboxes.Sandbox, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        running = threads.submit(sandbox.run, "sh", "-c", f"touch {begun}; sleep 1; echo done", timeout_s=2.0)
        stores.wait_until("the command runs", begun.exists)
        assert sandbox.call("/freeze")[1]["processes"] > 0
        frozen = time.monotonic()
        assert sandbox.call("/command", {"command": ["true"]})[0] == 409
        stores.wait_until("longer than the timeout", lambda: time.monotonic() - frozen > 2.5)
        assert not running.done()
        sandbox.call("/thaw")
        result = running.result()
    assert (result["timed_out"], result["stdout"]) == (False, b"done\n")


def test_freezing_and_thawing_again_is_harmless(sandbox: sandboxes.Sandbox) -> None:
    for path in ("/freeze", "/freeze", "/thaw", "/thaw"):
        assert sandbox.call(path) == (200, {"processes": 0})
    assert sandbox.run("true")["exit_code"] == 0


def test_what_is_left_running_is_frozen_too_and_ends_with_the_sandbox(sandbox: sandboxes.Sandbox) -> None:
    left = int(sandbox.run("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")["stdout"])
    assert sandbox.call("/freeze")[1]["processes"] == 1
    assert Path(f"/proc/{left}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    assert sandbox.call("/thaw")[1]["processes"] == 1
    sandbox.stop()
    stores.wait_until("the process left running is gone", lambda: not _alive(left), 5)


def test_a_command_may_close_its_input_and_flood_both_outputs(sandbox: sandboxes.Sandbox) -> None:
    script = "exec <&-; head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"
    result = sandbox.run("sh", "-c", script, stdin_b64=base64.b64encode(b"x" * 500_000).decode())
    assert (result["exit_code"], len(result["stdout"]), len(result["stderr"])) == (0, 300_000, 300_000)


def test_what_a_command_leaves_running_does_not_delay_its_answer(sandbox: sandboxes.Sandbox) -> None:
    result = sandbox.run("sh", "-c", "sleep 20 & echo started")
    assert result["stdout"] == b"started\n"
    assert result["duration_ms"] < 10_000


def test_a_signal_is_told_as_a_shell_does(sandbox: sandboxes.Sandbox) -> None:
    assert sandbox.run("sh", "-c", "kill -TERM $$")["exit_code"] == 143


def _alive(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
