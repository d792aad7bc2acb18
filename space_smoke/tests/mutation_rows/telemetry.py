"""What reaches the backends of telemetry."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.tests.mutation_rows.shape import API, Row, Spoiling, only

TELEMETRY = "local.telemetry_reaches_local_backends"

ROWS: Sequence[Row] = (
    Row(
        TELEMETRY,
        "telemetry-arrived trace",
        "services and sandboxes are told of no backend",
        spoiling=only(
            name="mute",
            kind="helm-values",
            target=API,
            values={"telemetry": {"otlpEndpoint": ""}},
            phases=["standing"],
        ),
    ),
    Row(
        TELEMETRY,
        "telemetry-arrived trace #2",
        "no pod is found and asked that quickly",
        spoiling=Spoiling(("checks", 1, "within"), "1ms"),
    ),
    *(
        Row(TELEMETRY, check, "the sandbox tells of a command without its trace id", "trace-dropped")
        for check in ("telemetry-arrived trace", "telemetry-arrived trace #2")
    ),
)
