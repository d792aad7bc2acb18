"""What the installer refuses."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.tests.mutation_rows.shape import API, Row, attempt, only

INSTALLER = "local.chart_endpoint_validation"

ROWS: Sequence[Row] = (
    Row(
        INSTALLER,
        "attempts defaults",
        "a store is named",
        spoiling=attempt(
            1,
            0,
            0,
            "values",
            {
                chart: {"redis": {"url": "redis://limiters.example:6379"}}
                for chart in ("space-api", "space-admin-api", "space-cluster-controller")
            },
        ),
    ),
    Row(
        INSTALLER,
        "attempts own-store",
        "the API server refuses an object that the chart renders",
        spoiling=attempt(1, 1, 0, "values", {"space-api": {"podSecurityContext": {"runAsUser": -1}}}),
    ),
    *(
        Row(
            INSTALLER,
            f"attempts {load}",
            "the chart has nothing to refuse",
            spoiling=attempt(1, number, 0, "values", {}),
        )
        for number, load in enumerate(("kind-endpoint", "urls-differ", "caps-differ", "pools"), start=2)
    ),
    Row(
        INSTALLER,
        "nothing-new after",
        "objects are made meanwhile",
        spoiling=only(name="busy", kind="set-env", target=API, env={"SPACE_DATABASE_POOL": "7"}, phases=["tried"]),
    ),
)
