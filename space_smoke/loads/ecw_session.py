"""`ecw-session`: one caller's steps in order: create, info, command, put, get, list, pause, connect, wait, delete; each answer
is kept. `wait` sends nothing: it is how long the sandbox is left alone, say while it is paused."""

from __future__ import annotations

import functools
from typing import Any
from urllib.parse import urlencode

from space_smoke.bench import http
from space_smoke.loads import ecw_create, steps, traffic
from space_smoke.model import kinds

STEPS = ("create", "info", "command", "put", "get", "list", "connect", "pause", "wait", "delete")

KIND = kinds.LoadKind(
    name="ecw-session",
    summary="one caller's steps on one sandbox, in order",
    schema={
        "type": "object",
        "required": ["steps"],
        "additionalProperties": False,
        "properties": {
            "client": {"type": "string"},
            "kept_by": {
                "type": "string",
                "description": "an ecw-create load that keeps its sandboxes: the steps are on its first one",
            },
            "through": traffic.THROUGH,
            "steps": steps.schema(
                STEPS,
                hold={"type": "string", "format": "duration"},
                writers={
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 16,
                    "description": "of a put with a size: so many at once to the same path, each with other bytes",
                },
            ),
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    sandbox = next(iter(ecw_create.kept(load, load.argument("kept_by", ""))), "")
    left = ""  # steps after a delete still name the sandbox: that it is gone is an answer too
    for number, step in steps.walk(load):
        if step.get("writers", 1) > 1:
            writers = int(step["writers"])
            load.fan_out(writers, writers, None, functools.partial(_ask, load, number, step, sandbox))
            continue
        answer = _ask(load, number, step, sandbox, 0)
        if step["do"] == "create":
            sandbox = left = ecw_create.created(answer.parsed(), answer.status) or ""
        elif step["do"] == "delete" and answer.status == 204:
            left = ""
    if left:
        ecw_create.remove(load, [left])


def _ask(load: traffic.Traffic, number: int, step: steps.Step, sandbox: str, writer: int) -> http.Answer:
    method, path, body = request(step, sandbox)
    content = steps.content(step, load.seed + writer) if step["do"] == "put" else None
    return load.ask(
        number,
        step["do"],
        method,
        path,
        body=body,
        content=content,
        client=load.argument("client") or None,
        timeout_s=ecw_create.START_S,
        see=functools.partial(_seen, step, content),
        step=number,
        sandbox=sandbox or None,
    )


def request(step: steps.Step, sandbox: str) -> tuple[str, str, Any]:
    """Method, path and JSON body of one step on a sandbox, "" for none; a step is as in this load's schema, read."""
    at = f"/v1/sandboxes/{sandbox or 'sb-none'}"
    match step["do"]:
        case "create":
            return "POST", "/v1/sandboxes", {}
        case "info":
            return "GET", at, None
        case "command":
            return "POST", f"{at}/command", steps.command(step)
        case "put":
            return "PUT", f"{at}/files?{urlencode({'path': step.get('path', '')})}", None
        case "get":
            return "GET", f"{at}/files?{urlencode({'path': step.get('path', '')})}", None
        case "list":
            return "GET", f"{at}/files?{urlencode({'list': step.get('path', '')})}", None
        case "connect":
            return "POST", f"{at}/connect?hold_s={step.get('hold_s', 0):g}", None
        case "pause":
            return "POST", f"{at}/pause", {}
    return "DELETE", at, None


def _seen(step: steps.Step, content: bytes | None, answer: http.Answer) -> dict[str, Any]:
    """The body; for a command what it wrote and how it ended; for a file's bytes their number and SHA-256."""
    if step["do"] == "get" and answer.status == 200:
        return steps.got(answer.body)
    seen = answer.parsed()
    more: dict[str, Any] = {"body": traffic.capped(seen)}
    if step["do"] == "create":
        more |= ecw_create.seen(answer)
    if content is not None:
        more |= steps.sent(content)
    if step["do"] == "command":
        more |= steps.output(seen)
    return more
