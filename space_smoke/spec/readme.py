"""The tables of scenarios and faults in scenarios/README.md, made from the files and the kinds so that it cannot be out of date unnoticed."""

from __future__ import annotations

from collections.abc import Iterable

from space_smoke import errors
from space_smoke.model import scenario
from space_smoke.spec import schema

BEGIN = "<!-- scenarios: generated from the files, do not edit -->"
END = "<!-- end of scenarios -->"


def updated(text: str, scenarios: Iterable[scenario.Scenario], faults: Iterable[schema.DeclaredFault] = ()) -> str:
    """The README with the tables between its two marks made anew. Raises UsageError where a mark is missing."""
    before, begin, rest = text.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end:
        raise errors.UsageError(
            "the README has no place for the table of scenarios", next_step=f"add the lines {BEGIN} and {END}"
        )
    return f"{before}{BEGIN}\n{table(scenarios)}{fault_table(faults)}{END}{after}"


def table(scenarios: Iterable[scenario.Scenario]) -> str:
    """A Markdown table by id."""
    rows = [
        f"| [{one.id}]({one.area}/{one.name}.yaml) | {_cell(one.claim)} | {', '.join(one.labels)} | {one.budget_s:g} s |"
        for one in sorted(scenarios, key=lambda one: one.id)
    ]
    return "\n".join(["| scenario | claim | labels | budget |", "|---|---|---|---|", *rows]) + "\n"


def fault_table(faults: Iterable[schema.DeclaredFault]) -> str:
    """What can be broken on purpose, by kind; "" for none."""
    rows = [f"| `{one.name}` | {', '.join(one.targets)} | {_cell(one.summary)} |" for one in faults]
    return "\n".join(["", "| fault | target | what it does |", "|---|---|---|", *rows]) + "\n" if rows else ""


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
