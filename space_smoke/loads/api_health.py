"""`api-health`: asks each pod of the API whether it lives (/healthz) and whether it is ready (/readyz), again and again."""

from __future__ import annotations

from space_smoke.loads import traffic
from space_smoke.model import kinds

PATHS = ("/healthz", "/readyz")

KIND = kinds.LoadKind(
    name="api-health",
    summary="asks each pod of the API at a steady rate whether it lives and whether it is ready",
    schema={
        "type": "object",
        "required": ["rate"],
        "additionalProperties": False,
        "oneOf": [{"required": ["for"]}, {"required": ["through"]}],
        "properties": {
            "rate": {"type": "string", "format": "rate", "description": "how often each pod is asked for each of both"},
            "for": {"type": "string", "format": "duration", "description": "how long"},
            "through": traffic.THROUGH,
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    pods: list[str | None] = [*load.pods] or [None]  # none is ready: then the Service is asked, which knows none either
    asked = [(pod, path) for pod in pods for path in PATHS]
    rate_rps = float(load.argument("rate_rps")) * len(asked)
    for_s = load.argument("for_s")

    def one(number: int) -> None:
        pod, path = asked[number % len(asked)]
        load.ask(number, path.lstrip("/"), "GET", path, pod=pod, timeout_s=10)

    total = None if for_s is None else max(len(asked), int(rate_rps * float(for_s)))
    load.fan_out(total, 4 * len(asked), rate_rps, one)
