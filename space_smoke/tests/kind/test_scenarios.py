"""Every scenario that is shipped passes on a real bench, all of them by one command, as their users run them.

SPACE_SMOKE_ORDERS=2 runs them once more, the other way round, on the same bench. The limiter scenario has a file of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pytest

from space_smoke import suite
from space_smoke.bench import kube
from space_smoke.tests.kind import conftest

IDS = [the.id for the in suite.choose() if the.id != conftest.LIMITER]
ORDERS = (IDS, IDS[::-1])[: int(os.environ.get("SPACE_SMOKE_ORDERS", "1"))]
_LONG_S = 1500

Results = Mapping[str, Any]


@pytest.fixture(scope="module", params=ORDERS, ids=("in order", "in reverse")[: len(ORDERS)])
def results(cluster: kube.Kube, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Results:
    """Of each scenario what the report says of it, and under "" how the command ended."""
    started = conftest.started(tmp_path_factory.mktemp("all"), "run", *request.param)
    ended = started.end(timeout_s=_LONG_S)
    report = json.loads(next(started.runs.glob("*/report.json")).read_text())
    return {"": ended, **{one["id"]: one for one in report["scenarios"]}}


@pytest.mark.timeout(_LONG_S + 60)
@pytest.mark.parametrize("the", IDS)
def test_the_scenario_passes(results: Results, the: str) -> None:
    assert results[the]["outcome"] == "PASS", results[""].shown


def test_nothing_is_left_after_all_of_them(results: Results) -> None:
    assert results[""].code == 0
    assert "0 open faults" in results[""].out.splitlines()[-1]
