"""What turns each assertion of each scenario red: the one source of docs/mutations.md is `mutation_rows`.

A check that was never seen red does not count. Run as a module: `page` writes the table, `spoiled SCENARIO CHECK FOLDER [N]`
writes the scenario with that check's spoiling (or its N-th one), for `space_smoke run --scenarios FOLDER SCENARIO`.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from space_smoke.tests.mutation_rows import EVERY, ROWS, WANTED, Row, Spoiling

__all__ = ["EVERY", "ROWS", "WANTED", "Row", "Spoiling"]

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "mutations.md"
SCENARIOS = PROJECT / "scenarios"


def page() -> str:
    """docs/mutations.md."""
    return "\n".join(
        [
            "# Mutations",
            "",
            "What turns each assertion red. Made from `space_smoke/tests/mutation_rows` by `python -m space_smoke.tests.mutations page`;",
            "a test compares both, and that every check of every scenario stands here.",
            "",
            "A *switch* is a planted defect: of the services in `SPACE_MUTATION` (the charts' value `mutation`), of the harness in",
            "`SPACE_SMOKE_MUTATION`. A *spoiling* changes one place of the scenario, so that the bench is not what is claimed:",
            "`python -m space_smoke.tests.mutations spoiled SCENARIO CHECK FOLDER [N]` writes it for `run --scenarios FOLDER` (the N-th of a check).",
            "",
            "| scenario | check | broken | by |",
            "|---|---|---|---|",
            *(f"| {row.scenario} | {row.check} | {row.breaks} | {_by(row)} |" for row in ROWS),
            "",
            *_wanted(),
        ]
    )


def _wanted() -> Iterator[str]:
    if not WANTED:
        return
    yield from ("## Switches that no service has yet", "", "| switch | what it must do |", "|---|---|")
    yield from (f"| `{name}` | {what} |" for name, what in WANTED.items())
    yield ""


def _by(row: Row) -> str:
    if row.switch:
        return f"harness `{row.switch}`" if row.harness else f"switch `{row.switch}`"
    if row.spoiling is None:
        return "the tests beside them"
    where = ".".join(str(part) for part in row.spoiling.path)
    return f"`{where}`: `{_short(row.spoiling.value)}`"


def _short(value: Any) -> str:
    said = yaml.safe_dump(value, default_flow_style=True, width=1000).strip().removesuffix("\n...").strip()
    return said.replace("|", "\\|")


def spoiled(document: Mapping[str, Any], spoiling: Spoiling) -> dict[str, Any]:
    """The document of a scenario with one place changed. Raises KeyError or IndexError where there is no such place."""
    made: dict[str, Any] = copy.deepcopy(dict(document))
    *way, last = spoiling.path
    inner: Any = made
    for part in way:
        inner = inner[part]
    if last == "+":
        inner.append(spoiling.value)
    else:
        inner[last] = spoiling.value
    return made


def write_spoiled(row: Row, folder: Path) -> Path:
    """A folder of scenarios that holds this one alone, spoiled."""
    assert row.spoiling is not None
    area, name = row.scenario.split(".")
    document = yaml.safe_load((SCENARIOS / area / f"{name}.yaml").read_text())
    path = folder / area / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(spoiled(document, row.spoiling), sort_keys=False, allow_unicode=True))
    return path


if __name__ == "__main__":
    if sys.argv[1:] == ["page"]:
        PAGE.write_text(page())
    else:
        _, scenario_id, check_label, target, *number = sys.argv[1:]
        named = [one for one in ROWS if (one.scenario, one.check) == (scenario_id, check_label) and one.spoiling]
        write_spoiled(named[int(number[0]) - 1 if number else 0], Path(target))
