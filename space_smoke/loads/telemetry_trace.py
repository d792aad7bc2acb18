"""`telemetry-trace`: runs a command in a sandbox under a trace id of its own, and asks the telemetry backends for that id
until each of them has what the sandbox told, or the time is up.

One event `telemetry` for each backend: {backend, trace_id, pod, found, after_s, held, fault}: `pod` is the sandbox's, `held`
what the backend has under the trace id, `after_s` from the command's answer to when the backend was seen to have it.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import Any

from space_smoke import errors
from space_smoke.bench import telemetry, wait
from space_smoke.loads import ecw_create, traffic
from space_smoke.model import kinds

KIND = kinds.LoadKind(
    name="telemetry-trace",
    summary="runs a command under a trace id, and waits until the telemetry backends have it",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["within"],
        "properties": {
            "within": {"type": "string", "format": "duration", "description": "how long the backends are asked for"}
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    sandbox = ecw_create.make(load, 0, part="setup")
    if not sandbox:
        return  # without a command there is no trace, and the check says so
    trace_id = uuid.uuid4().hex  # of this run alone: a backend may still hold those of others
    answer = load.ask(
        0,
        "command",
        "POST",
        f"/v1/sandboxes/{sandbox}/command",
        body={"command": ["true"]},
        headers={"X-Trace-Id": trace_id},
        sandbox=sandbox,
        trace_id=trace_id,
    )
    if answer.status == 200:
        _await(load, trace_id, f"sandbox-{sandbox}", answer.ended_s)
    ecw_create.remove(load, [sandbox])


def _await(load: traffic.Traffic, trace_id: str, pod: str, ended_s: float) -> None:
    last: dict[str, telemetry.Seen] = {}
    arrived_s: dict[str, float] = {}

    def look() -> wait.State:
        for backend, ask in telemetry.BACKENDS.items():
            if backend in arrived_s:
                continue
            last[backend] = ask(load.door, trace_id, load.began_wall_s + load.door.clock())
            if any(held["pod"] == pod for held in last[backend].held):
                arrived_s[backend] = load.door.clock() - ended_s
        missing = [backend for backend in telemetry.BACKENDS if backend not in arrived_s]
        faults = [last[backend].fault for backend in missing if last[backend].fault]
        told = f"{' and '.join(missing) or 'nothing'} missing"
        return wait.State(not missing, "; ".join([told, *faults]))

    with contextlib.suppress(errors.WaitFailed):  # the check says what was seen instead
        wait.until(
            load.door.cluster,
            f"trace {trace_id} in the telemetry backends",
            look,
            watching=(),  # no object of Kubernetes changes when a backend has taken something in
            timeout_s=float(load.argument("within_s")),
            emit=load.emit,
        )
    for backend, seen in last.items():
        after: dict[str, Any] = {"found": backend in arrived_s, "after_s": None}
        if backend in arrived_s:
            after["after_s"] = round(arrived_s[backend], 3)
        load.tell(
            "telemetry",
            load=load.load.name,
            backend=backend,
            trace_id=trace_id,
            pod=pod,
            held=[dict(one) for one in seen.held],
            fault=seen.fault,
            **after,
        )
