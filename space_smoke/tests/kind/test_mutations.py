"""Assertions of scenarios are seen red on a real bench: with one thing broken, its own check says so, and nothing is left.

What is broken, and by what, is the table `space_smoke.tests.mutation_rows`. Of nearly each kind of check the first row is
tried every time, the switches of one release at once where one scenario shows them; `SPACE_SMOKE_MUTATIONS=all` tries the
whole table, one defect at a time. Those of the grid are tried where its scenarios are.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from space_smoke.tests import mutations
from space_smoke.tests.kind import breaking, conftest

# Kinds whose first row takes two minutes, on a scenario that another row is tried on; they are seen red with the whole table.
_LONG = ("outage-bounded", "readiness-follows", "has-store")

services = breaking.services
_nothing_is_left_by_any_test = breaking.judged_by_each_run


def _runs() -> list[breaking.Broken]:
    rows = [row for row in mutations.ROWS if (row.switch or row.spoiling) and not row.scenario.startswith("grid.")]
    if os.environ.get("SPACE_SMOKE_MUTATIONS", "") == "all":
        return breaking.one_by_one(rows)
    firsts = {row.check.split()[0]: row for row in reversed(rows)}
    return breaking.together([row for kind, row in firsts.items() if kind not in _LONG])


@pytest.mark.parametrize("rows", _runs(), ids=breaking.named)
def test_what_is_broken_turns_its_checks_red(
    services: breaking.Services, start: conftest.Start, rows: breaking.Broken, tmp_path: Path
) -> None:
    breaking.seen_red(services, start, rows, tmp_path)
