"""The API server itself is killed under a run. Kind only: on a cluster of the user's that is not ours to do."""

from __future__ import annotations

import signal

from space_smoke import errors
from space_smoke.bench import nodeside, wait
from space_smoke.engine import ground
from space_smoke.engine.drills import score as scoring

_BACK_S = 180.0
_POINTS = ("inject:before", "mark-up:after", "restore:before")  # the kubelet waits twice as long before each restart
_KNOWN = (errors.PASSED, errors.INCOMPLETE, errors.LOST, errors.UNFIT)


def api_server_restarted(on: ground.Ground, score: scoring.Score) -> None:
    """The API server is killed while a run is in the middle of a step: the run, or the next command, ends clean."""
    for point in _POINTS:
        caught = on.start("cycle", f"stop:{point}:1")
        if not caught.stopped(60):
            score.problems.append(f"a runner ended before it reached {point}")
            on.finish(caught)
            continue
        nodeside.kill_api_server(on.bench)
        score.must(not _answers(on), f"the API server answers after it was killed at {point}")
        score.reached[f"{point}:server killed"] += 1
        caught.send(signal.SIGCONT)
        ended = on.finish(caught)
        score.must(ended.code in _KNOWN, f"the run without an API server at {point} ended with {ended.code}")
        _back(on)
        score.ended_well(on.go("repair"), f"the command after the API server came back at {point}")
        score.judge(on, f"API server killed at {point}")


def _answers(on: ground.Ground) -> bool:
    try:
        return on.cluster.send("GET", "/readyz", timeout_s=2)[0] == 200
    except errors.ApiError:
        return False


def _back(on: ground.Ground) -> None:
    def look() -> wait.State:
        status, _ = on.cluster.send("GET", "/readyz", timeout_s=5)
        return wait.State(status == 200, f"/readyz answers {status}")

    wait.until(on.cluster, "the API server to be ready", look, watching=(), timeout_s=_BACK_S, emit=on.emit)
