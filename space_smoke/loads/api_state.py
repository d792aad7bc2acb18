"""`api-state`: asks each pod of the API what it runs with: limiter settings, whether it has a store, version."""

from __future__ import annotations

from space_smoke.loads import traffic
from space_smoke.model import kinds

KIND = kinds.LoadKind(
    name="api-state",
    summary="asks each pod of the API for its limiter settings and version",
    schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {"pods": {"enum": ["each", "service"], "default": "each", "description": "whom to ask"}},
    },
)


def drive(load: traffic.Traffic) -> None:
    pods: list[str | None] = list(load.pods) if load.argument("pods", "each") == "each" else [None]
    for number, pod in enumerate(pods):
        load.ask(
            number,
            "state",
            "GET",
            "/v1/state",
            pod=pod,
            timeout_s=10,
            see=lambda answer: {"state": traffic.capped(answer.parsed())},
        )
