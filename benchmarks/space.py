"""Figures of the space side: what a limiter decision costs, create to first command, idle memory. Needs a bench that is up.

    .venv/bin/python benchmarks/space.py [BENCH] [RATE_RPS] [SECONDS]

A decision's time is the services' own histogram (`space_limiter_decision_seconds`), read before and after a load of connects
at the stated rate; a quantile lies in a bucket and is interpolated in it, as Prometheus' histogram_quantile does.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping

from space_smoke.bench import engine, http, kube, register, wait
from space_smoke.model import objects

API = objects.Ref("apps/v1", "Deployment", "space", "space-api")
_BUCKET = re.compile(r'space_limiter_decision_seconds_bucket\{le="([^"]+)",limiter="(\w+)"\} (\S+)')
_TRUE = {"command": ["true"]}


def buckets(cluster: kube.Kube) -> Counter[tuple[str, float]]:
    """Decisions so far, over all pods, by limiter and upper bound in seconds."""
    found: Counter[tuple[str, float]] = Counter()
    for pod in wait.pods_of(cluster, cluster.read(API)):
        text = http.Door(cluster, "space", "", 8080, time.monotonic).ask("GET", "/metrics", pod=pod.name).body.decode()
        for bound, limiter, count in _BUCKET.findall(text):
            found[limiter, float(bound)] += int(float(count))
    return found


def quantile(counts: Mapping[float, int], share: float) -> float:
    """Seconds: linear within the bucket that holds the rank; the lower bound of the last one when it lies there."""
    rank, below_s, below = share * max(counts.values()), 0.0, 0
    for bound_s, count in sorted(counts.items()):
        if count >= rank:
            return (
                below_s if bound_s == float("inf") else below_s + (bound_s - below_s) * (rank - below) / (count - below)
            )
        below_s, below = bound_s, count
    raise AssertionError("the last bucket holds all")


def decisions(cluster: kube.Kube, bench: str, rate: float, for_s: float) -> None:
    before = buckets(cluster)
    argv = [sys.executable, "-m", "space_smoke", "load", "--name", bench, "--profile", "connect"]
    subprocess.run([*argv, "--rate", f"{rate:g}/s", "--for", f"{for_s:g}s"], check=True, stdout=subprocess.DEVNULL)
    grown = buckets(cluster) - before
    for limiter in sorted({limiter for limiter, _ in grown}):
        counts = {bound: count for (name, bound), count in grown.items() if name == limiter}
        p50, p99 = (1000 * quantile(counts, share) for share in (0.5, 0.99))
        print(f"{limiter}: p50 {p50:.2f} ms, p99 {p99:.2f} ms of {max(counts.values())} decisions at {rate:g}/s")


def first_command(cluster: kube.Kube, times: int) -> None:
    door = http.Door(cluster, "space", "space-api", 8080, time.monotonic)
    taken = []
    for _ in range(times):
        began = time.monotonic()
        sandbox = door.ask("POST", "/v1/sandboxes", body={}, timeout_s=60).parsed()["id"]
        answer = door.ask("POST", f"/v1/sandboxes/{sandbox}/command", body=_TRUE, timeout_s=60)
        taken.append(time.monotonic() - began)
        assert answer.status == 200, answer
        door.ask("DELETE", f"/v1/sandboxes/{sandbox}", timeout_s=60)
    print(f"create to the first command's answer: max {max(taken):.2f} s, min {min(taken):.2f} s of {times}")


def memory(bench: str) -> None:
    """What the engine says of each node: resident memory and kernel memory, without the page cache that may be dropped."""
    mine = ["--filter", f"label=io.x-k8s.kind.cluster={bench}"]
    names = engine.docker("ps", *mine, "--format", "{{.Names}}").stdout.split()
    told = engine.docker("stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}", *names).stdout
    lines = [line.split(" / ")[0] for line in sorted(told.splitlines())]
    print("idle memory:", "; ".join(lines))


def main(bench: str, rate: float, for_s: float) -> None:
    cluster = kube.Kube(register.kubeconfig(bench))
    memory(bench)
    first_command(cluster, 5)
    decisions(cluster, bench, rate, for_s)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0] if given else "space-smoke",
        float(given[1]) if len(given) > 1 else 200.0,
        float(given[2]) if len(given) > 2 else 20.0,
    )
