"""docs/mutations.md: complete, true to the scenarios, and each mutation that it names exists."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from space_smoke import suite
from space_smoke.bench import wait
from space_smoke.checks import judge
from space_smoke.checks import kinds as checks
from space_smoke.model import scenario
from space_smoke.spec import load
from space_smoke.tests import mutations

SERVICES = sorted((mutations.PROJECT / "services").glob("*/mutations.py"))
SHIPPED = {one.id: one for one in suite.choose()}
SPOILED = [row for row in mutations.ROWS if row.spoiling is not None]


def switches() -> set[str]:
    """The names in the services' own tables, without importing them."""
    found = set()
    for node in (node for path in SERVICES for node in ast.parse(path.read_text()).body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.add(node.value.value)
    return found


def test_the_page_is_what_would_be_generated_now() -> None:
    assert mutations.PAGE.read_text() == mutations.page(), "run python -m space_smoke.tests.mutations page"


@pytest.mark.parametrize("the", SHIPPED.values(), ids=SHIPPED)
def test_every_check_of_every_scenario_has_a_mutation(the: scenario.Scenario) -> None:
    covered = {row.check for row in mutations.ROWS if row.scenario == the.id}
    everywhere = {row.check for row in mutations.ROWS if row.scenario == mutations.EVERY}
    assert {check.label for check in judge.every_check(the)} <= covered | everywhere


def test_no_row_speaks_of_a_check_that_is_not_there() -> None:
    labels = {(the.id, check.label) for the in SHIPPED.values() for check in the.checks}
    labels |= {(mutations.EVERY, kind) for kind in checks.ALWAYS}
    assert {(row.scenario, row.check) for row in mutations.ROWS} <= labels


def test_each_row_is_broken_in_one_way() -> None:
    by_tests = [row for row in mutations.ROWS if not row.switch and row.spoiling is None]
    assert [row.check for row in by_tests] == ["nothing-left"]
    assert not [row for row in mutations.ROWS if row.switch and row.spoiling]


def test_each_switch_exists_or_is_wanted_and_none_is_wanted_that_exists() -> None:
    there, named = (
        switches(),
        {switch for row in mutations.ROWS if not row.harness for switch in row.switch.split(",") if switch},
    )
    assert len(there) > 5
    assert named - there == set(mutations.WANTED)
    assert {row.switch for row in mutations.ROWS if row.harness} == {wait.IGNORE_OLD_PODS}


@pytest.mark.parametrize("row", SPOILED, ids=lambda row: f"{row.scenario} {row.check}")
def test_a_spoiled_scenario_is_a_right_one_that_differs(row: mutations.Row, tmp_path: Path) -> None:
    path = mutations.write_spoiled(row, tmp_path)
    (made,) = load.scenarios(tmp_path, suite.tables())
    assert made.id == row.scenario
    area, name = row.scenario.split(".")
    assert yaml.safe_load(path.read_text()) != yaml.safe_load((mutations.SCENARIOS / area / f"{name}.yaml").read_text())
    assert row.check in {check.label for check in made.checks}


def test_a_place_that_is_not_there_is_no_spoiling() -> None:
    with pytest.raises(KeyError):
        mutations.spoiled({"a": {}}, mutations.Spoiling(("b", "c"), 1))
    assert mutations.spoiled({"a": [1]}, mutations.Spoiling(("a", "+"), 2)) == {"a": [1, 2]}
