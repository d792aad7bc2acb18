"""The verb `load`: what it prints, how it ends and with which exit code, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from space_smoke import errors
from space_smoke.cli import command, loading, parser
from space_smoke.engine import load
from space_smoke.tests.unit import load_server


@pytest.fixture
def cluster() -> Iterator[load_server.Cluster]:
    with load_server.running() as made:
        yield made


@pytest.fixture
def signals() -> Iterator[None]:
    """The command changes what signals do; tests after it shall not notice."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def typed(cluster: load_server.Cluster, folder: Path, *more: str) -> list[str]:
    return ["load", "--kubeconfig", str(cluster.kubeconfig(folder)), "--context", "here", "--for", "1s", *more]


@pytest.mark.usefixtures("signals")
def test_without_a_terminal_it_prints_plain_lines_and_a_summary(
    cluster: load_server.Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(typed(cluster, tmp_path, "--rate", "50/s")) == errors.PASSED
    out = capsys.readouterr().out
    assert "\x1b" not in out
    told = out.splitlines()
    end = next(place for place, text in enumerate(told) if text.startswith("50 requests in "))
    assert end >= 1
    assert all(re.match(r" +\d+ s  \d+ requests: ", text) for text in told[:end])
    assert "(configured on 2 of 2 pods)" in told[end - 1]
    assert told[end + 1] == "concurrency: accepted x50"
    assert told[end + 2].startswith("p50 p95 p99 from when due: ")
    assert told[-1] == "sandboxes: 1 made, 1 deleted, 0 left"


@pytest.mark.usefixtures("signals")
def test_json_is_an_object_a_second_and_a_summary_that_counts_all_of_it(
    cluster: load_server.Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.store = "store_unavailable"
    assert command.main(typed(cluster, tmp_path, "--json", "--rate", "100/s")) == errors.PASSED
    *seconds, last = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert last["summary"]["requests"] == 100
    assert last["summary"]["decisions"]["concurrency"] == {"accepted (store_unavailable)": 100}
    assert (last["exit_code"], last["interrupted"], last["sandboxes"]["left"]) == (0, False, [])
    assert sum(one["second"]["requests"] for one in seconds) == 100
    assert {one["store"]["state"] for one in seconds if one["second"]["requests"]} == {"unavailable"}
    assert last["summary"]["store"]["pods"] == {"space-api-a": "configured", "space-api-b": "configured"}


@pytest.mark.usefixtures("signals")
def test_an_api_that_cannot_be_reached_is_5_with_the_next_step(
    cluster: load_server.Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.healthy = False
    argv = typed(cluster, tmp_path)
    assert command.main(argv) == errors.UNFIT
    assert "the public API (space-api in namespace space) cannot be reached: it answered 503" in capsys.readouterr().err
    cluster.close()
    assert command.main(argv) == errors.UNFIT
    told = capsys.readouterr().err
    assert "cannot be reached: " in told
    assert "next: space_smoke status" in told
    assert not [path for method, path, _ in cluster.asked if method == "POST"]


@pytest.mark.usefixtures("signals")
def test_a_bench_that_is_not_up_is_5_and_is_not_brought_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path))
    assert command.main(["load", "--name", "none"]) == errors.UNFIT
    assert "bench none is not up\n  next: space_smoke up" in capsys.readouterr().err


@pytest.mark.usefixtures("signals")
def test_a_load_that_nobody_answered_is_5_and_one_that_leaves_a_sandbox_is_1(
    cluster: load_server.Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.dropping = True
    assert command.main(typed(cluster, tmp_path)) == errors.UNFIT
    cluster.dropping, cluster.keeping = False, True
    assert command.main(typed(cluster, tmp_path)) == errors.FAILED
    (left,) = cluster.sandboxes
    assert f"LEFT: {left}\n  next: DELETE /v1/sandboxes/ID" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_with_130_its_summary_and_nothing_left(
    cluster: load_server.Cluster, tmp_path: Path, number: signal.Signals
) -> None:
    argv = [sys.executable, "-m", "space_smoke", *typed(cluster, tmp_path, "--for", "10m", "--json")]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
    assert child.stdout is not None
    while not json.loads(child.stdout.readline())["second"]["requests"]:
        pass
    os.kill(child.pid, number)
    out, _ = child.communicate(timeout=60)
    last = json.loads(out.splitlines()[-1])
    assert (child.returncode, last["exit_code"], last["interrupted"]) == (130, 130, True)
    assert last["sandboxes"] == {"made": 1, "deleted": 1, "left": []}
    assert cluster.sandboxes == set()


def test_ctrl_c_before_there_is_traffic_is_130_too(
    monkeypatch: pytest.MonkeyPatch, signals: None, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed(_options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(loading, "_load", pressed)
    assert command.main(["load"]) == loading.INTERRUPTED == 130
    assert "stopped by Ctrl-C" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--rate", "20"], "--rate: 20 is a rate without a unit"),
        (["--rate", "0/s"], "--rate is 0 a second and must be 0.01 to 500"),
        (["--rate", "501/s"], "--rate is 501 a second"),
        (["--for", "soon"], '--for: "soon" is not a duration'),
        (["--for", "0.5s"], "--for is 0.5 seconds and must be 1 to 86400"),
        (["--clients", "0"], "--clients is 0 clients and must be 1 to 200"),
        (["--clients", "201"], "--clients is 201 clients"),
        (["--rate", "500/s", "--for", "10m"], "is 300000 requests and must be at most 100000"),
        (["--profile", "delete"], "invalid choice"),
        (["--seed", "x"], "invalid int value"),
    ],
)
@pytest.mark.usefixtures("signals")
def test_a_wrong_flag_is_64_with_its_value_and_its_rule(
    flags: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["load", *flags]) == errors.USAGE
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("signals")
def test_all_wrong_flags_are_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["load", "--rate", "x", "--for", "0s", "--clients", "0"]) == errors.USAGE
    told = capsys.readouterr().err
    assert [flag in told for flag in ("--rate: ", "--for is 0", "--clients is 0")] == [True] * 3


def test_the_help_says_that_it_reads_only_takes_no_lease_and_lists_every_profile() -> None:
    verbs = next(action for action in parser.build()._actions if action.dest == "verb")
    assert isinstance(verbs.choices, dict)
    told = " ".join(verbs.choices["load"].format_help().split())
    assert "takes no Lease, and reads only, apart from sandboxes of its own" in told
    assert "{" + ",".join(load.PROFILES) + "}" in told
    assert all(f"{rate} for {profile}" in told for profile, rate in load.PROFILES.items())
