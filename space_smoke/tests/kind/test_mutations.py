"""Assertions of scenarios are seen red on a real bench: with one thing broken, its own check says so, and nothing is left.

What is broken, and by what, is the table `space_smoke.tests.mutation_rows`. Of nearly each kind of check the first row is
tried every time, the switches of one release at once where one scenario shows them; `SPACE_SMOKE_MUTATIONS=all` tries the
whole table, one defect at a time.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from space_smoke.bench import cache, kube, proc, register, sites, tools, wait
from space_smoke.model import objects
from space_smoke.tests import mutations
from space_smoke.tests.kind import conftest
from space_smoke.tests.mutation_rows import grid

# Kinds whose first row takes two minutes, on a scenario that another row is tried on; they are seen red with the whole table.
_LONG = ("outage-bounded", "readiness-follows")

Broken = Sequence[mutations.Row]  # rows of one scenario that one run shows


def _runs() -> list[Broken]:
    """By release and switch, so that neighbours share an upgrade."""
    rows = [row for row in mutations.ROWS if row.switch or row.spoiling]
    if os.environ.get("SPACE_SMOKE_MUTATIONS", "") == "all":
        return _grouped(rows, lambda row: (*_place(row), row.switch, repr(row.spoiling)))
    firsts = {row.check.split()[0]: row for row in reversed(rows)}
    return _grouped(
        [row for kind, row in firsts.items() if kind not in _LONG], lambda row: (*_place(row), repr(row.spoiling))
    )


def _grouped(rows: Sequence[mutations.Row], key: Callable[[mutations.Row], tuple[str, ...]]) -> list[Broken]:
    return [list(group) for _, group in itertools.groupby(sorted(rows, key=key), key=key)]


def _place(row: mutations.Row) -> tuple[str, str]:
    return "harness" if row.harness else row.release * bool(row.switch), row.scenario


def _switches(rows: Broken) -> str:
    return ",".join(dict.fromkeys(row.switch for row in rows if row.switch))


def _named(rows: Broken) -> str:
    return f"{_switches(rows) or 'spoiled'} {rows[0].scenario} {', '.join(row.check for row in rows)}"


class Services:
    """The bench's releases, of which one at most has a planted defect."""

    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster, self._broken = cluster, ("", "")

    def have(self, release: str, switch: str) -> None:
        if (release, switch) == self._broken:
            return
        before, self._broken = self._broken, (release, switch)
        for name, mutation in ((before[0], ""), (release, switch)):
            if name and not (name == release and mutation == ""):
                self._install(name, mutation)

    def _install(self, release: str, mutation: str) -> None:
        program = str(tools.obtain("helm", lambda *_a, **_k: None))
        chart = str(cache.PROJECT / "charts" / release)
        sets = ["--reuse-values", "--set", "mutation=" + mutation.replace(",", "\\,")]
        workloads = _workloads(release)
        for ref in workloads:
            where = ["--namespace", ref.namespace, "--kubeconfig", str(register.kubeconfig(conftest.BENCH))]
            proc.run([program, "upgrade", ref.name, chart, *where, *sets], timeout_s=120)
        for ref in workloads:
            wait.rollout(self._cluster, ref, timeout_s=90)


def _workloads(release: str) -> list[objects.Ref]:
    """Each is named as its release; of the grid's operator every site has one."""
    if release != grid.OPERATOR:
        return [objects.Ref("apps/v1", "Deployment", "space", release)]
    return [sites.Site(name).workload for name in ("a", "b", "c")]


@pytest.fixture(scope="module")
def services(cluster: kube.Kube, chart_env: list[object]) -> Iterator[Services]:
    made = Services(cluster)
    yield made
    made.have("", "")
    assert conftest.env_of(cluster) == chart_env


@pytest.fixture(autouse=True)
def _nothing_is_left_by_any_test() -> None:
    """In place of the one of all tests, which compares with the chart: that is done at the end here, and each run itself
    is judged by its check `nothing-left`."""


@pytest.mark.parametrize("rows", _runs(), ids=_named)
def test_what_is_broken_turns_its_checks_red(
    services: Services, start: conftest.Start, rows: Broken, tmp_path: Path
) -> None:
    first = rows[0]
    switches = _switches(rows)
    services.have("" if first.harness or not switches else first.release, "" if first.harness else switches)
    more: list[str] = []
    if first.spoiling:
        mutations.write_spoiled(first, tmp_path / "scenarios")
        more = ["--scenarios", str(tmp_path / "scenarios")]
    env = {"SPACE_SMOKE_MUTATION": switches} if first.harness else {}
    scenario = conftest.LIMITER if first.scenario == mutations.EVERY else first.scenario
    # The upgrade that brought the defect was waited for; what the gate adds to that is not what is tried here.
    started = start("run", scenario, "--rest", "1s", *more, env=env)
    ended = started.end(timeout_s=500)
    assert ended.code == 1, ended.shown
    judged = {e["data"]["check"]: e["data"] for e in conftest.events(started.runs) if e["kind"] == "verdict"}
    for row in rows:
        assert judged[row.check]["judged"] == "fail", judged[row.check]
    assert judged["nothing-left"]["judged"] == "pass"
