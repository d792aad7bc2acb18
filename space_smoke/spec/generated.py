"""The two files that are made from others and checked in: the editors' schema and the tables of scenarios and faults.

`write` is what `space_smoke lint --write` calls; a test compares with `contents`, so neither can be out of date unnoticed.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from space_smoke.spec import load, readme, schema

SCHEMA = pathlib.Path(__file__).parent / "scenario.schema.json"


def contents(root: pathlib.Path, tables: schema.Tables) -> Mapping[pathlib.Path, str]:
    """What each file should hold, for the scenarios under `root`. Raises SpecError, and UsageError without a README."""
    table = root / "README.md"
    return {
        SCHEMA: schema.text(tables),
        table: readme.updated(_now(table), load.scenarios(root, tables), tables.faults.values()),
    }


def write(root: pathlib.Path, tables: schema.Tables) -> tuple[pathlib.Path, ...]:
    """Writes the files that differ and returns their paths."""
    stale = {path: text for path, text in contents(root, tables).items() if _now(path) != text}
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
    return tuple(stale)


def _now(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
