"""`ecw-create`: makes sandboxes, each a cold activation, and removes what it made when it is done."""

from __future__ import annotations

from typing import Any

from space_smoke.bench import http
from space_smoke.loads import traffic
from space_smoke.model import history, kinds

START_S = 45.0  # a sandbox may take this long to answer before the request counts as unanswered

KIND = kinds.LoadKind(
    name="ecw-create",
    summary="creates sandboxes (cold activations) and removes them afterwards",
    schema={
        "type": "object",
        "required": ["requests", "concurrency"],
        "additionalProperties": False,
        "properties": {
            "requests": {"type": "integer", "minimum": 1, "maximum": 1000},
            "concurrency": {"type": "integer", "minimum": 1, "maximum": 200},
            "rate": {"type": "string", "format": "rate", "description": "open loop: requests are due at this rate"},
            "client": {"type": "string", "description": "X-Client-ID; left out: none is sent"},
            "clients": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "description": "client-0 … client-(n-1) in turn",
            },
            "keep": {
                "type": "boolean",
                "default": False,
                "description": "leave them for later loads, an ecw-remove the last",
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    made: list[str] = []

    def one(number: int) -> None:
        sandbox = make(load, number, client=load.client(number))
        if sandbox:
            made.append(sandbox)

    load.fan_out(load.argument("requests"), load.argument("concurrency"), load.argument("rate_rps"), one)
    if not load.argument("keep", False):
        remove(load, made)


def make(load: traffic.Traffic, number: int, **more: Any) -> str | None:
    """Asks for one sandbox; its id if it was made, which the request's event bears as `made`."""
    answer = load.ask(number, "create", "POST", "/v1/sandboxes", body={}, timeout_s=START_S, see=seen, **more)
    return created(answer.parsed(), answer.status)


def seen(answer: http.Answer) -> dict[str, Any]:
    return {"made": created(answer.parsed(), answer.status)}


def created(body: Any, status: int | None) -> str | None:
    """The id of the sandbox that a create made, if it made one."""
    return str(body["id"]) if status == 201 and isinstance(body, dict) and "id" in body else None


def kept(load: traffic.Traffic, by: str) -> list[str]:
    """The sandboxes that an earlier load of this run made, in the order of their creation."""
    return [str(event.data["made"]) for event in history.requests(load.past(), by) if event.data.get("made")]


def remove(load: traffic.Traffic, sandboxes: list[str]) -> None:
    """Deletes sandboxes side by side; the deletes are their own requests, named <load>.cleanup."""

    def one(number: int) -> None:
        path = f"/v1/sandboxes/{sandboxes[number]}"
        load.ask(number, "delete", "DELETE", path, timeout_s=20, part="cleanup", sandbox=sandboxes[number])

    if sandboxes:
        load.fan_out(len(sandboxes), min(8, len(sandboxes)), None, one)
