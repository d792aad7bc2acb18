"""What a drill runs in a process of its own: the protocol on two light targets, so that a cycle takes seconds.

`python -m space_smoke.engine.drilling KUBECONFIG CONTEXT RUN MODE` with MODE `cycle` (take, raise both, lower both,
release), `hold` (take, raise both, then wait to be killed) or `repair`. Events go to standard output, one JSON object a
line. SPACE_SMOKE_DRILL breaks it at a step (bench.injection). Called by engine.drill.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

from space_smoke import errors
from space_smoke.bench import kube, life
from space_smoke.engine import preflight, tenure
from space_smoke.model import scenario

NAMESPACE = "space-drill"
DOMAIN = "public-api-mutation"
FAULTS = (
    scenario.Fault(
        "drill-env", "set-env", scenario.Target("deployment", "drill-env"), {"env": {"MODE": "broken", "NEW": "1"}}, ()
    ),
    scenario.Fault("drill-scale", "scale", scenario.Target("deployment", "drill-scale"), {"replicas": 0}, ()),
)


def main(argv: list[str]) -> int:
    """The exit code that `space_smoke run` would give."""
    kubeconfig, context, run, mode = argv
    lock = life.Lock(run)
    leases = tenure.Tenure(kube.Kube(Path(kubeconfig), context or None), NAMESPACE, run, lock, _tell)
    try:
        preflight.preflight(leases, _tell, free=mode == "repair")
        if mode == "repair":
            return errors.PASSED
        leases.take([DOMAIN])
        for fault in FAULTS:
            leases.raise_fault(fault)
        if mode == "hold":
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
