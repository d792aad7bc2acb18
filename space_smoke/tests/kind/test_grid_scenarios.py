"""The scenarios of the grid pass on a real bench, to which they bring three sites; and they are seen red.

The bench keeps its sites. All defects of the grid are tried with SPACE_SMOKE_MUTATIONS=all.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from space_smoke.bench import helm, kube, register, releases, sites, tools, wait
from space_smoke.tests import mutations
from space_smoke.tests.kind import breaking, conftest, test_scenarios

_LONG_S = 1500
_FIRST = "grid.spend_converges_across_sites"
_ALL = os.environ.get("SPACE_SMOKE_MUTATIONS", "") == "all"
_ROWS = [row for row in mutations.ROWS if row.scenario.startswith("grid.") and (row.switch or row.spoiling)]
_BROKEN = breaking.one_by_one(_ROWS) if _ALL else breaking.together([row for row in _ROWS if row.scenario == _FIRST])

services = breaking.services
_nothing_is_left_by_any_test = breaking.judged_by_each_run


@pytest.fixture(scope="module", autouse=True)
def _sites(tmp_path_factory: pytest.TempPathFactory) -> None:
    ended = conftest.started(tmp_path_factory.mktemp("up"), "up", "--with", "grid").end(timeout_s=400)
    assert ended.code == 0, ended.shown


@pytest.mark.timeout(_LONG_S + 60)
@pytest.mark.parametrize("order", [1, -1][: test_scenarios.ORDERS])
@pytest.mark.usefixtures("cluster")
def test_every_scenario_of_the_grid_passes_and_leaves_nothing(tmp_path: Path, order: int) -> None:
    test_scenarios.judged(test_scenarios.ran(test_scenarios.GRID[::order], tmp_path), test_scenarios.GRID)


# The last one is that of the harness, whose rendering of a release a later run compares.
@pytest.mark.parametrize("program", ["helm4", "helm"])
def test_a_policy_left_out_by_an_upgrade_comes_back_with_what_was_spent(
    cluster: kube.Kube, program: str, tmp_path: Path
) -> None:
    """As an operator of releases does it: the same chart with other values files, on either Helm."""
    (planned,) = [the for stage in releases.stages(extras=["grid"]) for the in stage if the.release == "grid-a-site"]
    values = yaml.safe_load(planned.values[0].read_text())
    del values["gridNetwork"]["budgetPolicy"]
    without = tmp_path / "without-a-policy.yaml"
    without.write_text(yaml.safe_dump(values))

    def upgraded(file: Path, expect: Any) -> None:
        helm.upgrade_install(
            tools.obtain(program, lambda *_a, **_k: None),
            planned.release,
            planned.chart,
            planned.namespace,
            kubeconfig=register.kubeconfig(conftest.BENCH),
            emit=lambda *_a, **_k: None,
            values_files=[file],
            sets=planned.given,
        )
        network = sites.Site("a").network

        def look() -> wait.State:
            thing = cluster.read(network)
            rows, seen = thing["status"].get("budgetStatus"), thing["status"].get("observedGeneration")
            done = seen == thing["metadata"]["generation"] and (rows or None) == expect
            return wait.State(done, f"generation {seen} observed, rows {rows}")

        kind = (network.api_version, network.kind, network.namespace)
        wait.until(cluster, "the site to show it", look, watching=[kind], timeout_s=30)

    spent = cluster.read(sites.Site("a").network)["status"]["budgetStatus"]
    assert [row["tenantId"] for row in spent] == ["acme", "globex"]
    assert any(row["spendUsd"] > 0 for row in spent), "the scenarios before have spent nothing"
    upgraded(without, None)
    upgraded(planned.values[0], spent)


def test_a_run_killed_with_a_site_cut_off_is_put_right_under_the_lease_of_the_grid(
    start: conftest.Start, command: conftest.Command
) -> None:
    killed = start("run", "grid.partition_heals", "--rest", "1s")
    killed.until(conftest.fault_up("cut"))
    killed.send(signal.SIGKILL)
    assert killed.end().code == -signal.SIGKILL
    seen = {one["domain"]: one for one in json.loads(command("status", "--json").out)["domains"]}
    assert seen["grid-mutation"]["life"] == "dead"
    assert [(one["fault"], one["now"]) for one in seen["grid-mutation"]["faults"]] == [("cut", "fault value")]
    assert not seen["public-api-mutation"]["faults"]
    repaired = command("repair")
    assert repaired.code == 0, repaired.shown
    assert [line for line in repaired.out.splitlines() if line.startswith("REPAIRED: grid-mutation network-drop")]
    left = json.loads(command("status", "--json").out)["domains"]
    assert [one["faults"] for one in left] == [[] for _ in left]


@pytest.mark.parametrize("rows", _BROKEN, ids=breaking.named)
def test_what_is_broken_in_the_grid_turns_its_checks_red(
    services: breaking.Services, start: conftest.Start, rows: breaking.Broken, tmp_path: Path
) -> None:
    breaking.seen_red(services, start, rows, tmp_path)
