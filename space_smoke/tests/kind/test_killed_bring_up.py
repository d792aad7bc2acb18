"""`up` and `down` of a bench are killed at steps that they told of; the `down` after that leaves nothing of it.

SPACE_SMOKE_KILLS says how many kills (default: 3), SPACE_SMOKE_SEED which.
"""

from __future__ import annotations

import os
import sys

import pytest

from space_smoke.engine.drills import bringup, score
from space_smoke.tests.kind import conftest

KILLS = int(os.environ.get("SPACE_SMOKE_KILLS", "3"))
SEED = int(os.environ.get("SPACE_SMOKE_SEED", "1"))
_PER_KILL_S = 300


@pytest.mark.timeout(600 + KILLS * _PER_KILL_S)
def test_a_bench_whose_bring_up_or_removal_was_killed_is_removed_without_a_trace() -> None:
    found = score.Score()
    for told in bringup.kill_bring_ups(bringup.beside(conftest.BENCH), conftest.BENCH, KILLS, SEED, found):
        print(told, file=sys.stderr, flush=True)  # noqa: T201  # a long test tells where it is
    assert found.problems == []
    assert found.kills >= KILLS
