"""The scenarios of the grid pass on a real bench, to which they bring three sites; and they are seen red.

The bench keeps its sites. All defects of the grid are tried with SPACE_SMOKE_MUTATIONS=all.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from space_smoke.tests import mutations
from space_smoke.tests.kind import breaking, conftest, test_scenarios

_LONG_S = 1500
_FIRST = "grid.spend_converges_across_sites"
_ALL = os.environ.get("SPACE_SMOKE_MUTATIONS", "") == "all"
_ROWS = [row for row in mutations.ROWS if row.scenario.startswith("grid.") and (row.switch or row.spoiling)]
_BROKEN = [
    rows for rows in (breaking.one_by_one if _ALL else breaking.together)(_ROWS) if _ALL or rows[0].scenario == _FIRST
]

services = breaking.services


@pytest.mark.timeout(_LONG_S + 60)
@pytest.mark.parametrize("order", [1, -1][: test_scenarios.ORDERS])
@pytest.mark.usefixtures("cluster")
def test_every_scenario_of_the_grid_passes_and_leaves_nothing(tmp_path: Path, order: int) -> None:
    test_scenarios.judged(test_scenarios.ran(test_scenarios.GRID[::order], tmp_path), test_scenarios.GRID)


@pytest.fixture(autouse=True)
def _nothing_is_left_by_any_test() -> None:
    """Each run is judged by its check `nothing-left`, and the services are compared with their chart at the end."""


@pytest.mark.parametrize("rows", _BROKEN, ids=breaking.named)
def test_what_is_broken_in_the_grid_turns_its_checks_red(
    services: breaking.Services, start: conftest.Start, rows: breaking.Broken, tmp_path: Path
) -> None:
    breaking.seen_red(services, start, rows, tmp_path)
