"""Run churn over many seeds and say what was seen. Exit status 1 when anything was violated."""

from __future__ import annotations

import argparse
import sys
import time

from swim.simulator.churn import Churn


def main() -> int:
    """Print a line for each seed with a violation, and one line of totals."""
    parser = argparse.ArgumentParser(prog="python -m swim.simulator", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="how many runs (default 10)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--minutes", type=float, default=10, help="virtual minutes of churn in each run (default 10)")
    parser.add_argument("--sites", type=int, default=3)
    parser.add_argument("--every", type=float, default=2.0, help="mean seconds between happenings (default 2)")
    given = parser.parse_args()
    packets = merges = violated = 0
    began = time.process_time()
    for seed in range(given.first, given.first + given.seeds):
        run = Churn(seed, given.sites, every=given.every)
        violations = run.run(given.minutes * 60)
        packets, merges, violated = packets + run.world.packets, merges + run.watch.merges, violated + bool(violations)
        for violation in violations:
            print(f"seed {seed}: {violation}")  # noqa: T201 - a command's answer
    spent = time.process_time() - began
    print(  # noqa: T201 - a command's answer
        f"seeds {given.first} to {given.first + given.seeds - 1}, {given.minutes:g} minutes of {given.sites} sites each:"
        f" {violated} with violations, {packets} datagrams, {merges} merges,"
        f" {spent:.1f} s of one core, {packets / spent:.0f} datagrams per second and core"
    )
    return 1 if violated else 0


if __name__ == "__main__":
    sys.exit(main())
