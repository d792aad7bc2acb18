"""`native-session`: one tenant's steps in order, each put into the queue and watched until it has ended: create, command, put, get,
pause, resume, delete, wait. The next step is put in when the one before it has ended, or its time is up.

The tenant is new, and its token is made and revoked by this load. `wait` sends nothing, as in an ecw-session. A session
that keeps its sandbox leaves it for a later one, which acts for the same tenant.
"""

from __future__ import annotations

import functools
from typing import Any

from space_smoke.bench import http
from space_smoke.loads import operations, steps, tokens, traffic
from space_smoke.model import history, kinds

_REMOVED_S = 60.0  # a deletion waits for all that the session has put in before it

STEPS = ("create", "command", "put", "get", "pause", "resume", "delete", "wait")

KIND = kinds.LoadKind(
    name="native-session",
    summary="one tenant's steps on one sandbox through the queue, in order, each watched to its end",
    schema={
        "type": "object",
        "required": ["steps"],
        "additionalProperties": False,
        "properties": {
            "within": {
                "type": "string",
                "format": "duration",
                "default": "30s",
                "description": "how long each operation may take to end",
            },
            "keep": {"type": "boolean", "default": False, "description": "leave the sandbox for a later session"},
            "kept_by": {
                "type": "string",
                "description": "an earlier native-session that keeps its sandbox: the steps are on that one",
            },
            "steps": steps.schema(
                STEPS,
                key={
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 200,
                    "description": "its idempotency key; the same key again asks for the same operation",
                },
            ),
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    sandbox, tenant = _kept(load) if load.argument("kept_by") else ("", tokens.tenant("smoke"))
    with tokens.held(load, tenant) as token:
        if token is None:
            return  # no step was reached, which is what the checks say
        caller, left = operations.Caller(token, float(load.argument("within_s", 30.0))), ""
        for number, step in steps.walk(load):
            put = _put(load, caller, number, step, sandbox, tenant=tenant)
            if put is None:
                continue
            if step["do"] == "create":
                sandbox = left = put.sandbox
            state = operations.watch(load, caller, put, step=number, do=step["do"])
            if step["do"] == "delete" and state == "succeeded":
                left = ""
        if left and not load.argument("keep", False):
            remove(load, caller, left)


def remove(load: traffic.Traffic, caller: operations.Caller, sandbox: str) -> None:
    """Deletes a sandbox and waits for that, as a request and an operation of <load>.cleanup."""
    put = _put(load, caller, 0, {"do": "delete"}, sandbox, part="cleanup")
    if put:
        patient = operations.Caller(caller.token, max(caller.within_s, _REMOVED_S))
        operations.watch(load, patient, put, part="cleanup", do="delete")


def _put(
    load: traffic.Traffic,
    caller: operations.Caller,
    number: int,
    step: steps.Step,
    sandbox: str,
    *,
    part: str = "",
    tenant: str | None = None,
) -> operations.Accepted | None:
    content = steps.content(step, load.seed) if step["do"] == "put" else None
    answer = load.ask(
        number,
        f"queue {step['do']}",
        "POST",
        operations.PATH,
        body=operations.order(step, sandbox, content),
        headers=caller.token.headers(),
        part=part,
        see=functools.partial(_seen, step),
        step=number,
        sandbox=sandbox or None,
        tenant=tenant,
        **({} if content is None else steps.sent(content)),
    )
    return operations.accepted(answer)


def _seen(step: steps.Step, answer: http.Answer) -> dict[str, Any]:
    found = operations.accepted(answer)
    return operations.seen(answer) | {"made": found.sandbox if found and step["do"] == "create" else None}


def _kept(load: traffic.Traffic) -> tuple[str, str]:
    """The sandbox that an earlier session made and the tenant that it belongs to; neither where it made none."""
    asked = history.requests(load.past(), load.argument("kept_by"))
    made = (event.data for event in asked if event.data.get("made"))
    return next(((str(data["made"]), str(data["tenant"])) for data in made), ("", tokens.tenant("smoke")))
