"""A real Kind bench, and the command as a user types it. Nothing here is faked, and nothing is skipped: no bench, no pass.

SPACE_SMOKE_BENCH names the bench, or several with commas between them: then as many processes may work side by side
(`pytest -n 2 --dist loadfile`), each on a bench of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from space_smoke.bench import copies, kube, register
from space_smoke.engine import suite
from space_smoke.model import objects

PROJECT = Path(__file__).resolve().parents[3]
BENCHES = os.environ.get("SPACE_SMOKE_BENCH", "space-smoke").split(",")
BENCH = BENCHES[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % len(BENCHES)]
LIMITER = "local.rate_limiters_enforce_and_fail_open"
API = objects.Ref("apps/v1", "Deployment", "space", "space-api")
REDIS = objects.Ref("apps/v1", "Deployment", "space", "space-redis")
LEASE = objects.Ref("coordination.k8s.io/v1", "Lease", "space-smoke", "public-api-mutation")


# Files whose tests take longest, so that two processes end at about the same time.
LONGEST_FIRST = ("test_mutations", "test_drills", "test_scenarios")


def pytest_configure(config: pytest.Config) -> None:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > len(BENCHES) and config.option.markexpr.startswith("kind"):
        raise pytest.UsageError(
            f"SPACE_SMOKE_BENCH={','.join(BENCHES)}: {workers} processes need a bench each; pytest -n {len(BENCHES)}"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.kind)
            item.add_marker(pytest.mark.timeout(600))
    items.sort(key=lambda item: item.path.stem not in LONGEST_FIRST)


@pytest.fixture(scope="session")
def cluster() -> kube.Kube:
    entry = register.read(BENCH)
    assert entry is not None, f"bench {BENCH} is not up: space_smoke up --name {BENCH}"
    assert entry.state == register.READY, f"bench {BENCH} is half made: space_smoke up --name {BENCH}"
    opened = kube.Kube(register.kubeconfig(BENCH))
    suite.ensure_namespace(opened)
    return opened


@pytest.fixture(autouse=True)
def _nothing_is_left_by_any_test(cluster: kube.Kube, chart_env: list[Any]) -> Iterator[None]:
    yield
    lease = lease_of(cluster)
    if lease is not None:
        assert not records(lease), f"a record is left: {sorted(records(lease))}"
        assert not lease["spec"].get("holderIdentity"), "the Lease is still held"
    assert env_of(cluster) == chart_env, "the environment of space-api is not what the chart has"
    assert cluster.read(REDIS)["spec"]["replicas"] == 1, "Redis is not at one replica"
    for ref in (API, REDIS):
        assert not copies.held(cluster, cluster.read(ref)), f"a ReplicaSet of {ref} holds copies of records"


@pytest.fixture(scope="session")
def chart_env(cluster: kube.Kube) -> list[Any]:
    """The container's variables as the chart rendered them."""
    return env_of(cluster)


def env_of(cluster: kube.Kube) -> list[Any]:
    return list(cluster.read(API)["spec"]["template"]["spec"]["containers"][0]["env"])


def lease_of(cluster: kube.Kube) -> dict[str, Any] | None:
    found = cluster.listed(LEASE.api_version, LEASE.kind, LEASE.namespace)
    return next((item for item in found if item["metadata"]["name"] == LEASE.name), None)


def records(thing: dict[str, Any]) -> dict[str, str]:
    notes = thing["metadata"].get("annotations") or {}
    return {key: text for key, text in notes.items() if key.startswith("space-smoke.dev/record.")}


@dataclass(slots=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def shown(self) -> str:
        return f"exit {self.code}\n{self.out}\n{self.err}"


@dataclass(slots=True)
class Started:
    """A command in a session of its own, so that it and all its children can be killed as a group."""

    child: subprocess.Popen[str]
    runs: Path

    def send(self, number: signal.Signals) -> None:
        os.killpg(self.child.pid, number)

    def end(self, timeout_s: float = 200) -> Ended:
        out, err = self.child.communicate(timeout=timeout_s)
        return Ended(self.child.returncode, out, err)

    def until(self, what: Callable[[dict[str, Any]], bool], timeout_s: float = 120) -> dict[str, Any]:
        """Follows the journal until an event is as asked; fails when the command ends before."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            ended = self.child.poll() is not None
            event = next((event for event in events(self.runs) if what(event)), None)
            if event is not None:
                return event
            assert not ended, self.end().shown
            time.sleep(0.02)
        raise AssertionError("the event did not come")


def events(runs: Path) -> list[dict[str, Any]]:
    """What the only journal below `runs` holds so far."""
    found = list(runs.glob("*/journal.jsonl"))
    lines = found[0].read_text().splitlines() if found else []
    parsed = []
    for line in lines:
        try:
            parsed.append(json.loads(line))
        except ValueError:
            break  # the last line is being written
    return [line for line in parsed if "kind" in line]


Start = Callable[..., Started]
Command = Callable[..., Ended]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """start("run", NAME, env={...}) -> Started; its runs go to a folder of its own."""
    running: list[Started] = []

    def begin(*argv: str, env: dict[str, str] | None = None) -> Started:
        running.append(started(tmp_path / f"runs-{len(running)}", *argv, env=env))
        return running[-1]

    yield begin
    for one in running:
        if one.child.poll() is None:
            one.send(signal.SIGCONT)
            one.send(signal.SIGTERM)
            one.end()


def started(runs: Path, *argv: str, env: dict[str, str] | None = None) -> Started:
    """The command on this bench, begun; its runs go to a folder of its own."""
    more = ["--runs", str(runs)] if argv[0] in ("run", "report") else []
    child = subprocess.Popen(
        [sys.executable, "-m", "space_smoke", *_with_bench(argv), *more],
        cwd=PROJECT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return Started(child, runs)


@pytest.fixture
def command(start: Start) -> Command:
    """command("status", "--json") -> Ended."""
    return lambda *argv, **more: start(*argv, **more).end()


def _with_bench(argv: Sequence[str]) -> list[str]:
    return [argv[0], *argv[1:], *(["--name", BENCH] if argv[0] != "report" else [])]


def fault_up(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda event: event["kind"] == "fault-up" and event["data"]["fault"] == name
