"""The small figures: `--help`, the preflight's one read, and what the guard adds to a write. Needs a bench that is up.

.venv/bin/python benchmarks/quick.py [BENCH]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from space_smoke.bench import kube, life, register
from space_smoke.engine import preflight, suite, tenure
from space_smoke.lease import protocol


def quiet(*_arguments: object, **_more: object) -> None:
    """Nobody listens."""


def median_ms(what: Callable[[], object], times: int) -> str:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        what()
        taken.append(1000 * (time.perf_counter() - started))
    return f"median {statistics.median(taken):.1f} ms, max {max(taken):.1f} ms of {times}"


def main(bench: str) -> None:
    cluster = kube.Kube(register.kubeconfig(bench))
    suite.ensure_namespace(cluster)
    leases = tenure.Tenure(cluster, "space", "benchmark", life.Lock(suite.new_run_id()), quiet)
    argv = [sys.executable, "-m", "space_smoke", "--help"]
    print("space_smoke --help:", median_ms(lambda: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL), 10))
    preflight.preflight(leases, quiet)
    print("preflight, nothing recorded:", median_ms(lambda: preflight.preflight(leases, quiet), 50))
    leases.take(["public-api-mutation"])
    held = leases._held["public-api-mutation"]
    print("one guarded renewal:", median_ms(lambda: leases._performer.drive(protocol.keep_alive(held)), 50))
    leases.give_back()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "space-smoke")
