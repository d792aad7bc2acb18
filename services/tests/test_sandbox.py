"""The processes of a sandbox, without HTTP."""

from __future__ import annotations

import concurrent.futures
import subprocess
import sys
import time
from pathlib import Path

import pytest
import urllib3

from sandbox import processes
from tests import process, stores


def test_a_sandbox_is_ready_soon(tmp_path: Path) -> None:
    port = stores.free_port()
    started = time.monotonic()
    command = [sys.executable, "-m", "sandbox", "--port", str(port)]
    server = subprocess.Popen(command, cwd=tmp_path, env=process.environment({}), stdout=subprocess.DEVNULL)
    http = urllib3.HTTPConnectionPool("127.0.0.1", port, retries=False)
    try:

        def answers() -> bool:
            try:
                return http.request("GET", "/healthz").status == 200
            except urllib3.exceptions.HTTPError:
                return False

        stores.wait_until("the sandbox answers", answers)
        assert time.monotonic() - started <= 1.0  # 0.1 s on an idle machine; tests share theirs
    finally:
        http.close()
        server.terminate()
        assert server.wait(timeout=5) == 0


def test_time_frozen_does_not_count_against_a_command(tmp_path: Path) -> None:
    owned = processes.Processes(tmp_path)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        running = threads.submit(owned.run, ["sh", "-c", "sleep 0.3; echo done"], b"", 0.8)
        stores.wait_until("the command runs", lambda: bool(owned.freeze()) or bool(owned.thaw()))
        frozen = time.monotonic()
        with pytest.raises(processes.Frozen):
            owned.run(["true"], b"", 1)
        stores.wait_until("longer than the timeout", lambda: time.monotonic() - frozen > 1.2)
        assert not running.done()
        owned.thaw()
        result = running.result()
    assert (result.timed_out, result.stdout) == (False, b"done\n")


def test_freezing_and_thawing_again_is_harmless(tmp_path: Path) -> None:
    owned = processes.Processes(tmp_path)
    assert (owned.freeze(), owned.freeze(), owned.frozen) == (0, 0, True)
    assert (owned.thaw(), owned.thaw(), owned.frozen) == (0, 0, False)
    assert owned.run(["true"], b"", 5).exit_code == 0


def test_a_command_may_close_its_input_and_flood_both_outputs(tmp_path: Path) -> None:
    script = "exec <&-; head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"
    result = processes.Processes(tmp_path).run(["sh", "-c", script], b"x" * 500_000, 20)
    assert (result.exit_code, len(result.stdout), len(result.stderr)) == (0, 300_000, 300_000)


def test_what_a_command_leaves_running_does_not_delay_its_answer(tmp_path: Path) -> None:
    result = processes.Processes(tmp_path).run(["sh", "-c", "sleep 3 & echo started"], b"", 20)
    assert result.stdout == b"started\n"
    assert result.duration_ms < 2500


def test_a_signal_is_told_as_a_shell_does(tmp_path: Path) -> None:
    assert processes.Processes(tmp_path).run(["sh", "-c", "kill -TERM $$"], b"", 5).exit_code == 143
