"""Operations of the native API: put into the queue, and asked after until they have ended or their time is up.

An event `operation` holds what became of one: {load, step, do, operation, sandbox, state, waited_s, refused, body, ...}. `state`
is the last one seen, `late` where it was seen to have ended when its time was over, None where the last answer was no
operation; `refused` is how it stood when a refused activation was first seen, or None; `body` is the operation as it was
told last.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.bench import http, wait
from space_smoke.loads import steps, tokens, traffic

PATH = "/v1/operations"
ENDED = ("succeeded", "failed")
PART = "watch"
_FIRST_S, _GROWS, _MOST_S = 0.05, 1.5, 0.5  # between two questions: a refusal lasts a second, and must be seen
_KINDS = {"put": "files.put", "get": "files.get"}  # the others are called like their step


@dataclass(frozen=True, slots=True)
class Caller:
    """Who puts operations in, and how long each may take."""

    token: tokens.Token
    within_s: float


def order(step: steps.Step, sandbox: str, content: bytes | None = None) -> dict[str, Any]:
    """The body of one step's order; `content` is what a put sends."""
    asked: dict[str, Any] = {"kind": _KINDS.get(step["do"], step["do"])}
    if step["do"] != "create":
        asked["sandbox"] = sandbox or "sb-none"
    if step["do"] == "command":
        asked |= steps.command(step)
    if step["do"] in ("put", "get"):
        asked["path"] = step.get("path", "")
    if content is not None:
        asked["content_b64"] = base64.b64encode(content).decode()
    if "key" in step:
        asked["idempotency_key"] = step["key"]
    return asked


@dataclass(frozen=True, slots=True)
class Accepted:
    """An operation that is in the queue; `asked_s` is when its order was sent, by the load's clock."""

    id: str
    sandbox: str
    asked_s: float


def accepted(answer: http.Answer) -> Accepted | None:
    """The operation that an answer accepted, if it accepted one."""
    body = answer.parsed()
    if answer.status != 202 or not isinstance(body, Mapping) or not {"id", "sandbox"} <= body.keys():
        return None
    return Accepted(str(body["id"]), str(body["sandbox"]), answer.sent_s)


def seen(answer: http.Answer) -> dict[str, Any]:
    """What an order's event tells of its answer."""
    found = accepted(answer)
    return {"body": traffic.capped(answer.parsed()), "operation": found.id if found else None}


def watch(load: traffic.Traffic, caller: Caller, asked: Accepted, part: str = "", **more: Any) -> str | None:
    """Asks after an operation until it has ended; its last state. One event tells the rest.

    An answer that is not the operation ends the watch: nothing is asked again that was not answered."""
    document, refused = None, None
    until_s, every_s = asked.asked_s + caller.within_s, _FIRST_S
    clock = load.door.clock
    while True:
        answer = _look(load, caller, asked.id)
        document = told if answer.status == 200 and isinstance(told := answer.parsed(), Mapping) else None
        if document is None:
            break
        if document.get("refusals") and refused is None:
            refused = {key: document.get(key) for key in ("state", "activation", "refusals")}
        going_on = document.get("state") not in ENDED and clock() < until_s
        if not going_on or not wait.pace(min(until_s, clock() + every_s), clock, load.stop):
            break
        every_s = min(_MOST_S, every_s * _GROWS)
    state = None if document is None else document.get("state")
    if state in ENDED and answer.sent_s > until_s + _MOST_S:
        state = "late"
    load.tell(
        "operation",
        load=f"{load.load.name}.{part}" if part else load.load.name,
        operation=asked.id,
        sandbox=asked.sandbox,
        state=state,
        waited_s=round(clock() - asked.asked_s, 3),
        refused=refused,
        **_read(document or {}),
        **more,
    )
    return state


def _look(load: traffic.Traffic, caller: Caller, operation: str) -> http.Answer:
    return load.ask(
        0,
        "operation",
        "GET",
        f"{PATH}/{operation}",
        headers=caller.token.headers(),
        timeout_s=10,
        part=PART,
        operation=operation,
    )


def _read(document: Mapping[str, Any]) -> dict[str, Any]:
    """The operation, and of its result what a session's steps tell: output, or a file's bytes."""
    result, error = (found if isinstance(found := document.get(key), Mapping) else {} for key in ("result", "error"))
    read: dict[str, Any] = {"code": error.get("code")}
    if "exit_code" in result:
        read |= steps.output(result)
    if "content_b64" in result:
        content = steps.decoded(str(result["content_b64"]))
        read |= {} if content is None else steps.got(content)
        document = {**document, "result": {key: value for key, value in result.items() if key != "content_b64"}}
    return read | {"body": traffic.capped(dict(document))}
