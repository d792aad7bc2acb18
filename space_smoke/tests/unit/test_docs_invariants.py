"""The tables of docs/fault-lease.md: complete, and each test and each sabotage that they name exists."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

import space_smoke
from space_smoke.faults import kinds
from space_smoke.tests.sim import mutants

TESTS = Path(space_smoke.__file__).parent / "tests"
PAGE = (TESTS.parents[1] / "docs" / "fault-lease.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if re.match(r"^\| [ICS]\d+ \|", line)
]
NAMED = [f"I{n}" for n in range(1, 26)] + [f"C{n}" for n in range(1, 8)] + [f"S{n}" for n in range(1, 18)]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    """Functions and assigned names at the top of a file, without importing it."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(found)


def test_every_invariant_crash_point_and_schedule_stands_there_once_in_order() -> None:
    assert [row[0] for row in ROWS] == NAMED


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_is_held_by_tests_that_exist(row: list[str]) -> None:
    """A test is named by its path and its name; a file alone stands for all of its tests."""
    tests = quoted(row[2])
    assert tests, f"{row[0]} is held by nothing"
    for test in tests:
        path, _, name = test.partition("::")
        assert (TESTS / path).is_file(), f"{row[0]}: there is no {path}"
        assert not name or name in names_in(TESTS / path), f"{row[0]}: there is no {test}"
        assert not name or name.lower().startswith("test")


@pytest.mark.parametrize("row", ROWS[:25], ids=lambda row: row[0])
def test_each_invariant_is_sabotaged_or_says_why_it_cannot_be(row: list[str]) -> None:
    sabotages = quoted(row[3])
    known = {mutant.name: mutant for mutant in mutants.MUTANTS}
    assert sabotages or row[3].startswith("none: ")
    assert set(sabotages) <= known.keys(), f"{row[0]} names {set(sabotages) - known.keys()}"
    for name in sabotages:
        catcher = known[name].caught_by
        place = f"{catcher.__module__.removeprefix('space_smoke.tests.').replace('.', '/')}.py::{catcher.__name__}"
        assert place in quoted(row[2]), f"{row[0]}: {name} is noticed by {place}, which is not named beside it"


def test_every_sabotage_belongs_to_an_invariant() -> None:
    named = [name for row in ROWS[:25] for name in quoted(row[3])]
    assert sorted(named) == sorted(mutant.name for mutant in mutants.MUTANTS)


def test_every_kind_of_fault_says_once_where_it_is_fenced() -> None:
    table = PAGE.split("## Where each kind of fault is fenced")[1].split("## ")[0]
    rows = [line.strip("| ").split(" | ")[0] for line in table.splitlines() if line.startswith("| ")][1:]
    assert sorted(name for row in rows for name in row.split(", ")) == sorted(kinds.KINDS)
