"""Defects planted in a bench one after another, each seen red by the checks that the table names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from space_smoke.bench import cache, kube, proc, register, sites, tools, wait
from space_smoke.model import objects
from space_smoke.tests import mutations
from space_smoke.tests.kind import conftest
from space_smoke.tests.mutation_rows import grid

Broken = Sequence[mutations.Row]  # rows of one scenario that one run shows


def one_by_one(rows: Sequence[mutations.Row]) -> list[Broken]:
    """Rows that are broken by the same thing in one scenario together, ordered so that neighbours share an upgrade."""
    return _grouped(rows, lambda row: (*_place(row), row.switch, repr(row.spoiling)))


def together(rows: Sequence[mutations.Row]) -> list[Broken]:
    """The same with all switches of a release at once that one scenario shows."""
    return _grouped(rows, lambda row: (*_place(row), repr(row.spoiling)))


def _grouped(rows: Sequence[mutations.Row], key: Callable[[mutations.Row], tuple[str, ...]]) -> list[Broken]:
    return [list(group) for _, group in itertools.groupby(sorted(rows, key=key), key=key)]


def _place(row: mutations.Row) -> tuple[str, str]:
    return "harness" if row.harness else row.release * bool(row.switch), row.scenario


def _switches(rows: Broken) -> str:
    return ",".join(dict.fromkeys(row.switch for row in rows if row.switch))


def named(rows: Broken) -> str:
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
def judged_by_each_run() -> None:
    """In place of the test of all tests that nothing is left, which compares with the chart: that is done at the end, by
    `services`, and each run itself is judged by its check `nothing-left`."""


def seen_red(services: Services, start: conftest.Start, rows: Broken, folder: Path) -> None:
    first = rows[0]
    switches = _switches(rows)
    services.have("" if first.harness or not switches else first.release, "" if first.harness else switches)
    more: list[str] = []
    if first.spoiling:
        mutations.write_spoiled(first, folder / "scenarios")
        more = ["--scenarios", str(folder / "scenarios")]
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
