"""What a drill runs in a process of its own: the protocol on light targets, so that a cycle takes little time.

Forked by bench.warm, which calls `warm(KUBECONFIG, CONTEXT)` once and `main([KUBECONFIG, CONTEXT, RUN, MODE])` in each
process. MODE: `cycle` (take, raise both faults, lower both, release) or `hold` (take, raise both, then wait to be killed), both
with `-pods` for faults that start and stop pods; `orphan` (as hold, with a child that outlives us); `repair`. Events go to
standard output, one JSON object a line. SPACE_SMOKE_DRILL breaks it at a step (bench.injection). Started by engine.ground.
"""

from __future__ import annotations

import functools
import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from space_smoke import errors
from space_smoke.bench import kube, life, proc
from space_smoke.engine import preflight, tenure
from space_smoke.model import scenario

NAMESPACE = "space-drill"
DOMAIN = "public-api-mutation"
_ENV = {"env": {"MODE": "broken", "NEW": "1"}}


def _fault(name: str, kind: str, arguments: Mapping[str, Any]) -> scenario.Fault:
    return scenario.Fault(name, kind, scenario.Target("deployment", name), arguments, ())


# The last one is the one whose being up means that all are.
LIGHT = (_fault("drill-env", "set-env", _ENV), _fault("drill-mode", "set-env", _ENV))
PODS = (_fault("drill-env", "set-env", _ENV), _fault("drill-scale", "scale", {"replicas": 0}))
_ORPHAN = "setsid sleep 900 >/dev/null 2>&1 </dev/null & echo $!"


@functools.cache
def _cluster(kubeconfig: str, context: str) -> kube.Kube:
    return kube.Kube(Path(kubeconfig), context or None)


def warm(kubeconfig: str, context: str) -> None:
    """Reads the kubeconfig once for all runners; opens no connection."""
    _cluster(kubeconfig, context)


def main(argv: list[str]) -> int:
    """The exit code that `space_smoke run` would give."""
    kubeconfig, context, run, mode = argv
    lock = life.Lock(run)
    leases = tenure.Tenure(_cluster(kubeconfig, context), NAMESPACE, run, lock, _tell)
    try:
        preflight.preflight(leases, _tell, free=mode == "repair")
        if mode == "repair":
            return errors.PASSED
        leases.take([DOMAIN])
        for fault in PODS if mode.endswith("-pods") else LIGHT:
            leases.raise_fault(fault)
        if mode == "orphan":
            # Any program that we start holds our lock; this one leaves our session, and our death does not reach it.
            _tell("note", sentence="orphan", pid=int(proc.run(["sh", "-c", _ORPHAN], timeout_s=10).stdout))
        if not mode.startswith("cycle"):
            signal.pause()
        kept = leases.give_back()
        return errors.INCOMPLETE if kept else errors.PASSED
    except errors.SpaceSmokeError as error:
        _tell("note", sentence=str(error))
        return _ended(leases, error)


def _ended(leases: tenure.Tenure, error: errors.SpaceSmokeError) -> int:
    """After a failure what was raised is put back, as a run does."""
    try:
        kept = leases.give_back()
    except errors.SpaceSmokeError as second:
        _tell("note", sentence=str(second))
        return errors.worst([error.exit_code, second.exit_code])
    return errors.worst([error.exit_code, errors.INCOMPLETE if kept else errors.PASSED])


def _tell(kind: str, /, **data: Any) -> None:
    sys.stdout.write(json.dumps({"event": kind, **data}, default=str) + "\n")
    sys.stdout.flush()
