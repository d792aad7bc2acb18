"""Each assertion of the limiter scenario has been seen red: with one defect switched on, its own check says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from space_smoke.bench import cache, kube, proc, register, tools, wait
from space_smoke.tests.kind import conftest

# The switch, and a check that must not pass with it. The last one is a switch of the harness itself.
SERVICE_MUTATIONS = {
    "ttl-floor": "token-bucket drain",
    "whole-second-clock": "token-bucket drain",
    "lost-release-on-exception": "concurrency-cap hold-after-errors",
    "retrying-redis-client": "all-admitted open-connects",
    "unknown-client-own-bucket": "concurrency-cap strangers",
    "no-retry-after": "token-bucket drain",
    "sticky-fail-open": "refused-on-each-pod again",
}
ROLLOUT_MUTATION = ("rollout-ignores-old-pods", "current-pods")


@pytest.fixture(scope="module", autouse=True)
def _sound_afterwards(cluster: kube.Kube, chart_env: list[Any]) -> Iterator[None]:
    """One defect replaces the one before it; after the last there is none, as `chart_env` saw it before the first."""
    yield
    _install(cluster, "")
    assert conftest.env_of(cluster) == chart_env


@pytest.fixture(autouse=True)
def _nothing_is_left_by_any_test() -> None:
    """In place of the one of all tests, which compares with the chart: that is done at the end here, and each run itself
    is judged by its check `nothing-left`."""


@pytest.fixture
def mutated(cluster: kube.Kube, request: pytest.FixtureRequest) -> str:
    """The bench with one defect in its services."""
    _install(cluster, request.param)
    return str(request.param)


def _install(cluster: kube.Kube, mutation: str) -> None:
    program = str(tools.obtain("helm", lambda *_a, **_k: None))
    chart = str(cache.PROJECT / "charts/space-api")
    where = ["--namespace", "space", "--kubeconfig", str(register.kubeconfig(conftest.BENCH))]
    sets = ["--reuse-values", "--set", f"mutation={mutation}"]
    proc.run([program, "upgrade", "space-api", chart, *where, *sets], timeout_s=120)
    wait.rollout(cluster, conftest.API, timeout_s=90)


def test_a_rollout_wait_that_ignores_old_pods_is_noticed(start: conftest.Start) -> None:
    """Before the others: the services are sound."""
    mutation, check = ROLLOUT_MUTATION
    _must_be_red(start, check, {"SPACE_SMOKE_MUTATION": mutation})


@pytest.mark.parametrize(("mutated", "check"), SERVICE_MUTATIONS.items(), indirect=["mutated"])
def test_a_defect_of_the_services_turns_its_check_red(start: conftest.Start, mutated: str, check: str) -> None:
    _must_be_red(start, check, {})


def _must_be_red(start: conftest.Start, check: str, env: dict[str, str]) -> None:
    # The upgrade that brought the defect was waited for; what the gate adds to that is not what is tried here.
    started = start("run", conftest.LIMITER, "--rest", "1s", env=env)
    ended = started.end()
    assert ended.code == 1, ended.shown
    judged = {e["data"]["check"]: e["data"] for e in conftest.events(started.runs) if e["kind"] == "verdict"}
    assert judged[check]["judged"] == "fail", judged[check]
    assert judged["nothing-left"]["judged"] == "pass"
