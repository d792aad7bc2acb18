"""docs/differences-from-deployments.md: each difference has its reason and what would notice it, and all that is named exists."""

from __future__ import annotations

import re

import pytest

from space_smoke import suite
from space_smoke.bench import cache
from space_smoke.checks import judge
from space_smoke.tests.unit import test_docs_invariants

PAGE = (cache.PROJECT / "docs" / "differences-from-deployments.md").read_text()
ROWS = [line.strip().strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]
LABELS = {(the.id, check.label) for the in suite.choose() for check in judge.every_check(the)}
SCENARIO = re.compile(r"`((?:local|ecw|native|native_contract)\.[a-z_]+)(?:: ([^`]+))?`")
TEST = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip()[:40])
def test_each_difference_says_why_and_names_what_would_notice_it_or_that_nothing_would(row: list[str]) -> None:
    difference, why, notices = (cell.strip() for cell in row)
    assert difference
    assert why
    assert re.match(r"nothing: \w", notices) or SCENARIO.search(notices) or TEST.search(notices), notices


def test_every_check_that_the_page_names_is_one_of_its_scenario() -> None:
    named = SCENARIO.findall(PAGE)
    assert len(named) > 10
    assert [one for one in named if one not in LABELS] == []


def test_every_test_that_the_page_names_exists() -> None:
    named = TEST.findall(PAGE)
    assert len(named) > 3
    for path, name in named:
        file = cache.PROJECT / path
        assert file.is_file(), f"there is no {path}"
        assert not name or name in test_docs_invariants.names_in(file), f"there is no {name} in {path}"


def test_every_file_that_the_page_names_exists() -> None:
    assert [path for path in re.findall(r"`([\w/-]+\.yaml)`", PAGE) if not (cache.PROJECT / path).is_file()] == []
