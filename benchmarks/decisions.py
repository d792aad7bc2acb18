"""What a limiter decision costs, by the services' own clock, with a store and without one. Needs a bench that is up.

    .venv/bin/python benchmarks/decisions.py [BENCH] [RATE_RPS] [SECONDS]

A decision's time is the services' own histogram (`space_limiter_decision_seconds`), read before and after a load; a quantile
lies in a bucket and is interpolated in it, as Prometheus' histogram_quantile does. The load comes from a pod of the
internal API (benchmarks/steady.py), since what reaches the API through the API server's proxy costs more processor than
the API. The figures say something of the limiter only where the rate was achieved and processors had time left, so both
are printed beside them; the idle share is this machine's, which is the bench's where its nodes are containers here.

The cheapest requests that are limited: a connect to a sandbox that never was (a lease, then 404, and no query), and for
the bucket a create for which it has no token (a lease, a token refused, 429). Without a store a create would be
admitted, so that is tried with connects: from before the store is gone until it is, and once that is known.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from space_smoke.bench import http, kube, life, register, wait
from space_smoke.bench.outside import pods
from space_smoke.engine import preflight, suite, tenure
from space_smoke.model import objects, scenario

NAMESPACE, DOMAIN = "space", "public-api-mutation"
API = objects.Ref("apps/v1", "Deployment", NAMESPACE, "space-api")
SENDER = objects.Ref("apps/v1", "Deployment", NAMESPACE, "space-internal-api")
STEADY = (Path(__file__).parent / "steady.py").read_text()
CONNECT = ("POST", "/v1/sandboxes/sb-which-was-never-made/connect", "{}")
CREATE = ("POST", "/v1/sandboxes", "{}")
NO_TOKENS = scenario.Fault(
    "no-tokens",
    "set-env",
    scenario.Target("deployment", "space-api"),
    {
        "env": {
            "SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST": "1",
            "SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND": "0.001",
        }
    },
    (),
)
NO_STORE = scenario.Fault("no-store", "scale", scenario.Target("deployment", "space-redis"), {"replicas": 0}, ())
_BUCKET = re.compile(r"space_limiter_decision_seconds_bucket\{([^}]*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')

Key = tuple[str, str, str, float]


def parsed(exposition: str) -> Counter[Key]:
    """Decisions up to each bound, by (limiter, outcome, reason, bound in seconds)."""
    found: Counter[Key] = Counter()
    for told, count in _BUCKET.findall(exposition):
        labels = dict(_LABEL.findall(told))
        found[labels["limiter"], labels["outcome"], labels["reason"], float(labels["le"])] += int(float(count))
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


def lines(before: Counter[Key], after: Counter[Key]) -> Iterator[str]:
    """One for each limiter, outcome and reason of the decisions that were made meanwhile."""
    for kind in sorted({key[:3] for key in after}):
        counts = {key[3]: count - before[key] for key, count in after.items() if key[:3] == kind}
        if not any(counts.values()):
            continue
        p50, p99 = (1000 * quantile(counts, share) for share in (0.5, 0.99))
        limiter, outcome, reason = kind
        yield f"  {limiter} {outcome} ({reason}): p50 {p50:.2f} ms, p99 {p99:.2f} ms of {max(counts.values())}"


class Bench:
    """The API's pods, and a pod beside them that sends."""

    def __init__(self, name: str, rate_rps: float, for_s: float) -> None:
        self.cluster = kube.Kube(register.kubeconfig(name))
        self.rate_rps, self.for_s = rate_rps, for_s

    def buckets(self) -> Counter[Key]:
        door, found = http.Door(self.cluster, NAMESPACE, "", 8080, time.monotonic), Counter[Key]()
        for pod in wait.pods_of(self.cluster, self.cluster.read(API)):
            answer = door.ask("GET", "/metrics", pod=pod.name)
            assert answer.status == 200, answer
            found += parsed(answer.body.decode())
        return found

    def measured(self, what: str, request: tuple[str, str, str], meanwhile: Callable[[], object] | None = None) -> None:
        """Prints what the decisions of a steady load took; `meanwhile` begins two seconds after it."""
        before, ticks = self.buckets(), processor()
        other = threading.Timer(2.0, meanwhile) if meanwhile else None
        if other:
            other.start()
        ended = self._steady(request)
        if other:
            other.join()
        idle = share_idle(ticks, processor())
        told = json.loads(ended)
        print(f"{what}: {told['rate_rps']:g}/s of {self.rate_rps:g}/s, answers {told['told']}, {idle:.0%} idle")
        print(*lines(before, self.buckets()), sep="\n", flush=True)

    def _steady(self, request: tuple[str, str, str]) -> str:
        hosts = [f"{self._address(pod.name)}:8080" for pod in wait.pods_of(self.cluster, self.cluster.read(API))]
        argv = ["python3", "-c", STEADY, f"{self.rate_rps:g}", f"{self.for_s:g}", *request, *hosts]
        deadline = pods.Deadline(2 * self.for_s + 60, "the load")
        ended = pods.run(self.cluster, pods.running(self.cluster, SENDER)[0], argv, deadline)
        assert ended.code == 0, ended.err
        return ended.out

    def _address(self, pod: str) -> str:
        return str(self.cluster.read(objects.Ref("v1", "Pod", NAMESPACE, pod))["status"]["podIP"])


def processor() -> list[int]:
    """Of all processors since boot, in ticks: user, nice, system, idle, iowait and others (proc(5), /proc/stat)."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def share_idle(before: list[int], after: list[int]) -> float:
    grown = [late - early for early, late in zip(before, after, strict=True)]
    return (grown[3] + grown[4]) / sum(grown)


@contextmanager
def faults(cluster: kube.Kube) -> Iterator[tenure.Tenure]:
    """As a run holds them: what this process leaves up when it is killed, the next command puts back."""

    def quiet(*_arguments: object, **_more: object) -> None:
        """Nobody listens."""

    suite.ensure_namespace(cluster)
    leases = tenure.Tenure(cluster, NAMESPACE, "benchmark", life.Lock(suite.new_run_id()), quiet)
    preflight.preflight(leases, quiet)
    leases.take([DOMAIN])
    try:
        yield leases
    finally:
        leases.give_back()


def main(name: str, rate_rps: float, for_s: float) -> None:
    bench = Bench(name, rate_rps, for_s)
    with faults(bench.cluster) as leases:
        bench.measured("connects", CONNECT)
        leases.raise_fault(NO_TOKENS)
        door = http.Door(bench.cluster, NAMESPACE, "space-api", 8080, time.monotonic)
        if made := (door.ask(*CREATE[:2], body={}, timeout_s=60).parsed() or {}).get("id"):  # the only token
            door.ask("DELETE", f"/v1/sandboxes/{made}", timeout_s=60)
        bench.measured("creates without a token", CREATE)
        leases.lower_fault(NO_TOKENS)
        bench.measured("connects while the store goes", CONNECT, lambda: leases.raise_fault(NO_STORE))
        bench.measured("connects once it is known to be gone", CONNECT)
        leases.lower_fault(NO_STORE)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0] if given else "space-smoke",
        float(given[1]) if len(given) > 1 else 200.0,
        float(given[2]) if len(given) > 2 else 20.0,
    )
