"""Every scenario that is shipped passes on a real bench, many by one command, as their users run them.

Those of the limiters' store judge what a decision may take, so they have the machine for themselves; the limiter scenario has
a file of its own, and so have those of the grid, which need more of a bench. Those labelled `slow` are left out unless
SPACE_SMOKE_SCENARIOS is `all`. SPACE_SMOKE_ORDERS=2 runs all once more, the other way round, on the same bench.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from space_smoke import suite
from space_smoke.tests.kind import conftest

ALONE = ["local.limiter_store_faults", "local.redis_restart_and_script_flush"]
ALL = os.environ.get("SPACE_SMOKE_SCENARIOS", "") == "all"
CHOSEN = [the for the in suite.choose() if ALL or "slow" not in the.labels]
GRID = [the.id for the in CHOSEN if "grid" in the.labels]
BESIDE = [the.id for the in CHOSEN if the.id not in (conftest.LIMITER, *ALONE, *GRID)]
ORDERS = int(os.environ.get("SPACE_SMOKE_ORDERS", "1"))
_LONG_S = 1500

Results = Mapping[str, Any]


def ran(ids: list[str], folder: Path) -> Results:
    """Of each scenario what the report says of it, and under "" how the command ended."""
    started = conftest.started(folder, "run", *ids)
    ended = started.end(timeout_s=_LONG_S)
    report = json.loads(next(started.runs.glob("*/report.json")).read_text())
    return {"": ended, **{one["id"]: one for one in report["scenarios"]}}


def judged(found: Results, ids: list[str]) -> None:
    assert {one: found[one]["outcome"] for one in ids} == dict.fromkeys(ids, "PASS"), found[""].shown
    assert found[""].code == 0
    assert "0 open faults" in found[""].out.splitlines()[-1]


@pytest.mark.timeout(_LONG_S + 60)
@pytest.mark.parametrize("order", [1, -1][:ORDERS])
@pytest.mark.usefixtures("cluster")
def test_every_scenario_passes_and_leaves_nothing(tmp_path: Path, order: int) -> None:
    judged(ran(BESIDE[::order], tmp_path), BESIDE)


@pytest.mark.alone
@pytest.mark.timeout(_LONG_S + 60)
@pytest.mark.parametrize("order", [1, -1][:ORDERS])
@pytest.mark.usefixtures("cluster")
def test_the_scenarios_of_the_limiters_store_pass_and_leave_nothing(tmp_path: Path, order: int) -> None:
    judged(ran(ALONE[::order], tmp_path), ALONE)
