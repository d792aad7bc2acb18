"""`ecw-session`: one caller's steps in order: create, info, command, pause, connect, delete; each answer is kept."""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping
from typing import Any

from space_smoke.bench import http
from space_smoke.loads import ecw_create, traffic
from space_smoke.model import kinds

STEPS = ("create", "info", "command", "connect", "pause", "delete")

KIND = kinds.LoadKind(
    name="ecw-session",
    summary="one caller's steps on one sandbox, in order",
    schema={
        "type": "object",
        "required": ["steps"],
        "additionalProperties": False,
        "properties": {
            "client": {"type": "string"},
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": 100,
                "items": {
                    "type": "object",
                    "required": ["do"],
                    "additionalProperties": False,
                    "properties": {
                        "do": {"enum": list(STEPS)},
                        "command": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                        "stdin": {"type": "string"},
                        "hold": {"type": "string", "format": "duration"},
                    },
                },
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    sandbox, left = "", ""  # steps after a delete still name the sandbox: that it is gone is an answer too
    for number, step in enumerate(load.argument("steps")):
        if load.stop.is_set():
            break
        method, path, body = _request(step, sandbox)
        answer = load.ask(
            number,
            step["do"],
            method,
            path,
            body=body,
            client=load.argument("client") or None,
            timeout_s=ecw_create.START_S,
            see=functools.partial(_seen, step),
            step=number,
            sandbox=sandbox or None,
        )
        if step["do"] == "create":
            sandbox = left = ecw_create.created(answer.parsed(), answer.status) or ""
        elif step["do"] == "delete" and answer.status == 204:
            left = ""
    if left:
        ecw_create.remove(load, [left])


def _request(step: Mapping[str, Any], sandbox: str) -> tuple[str, str, Any]:
    at = f"/v1/sandboxes/{sandbox or 'sb-none'}"
    match step["do"]:
        case "create":
            return "POST", "/v1/sandboxes", {}
        case "info":
            return "GET", at, None
        case "command":
            body: dict[str, Any] = {"command": step.get("command", ["true"])}
            if "stdin" in step:
                body["stdin_b64"] = base64.b64encode(step["stdin"].encode()).decode()
            return "POST", f"{at}/command", body
        case "connect":
            return "POST", f"{at}/connect", {"hold_s": step.get("hold_s", 0)}
        case "pause":
            return "POST", f"{at}/pause", {}
    return "DELETE", at, None


def _seen(step: Mapping[str, Any], answer: http.Answer) -> dict[str, Any]:
    """The body, and for a command what it wrote and how it ended."""
    seen = answer.parsed()
    more: dict[str, Any] = {"body": traffic.capped(seen)}
    if step["do"] == "command" and isinstance(seen, dict):
        more |= {"exit_code": seen.get("exit_code"), **{s: _text(seen.get(f"{s}_b64")) for s in ("stdout", "stderr")}}
    return more


def _text(encoded: Any) -> str | None:
    """Output as text; bytes that are not UTF-8 as base64, marked."""
    if not isinstance(encoded, str):
        return None
    try:
        raw = base64.b64decode(encoded, validate=True)
    except ValueError:
        return f"not base64: {encoded[:80]}"
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"base64:{encoded}"
