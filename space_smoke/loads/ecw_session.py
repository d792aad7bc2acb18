"""`ecw-session`: one caller's steps in order: create, info, command, put, get, list, pause, connect, wait, delete; each answer
is kept. `wait` sends nothing: it is how long the sandbox is left alone, say while it is paused."""

from __future__ import annotations

import base64
import functools
import hashlib
import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from space_smoke.bench import http, wait
from space_smoke.loads import ecw_create, traffic
from space_smoke.model import kinds

_LONGEST = 4000  # bytes of a file that are worth keeping as text

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
            "through": traffic.THROUGH,
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
                        "for": {"type": "string", "format": "duration", "description": "of a wait: how long"},
                        "path": {"type": "string", "description": "of put, get and list: in the workspace"},
                        "text": {"type": "string", "description": "of a put: what the file holds, as UTF-8"},
                        "base64": {"type": "string", "description": "of a put: what the file holds, as bytes"},
                        "size": {
                            "type": "integer",
                            "minimum": 0,
                            "maximum": 8388608,
                            "description": "of a put: so many bytes, the same for the same seed",
                        },
                        "writers": {
                            "type": "integer",
                            "minimum": 1,
                            "maximum": 16,
                            "description": "of a put with a size: so many at once to the same path, each with other bytes",
                        },
                    },
                },
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    sandbox, left = "", ""  # steps after a delete still name the sandbox: that it is gone is an answer too
    for number, step in enumerate(load.argument("steps")):
        if step["do"] == "wait":
            wait.pace(load.door.clock() + float(step.get("for_s", 0)), load.door.clock, load.stop)
            continue
        if load.stop.is_set() and not load.argument("through"):
            break
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


def _ask(load: traffic.Traffic, number: int, step: Mapping[str, Any], sandbox: str, writer: int) -> http.Answer:
    method, path, body = request(step, sandbox)
    content = _content(step, load.seed + writer) if step["do"] == "put" else None
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


def request(step: Mapping[str, Any], sandbox: str) -> tuple[str, str, Any]:
    """Method, path and JSON body of one step on a sandbox, "" for none; a step is as in this load's schema, read."""
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
        case "put":
            return "PUT", f"{at}/files?{urlencode({'path': step.get('path', '')})}", None
        case "get":
            return "GET", f"{at}/files?{urlencode({'path': step.get('path', '')})}", None
        case "list":
            return "GET", f"{at}/files?{urlencode({'list': step.get('path', '')})}", None
        case "connect":
            return "POST", f"{at}/connect", {"hold_s": step.get("hold_s", 0)}
        case "pause":
            return "POST", f"{at}/pause", {}
    return "DELETE", at, None


def _content(step: Mapping[str, Any], seed: int) -> bytes:
    """What a put sends. Bytes of a stated size come from the seed, every value among them."""
    if "size" in step:
        return random.Random(seed).randbytes(step["size"])  # noqa: S311 - test data
    return base64.b64decode(step["base64"]) if "base64" in step else str(step.get("text", "")).encode()


def _seen(step: Mapping[str, Any], content: bytes | None, answer: http.Answer) -> dict[str, Any]:
    """The body; for a command what it wrote and how it ended; for a file's bytes their number and SHA-256."""
    if step["do"] == "get" and answer.status == 200:
        return _bytes(answer.body) | {"text": _shown(answer.body) if len(answer.body) <= _LONGEST else None}
    seen = answer.parsed()
    more: dict[str, Any] = {"body": traffic.capped(seen)}
    if step["do"] == "create":
        more |= ecw_create.seen(answer)
    if content is not None:
        more |= _bytes(content)
    if step["do"] == "command" and isinstance(seen, dict):
        more |= {"exit_code": seen.get("exit_code"), **{s: _text(seen.get(f"{s}_b64")) for s in ("stdout", "stderr")}}
    return more


def _bytes(content: bytes) -> dict[str, Any]:
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _text(encoded: Any) -> str | None:
    """Output as text; bytes that are not UTF-8 as base64, marked."""
    if not isinstance(encoded, str):
        return None
    try:
        return _shown(base64.b64decode(encoded, validate=True))
    except ValueError:
        return f"not base64: {encoded[:80]}"


def _shown(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(raw).decode()}"
