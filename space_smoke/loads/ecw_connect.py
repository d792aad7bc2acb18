"""`ecw-connect`: connects to a sandbox and stays connected for a while, so that the per-client cap is what is tried.

With `until: refused-on-each-pod` the burst is repeated until every pod has refused once or `within` is over.
"""

from __future__ import annotations

from collections.abc import Callable

from space_smoke.bench import http
from space_smoke.loads import ecw_create, traffic
from space_smoke.model import kinds

MISSING = "sb-which-was-never-made"

KIND = kinds.LoadKind(
    name="ecw-connect",
    summary="connects to a sandbox and holds the connection",
    schema={
        "type": "object",
        "required": ["concurrency"],
        "additionalProperties": False,
        "properties": {
            "requests": {"type": "integer", "minimum": 1, "maximum": 5000},
            "concurrency": {"type": "integer", "minimum": 1, "maximum": 200},
            "rate": {"type": "string", "format": "rate", "description": "open loop: requests are due at this rate"},
            "for": {"type": "string", "format": "duration", "description": "with a rate: for how long"},
            "hold": {"type": "string", "format": "duration", "description": "how long each stays connected"},
            "client": {"type": "string", "description": "X-Client-ID; left out: none is sent"},
            "clients": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "description": "client-0 … client-(n-1) in turn",
            },
            "pods": {"enum": ["each", "service"], "default": "service"},
            "sandbox": {"enum": ["existing", "missing"], "default": "existing"},
            "kept_by": {
                "type": "string",
                "description": "an ecw-create load that keeps its sandboxes: connect to its first one",
            },
            "until": {"enum": ["refused-on-each-pod"]},
            "within": {"type": "string", "format": "duration", "description": "how long to repeat until"},
            "through": traffic.THROUGH,
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    kept = ecw_create.kept(load, load.argument("kept_by", ""))
    made = None if load.argument("kept_by") else _sandbox(load)
    sandbox = made or next(iter(kept), MISSING)
    refused: set[str | None] = set()

    def one(number: int) -> None:
        answer = connect(load, number, sandbox, load.client(number))
        if answer.status == 429:
            refused.add(answer.headers.get("x-space-pod"))

    rate_rps, total = load.argument("rate_rps"), load.total()
    deadline_s = load.door.clock() + float(load.argument("within_s", 0.0))
    while True:
        load.fan_out(total, load.argument("concurrency"), rate_rps, one)
        if load.argument("until") is None or load.stop.is_set():
            break
        if refused >= set(load.pods) or load.door.clock() >= deadline_s:
            break
    if made:
        ecw_create.remove(load, [made])


def connect(
    load: traffic.Traffic, number: int, sandbox: str, client: str | None, leave: Callable[[int], bool] | None = None
) -> http.Answer:
    """One request that stays for the load's `hold`, unless it is to `leave`."""
    hold_s = float(load.argument("hold_s", 0.0))
    return load.ask(
        number,
        "connect",
        "POST",
        # Not in a body: the API server's proxy now and then cuts a stream that answers one (golang/go#40747).
        f"/v1/sandboxes/{sandbox}/connect?hold_s={hold_s:g}",
        pod=load.pod(number),
        client=client,
        timeout_s=hold_s + 15,
        sandbox=sandbox,
        leave=leave,
    )


def _sandbox(load: traffic.Traffic) -> str | None:
    """The sandbox to connect to, made beforehand; None when a missing one is asked for, or none could be made."""
    if load.argument("sandbox", "existing") == "missing":
        return None
    return ecw_create.make(load, 0, part="setup")
