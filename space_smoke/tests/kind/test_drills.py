"""The harness broken on purpose, with real processes on a real API server, judged by what its audit log says was written."""

from __future__ import annotations

import json

from space_smoke.bench import audit
from space_smoke.engine import drilling
from space_smoke.lease import audit as replaying
from space_smoke.tests.kind import conftest


def test_every_drill_and_random_kills_leave_the_bench_standing(start: conftest.Start) -> None:
    begin = audit.position(conftest.BENCH)
    ended = start("drill", "--all", "--kills", "6", "--seed", "7", "--json").end(timeout_s=560)
    assert ended.code == 0, ended.shown
    assert json.loads(ended.out)["problems"] == []

    seen = replaying.replay(audit.since(conftest.BENCH, begin), drilling.DOMAIN)
    assert not seen.violations
    for step in (
        "acquire",
        "record",
        "stamp",
        "renew",
        "inject",
        "mark-up",
        "restoring",
        "restore",
        "clear",
        "release",
    ):
        assert seen.committed[step], f"no write for {step} is in the audit log: {seen.committed}"
    # The stale runners reached the API server itself, and it was the one that refused them.
    assert sum(seen.refused.values()) >= 5, seen.refused
