"""How long the next command needs after a SIGKILL until everything stands, apart from the rollout. Needs a bench that is up.

    .venv/bin/python benchmarks/after_kill.py [BENCH] [ROUNDS]

Each round kills a run (its whole group) with the API's environment changed, waits until that is rolled out, then runs
`space_smoke repair` and watches the Deployment from outside: until the environment is written back, until that is rolled
out by the strict wait, and until the command ends.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from space_smoke.bench import kube, register, wait
from space_smoke.model import objects, scenario
from space_smoke.tests.kind import killing

API = objects.Ref("apps/v1", "Deployment", "space", "space-api")
ENV = {"env": {"SPACE_API_CLIENT_CONCURRENCY_LIMIT": "5"}}
FAULT = scenario.Fault("changed", "set-env", scenario.Target("deployment", "space-api"), ENV, ())
_LOOK_S = 0.02


def when(true: Callable[[], bool]) -> float:
    """The moment at which something was first seen to be so, by the monotonic clock."""
    while not true():
        threading.Event().wait(_LOOK_S)
    return time.monotonic()


def one_round(cluster: kube.Kube, bench: str) -> tuple[float, float, float]:
    """Seconds: from the command to the write that puts back, the rollout, and from its end to the command's."""
    standing = env_of(cluster)
    killing.killed(cluster, FAULT, "inject:after")
    wait.rollout(cluster, API, timeout_s=120)
    assert env_of(cluster) != standing, "the killed run left nothing to repair"
    seen: list[float] = []

    def watch() -> None:
        seen.append(when(lambda: env_of(cluster) == standing))
        seen.append(when(lambda: wait.deployment_state(cluster, API).done))

    watcher = threading.Thread(target=watch)
    watcher.start()
    argv = [sys.executable, "-m", "space_smoke", "repair", "--name", bench]
    # Modules are compiled by whoever uses them first, unless that is forbidden.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    began = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    ended = time.monotonic()
    assert done.returncode == 0, done.stdout + done.stderr
    watcher.join()
    written, rolled_out = seen
    return written - began, rolled_out - written, ended - rolled_out


def env_of(cluster: kube.Kube) -> objects.Json:
    return objects.dig(cluster.read(API), "spec", "template", "spec", "containers")[0]["env"]


def main(bench: str, rounds: int) -> None:
    cluster = kube.Kube(register.kubeconfig(bench))
    found = [one_round(cluster, bench) for _ in range(rounds)]
    before, rollout, after = (statistics.median(column) for column in zip(*found, strict=True))
    print(
        f"command to write {before:.2f} s, rollout {rollout:.2f} s, rollout to end {after:.2f} s (medians of {rounds})"
    )
    print(f"apart from the rollout: {statistics.median(b + a for b, _, a in found):.2f} s")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "space-smoke", int(sys.argv[2]) if len(sys.argv) > 2 else 5)
