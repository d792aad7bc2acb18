"""Figures of the space side: create to first command, and idle memory. Needs a bench that is up.

.venv/bin/python benchmarks/space.py [BENCH]
"""

from __future__ import annotations

import sys
import time

from space_smoke.bench import engine, http, kube, register

_TRUE = {"command": ["true"]}


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


def main(bench: str) -> None:
    memory(bench)
    first_command(kube.Kube(register.kubeconfig(bench)), 5)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "space-smoke")
