"""Every assertion of every scenario, with what turns it red. `space_smoke.tests.mutations` makes docs/mutations.md of it.

One table, a module for each subject. A *switch* is a planted defect, of a service (SPACE_MUTATION) or of the harness
(SPACE_SMOKE_MUTATION); a *spoiling* changes one place of the scenario itself, so that the bench is not what is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from space_smoke.tests.mutation_rows import charts, database, grid, limiters, placement, queue, sessions, telemetry
from space_smoke.tests.mutation_rows.shape import EVERY, Row, Spoiling

__all__ = ["EVERY", "ROWS", "WANTED", "Row", "Spoiling"]

# Switches that no service has yet, with exactly what each must do. A test fails once a service has one: then it goes.
WANTED: Mapping[str, str] = {}

ROWS: Sequence[Row] = (
    Row(
        EVERY,
        "current-pods",
        "a rollout counts as done while old pods still serve",
        "rollout-ignores-old-pods",
        harness=True,
    ),
    Row(EVERY, "nothing-left", "the protocol of faults: each sabotage of docs/fault-lease.md, in simulation"),
    *sessions.ROWS,
    *queue.ROWS,
    *limiters.ROWS,
    *database.ROWS,
    *placement.ROWS,
    *charts.ROWS,
    *telemetry.ROWS,
    *grid.ROWS,
)
