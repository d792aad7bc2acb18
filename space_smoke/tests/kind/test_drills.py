"""The harness broken on purpose, with real processes on a real API server, judged by what its audit log says was written."""

from __future__ import annotations

import json

import pytest

from space_smoke.engine import drill
from space_smoke.engine.drills import score
from space_smoke.tests.kind import conftest

# A thousand are for a quiet night: `space_smoke drill --kills 1000`.
KILLS = 10
_LONG_S = 1100  # the API server is killed three times, and the kubelet waits longer before each restart


@pytest.mark.timeout(_LONG_S + 60)
def test_every_drill_and_random_kills_leave_the_bench_standing(start: conftest.Start) -> None:
    ended = start("drill", "--all", "--kills", str(KILLS), "--seed", "7", "--json").end(timeout_s=_LONG_S)
    assert ended.code == 0, ended.shown
    told = json.loads(ended.out)
    assert told["problems"] == []
    assert told["faults_left"] == []
    assert told["drills"] == [*drill.ALL, "random-kills"]
    assert told["kills"] >= KILLS + len(score.POINTS)

    audit = told["audit"]
    assert audit["violations"] == []
    assert audit["stale_writes"] == 0
    missing = set(score.STEPS) - set(audit["committed"])
    assert not missing, f"no write for {missing} is in the audit log: {audit['committed']}"
    # The stale runners and the held requests reached the API server itself, and it was the one that refused them.
    assert all(audit["refused"].get(step) for step in ("stamp", "renew", "inject", "restore", "clear")), audit[
        "refused"
    ]
