"""Churn of simulated grid sites over many seeds, and how soon they detect and converge. Needs no bench.

    .venv/bin/python benchmarks/swim_churn.py --seeds 1000 --minutes 10 [--sites 3] [--jobs 1] [--kept FILE] [--json]
    .venv/bin/python benchmarks/swim_churn.py --times 1000 [--sites 3] [--json]

A churn run loses, doubles and reorders packets, cuts, kills, moves clocks and forges. Its totals may never fall, never be
above what was acknowledged, and must be equal to it at quiescence (`swim.simulator.churn`). With `--kept` every finished
seed is written down at once, and one that stands there is not run again; what other code kept is refused. The times are
those of `swim.simulator.measure`, beside the bounds of `swim.bounds`. Exit status 1 for a violation or a time over its bound.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import multiprocessing
import os
import pathlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

SERVICES = pathlib.Path(__file__).resolve().parent.parent / "services"
sys.path.insert(0, str(SERVICES))

from swim import bounds  # noqa: E402 - found by the line above
from swim.parameters import KIND  # noqa: E402
from swim.simulator import measure  # noqa: E402
from swim.simulator.churn import Churn  # noqa: E402

Result = dict[str, Any]
_EVERY = 20  # lines of progress in all


def code() -> str:
    """A hash of the sources that a result depends on."""
    told = hashlib.sha256()
    for path in sorted((SERVICES / "swim").rglob("*.py")):
        told.update(path.relative_to(SERVICES).as_posix().encode() + b"\0" + path.read_bytes())
    return told.hexdigest()[:16]


def run(seed: int, minutes: float, sites: int) -> Result:
    """One seed's churn; CPU in seconds."""
    began, churn = time.process_time(), Churn(seed, sites)
    violations = churn.run(60 * minutes)
    return {
        "seed": seed,
        "violations": violations,
        "packets": churn.world.packets,
        "merges": churn.watch.merges,
        "cpu_s": round(time.process_time() - began, 3),
    }


def end_with_parent() -> None:
    """A worker whose parent is killed would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def kept(path: pathlib.Path | None, plan: Result) -> dict[int, Result]:
    """What was finished before, by seed. Raises SystemExit for a file of another plan or other code."""
    if path is None:
        return {}
    if not path.exists():
        path.write_text(json.dumps(plan) + "\n")
    head, *lines = path.read_text().split("\n")
    if head != json.dumps(plan):
        raise SystemExit(f"{path} is of {head}, not of {json.dumps(plan)}: give another file")
    whole = lines[:-1]  # a kill may have left the last line without its end
    path.write_text("".join(line + "\n" for line in (head, *whole)))
    return {result["seed"]: result for result in map(json.loads, whole)}


def churned(given: argparse.Namespace) -> Iterator[Result]:
    """The result of every seed, in the order in which they end."""
    before = kept(given.kept, {"minutes": given.minutes, "sites": given.sites, "code": code()})
    wanted = range(given.first, given.first + given.seeds)
    yield from (before[seed] for seed in wanted if seed in before)
    with concurrent.futures.ProcessPoolExecutor(given.jobs, initializer=end_with_parent) as pool:
        runs = [pool.submit(run, seed, given.minutes, given.sites) for seed in wanted if seed not in before]
        for done in concurrent.futures.as_completed(runs):
            if given.kept:
                with given.kept.open("a") as file:
                    file.write(json.dumps(done.result()) + "\n")
            yield done.result()


def churn(given: argparse.Namespace) -> Result:
    """All seeds, told of as they end."""
    results = []
    for result in churned(given):
        results.append(result)
        for violation in result["violations"]:
            print(f"seed {result['seed']}: {violation}", file=sys.stderr, flush=True)
        if len(results) % max(1, given.seeds // _EVERY) == 0:
            print(f"{len(results)} of {given.seeds} seeds", file=sys.stderr, flush=True)
    packets, cpu = (sum(result[what] for result in results) for what in ("packets", "cpu_s"))
    return {
        "seeds": len(results),
        "minutes": given.minutes,
        "sites": given.sites,
        "violated": sorted(result["seed"] for result in results if result["violations"]),
        "packets": packets,
        "merges": sum(result["merges"] for result in results),
        "cpu_s": round(cpu, 1),
        "packets_per_cpu_s": round(packets / cpu),
    }


def times(given: argparse.Namespace) -> Result:
    """Median, p99 and worst seconds of each measure over so many runs, beside its bound; and the simulator's speed."""
    sites, answer = given.sites, Result()
    for name, measured, loss, bound in (
        ("detection", measure.detection, 0.0, bounds.detection(sites, KIND)),
        ("convergence", measure.convergence, 0.0, bounds.convergence(sites, KIND)),
        ("convergence at 30 % loss", measure.convergence, 0.3, bounds.convergence(sites, KIND)),
    ):
        taken = sorted(measured(sites, seed, loss) for seed in range(given.times))
        answer[name] = {
            "median_s": round(taken[len(taken) // 2], 2),
            "p99_s": round(taken[int(len(taken) * 0.99)], 2),
            "worst_s": round(taken[-1], 2),
            "bound_s": round(bound, 2),
            "over": sum(took > bound for took in taken),
        }
        print(name, answer[name], file=sys.stderr, flush=True)
    datagrams, packets = measure.throughput(sites)
    return {"runs": given.times, "sites": sites, **answer, "per_cpu_s": [round(datagrams), round(packets)]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many runs of churn (default 10)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--minutes", type=float, default=10, help="virtual minutes of each (default 10)")
    parser.add_argument("--sites", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default 1)")
    parser.add_argument("--kept", type=pathlib.Path, help="keep finished seeds here, and go on from them")
    parser.add_argument("--times", type=int, help="measure detection and convergence in so many runs instead")
    parser.add_argument("--json", action="store_true", help="the answer as one line of JSON")
    given = parser.parse_args()
    answer = times(given) if given.times else churn(given)
    if given.json:
        print(json.dumps(answer))
    else:
        print("\n".join(f"{name}: {value}" for name, value in answer.items()))
    over = any(part["over"] for part in answer.values() if isinstance(part, dict))
    return 1 if over or answer.get("violated") else 0


if __name__ == "__main__":
    sys.exit(main())
