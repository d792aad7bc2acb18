"""A run of one fault in a process of its own, killed at a step of the protocol, or while Helm is at work for it.

`python -m space_smoke.tests.kind.killing KUBECONFIG FAULT [HELM]`: takes the domain, raises the fault, puts it back. FAULT is
[name, kind, target kind, target, arguments] as JSON; HELM a program to use in the place of Helm.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from space_smoke.bench import injection, kube, life, tools
from space_smoke.engine import tenure
from space_smoke.faults import kinds
from space_smoke.model import scenario

# With its hooks Helm waits for a Job between a new revision and the first write to the release's objects; with --wait it
# waits for the rollout after the last one. Only upgrades are slowed, and of those the N-th that this run makes.
_SLOW = """#!/bin/bash
helm={helm} folder=$(dirname "$0")
if [ "$1" != upgrade ]; then exec "$helm" "$@"; fi
echo >> "$folder/upgrades"
if [ "$(wc -l < "$folder/upgrades")" != {number} ]; then exec "$helm" "$@"; fi
arguments=()
for one in "$@"; do [ "$one" = --no-hooks ] && [ {stage} = begun ] || arguments+=("$one"); done
[ {stage} = begun ] || arguments+=(--wait)
exec "$helm" "${{arguments[@]}}"
"""


def slow_helm(folder: Path, helm: Path, stage: str, number: int) -> str:
    """A program that stops for some seconds in the `number`-th upgrade: `begun`, or `written`."""
    script = folder / "helm"
    script.write_text(_SLOW.format(helm=helm, stage=stage, number=number))
    script.chmod(0o755)
    return str(script)


def main(argv: list[str]) -> int:
    kubeconfig, text, *program = argv
    name, kind, target_kind, target, arguments = json.loads(text)
    if program:
        tools.obtain = lambda *_a, **_k: Path(program[0])
    fault = scenario.Fault(name, kind, scenario.Target(target_kind, target), arguments, ())
    run = f"killed-{os.getpid()}"
    leases = tenure.Tenure(kube.Kube(Path(kubeconfig)), "space", run, life.Lock(run), lambda *_a, **_k: None)
    leases.take([kinds.KINDS[kind].domain])
    leases.raise_fault(fault)
    sys.stdout.write("up\n")
    sys.stdout.flush()
    return 3 if leases.give_back() else 0


def start(cluster: kube.Kube, fault: scenario.Fault, *program: str, **env: str) -> subprocess.Popen[str]:
    """The run, in a session of its own."""
    text = json.dumps([fault.name, fault.kind, fault.target.kind, fault.target.name, dict(fault.arguments)])
    return subprocess.Popen(
        [sys.executable, "-m", "space_smoke.tests.kind.killing", str(cluster.kubeconfig), text, *program],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def killed(cluster: kube.Kube, fault: scenario.Fault, point: str) -> None:
    """Runs until it kills itself at a step, for example act:after."""
    child = start(cluster, fault, **{injection.VARIABLE: f"kill:{point}:1"})
    out, err = child.communicate(timeout=200)
    assert child.returncode == -signal.SIGKILL, (child.returncode, out, err)


def killed_when(child: subprocess.Popen[str], true: Callable[[], Any], timeout_s: float = 120) -> None:
    """Kills the run itself, and nothing that it started, as soon as something is true."""
    deadline = time.monotonic() + timeout_s
    while not true():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline, "what it should be killed at did not come"
        time.sleep(0.02)
    child.kill()
    child.communicate(timeout=20)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
