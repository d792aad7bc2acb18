"""Where pods land."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.tests.mutation_rows.shape import API, Row, Spoiling, more

GROUPS = "local.node_group_boundary_schedules"
EXTRAS = "local.node_selector_extras_render_and_enforce"
_ON_INFRA = more(
    name="astray",
    kind="set-env",
    target=API,
    env={"SPACE_SANDBOX_NODE_SELECTOR": '{"space-smoke.dev/group": "infra"}'},
    phases=["standing"],
)
_ELSEWHERE = Spoiling(("faults", 0, "target"), "node/infra")

ROWS: Sequence[Row] = (
    Row(GROUPS, "placed spread", "sandboxes are sent to another group", spoiling=_ON_INFRA),
    *(
        Row(GROUPS, check, "sandboxes ask for no group", "sandbox-ignores-node-selector")
        for check in ("answers in-vain", "pending waiting")
    ),
    Row(
        GROUPS,
        "placed spread #2",
        "the API is installed on another group",
        spoiling=more(
            name="astray", kind="helm-values", target=API, values={"nodeGroup": "sandbox"}, phases=["standing"]
        ),
    ),
    *(
        Row(GROUPS, check, "another group is cordoned", spoiling=_ELSEWHERE)
        for check in ("answers in-vain", "pending waiting")
    ),
    Row(
        GROUPS,
        "answers patient",
        "the cordon is not taken away",
        spoiling=Spoiling(("faults", 0, "phases"), ["cordoned", "uncordoned"]),
    ),
    Row(
        EXTRAS,
        "placed spread",
        "sandboxes get no extras",
        spoiling=Spoiling(("faults", 0, "values", "sandbox", "nodeSelectorExtras"), {}),
    ),
    Row(
        EXTRAS,
        "placed spread #2",
        "the API gets no extras",
        spoiling=Spoiling(("faults", 0, "values", "nodeSelectorExtras"), {}),
    ),
    *(
        Row(
            EXTRAS,
            check,
            "every node has the extras",
            spoiling=Spoiling(
                ("faults", 1, "values", "sandbox", "nodeSelectorExtras"), {r"kubernetes\.io/os": "linux"}
            ),
        )
        for check in ("pending waiting", "answers in-vain")
    ),
)
