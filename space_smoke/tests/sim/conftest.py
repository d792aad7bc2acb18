"""Reading a record and writing a pointer are pure, and the simulation does both again and again: remember the results."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from space_smoke.model import objects, record


@pytest.fixture(autouse=True, scope="session")
def _remember_records() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "decode", functools.lru_cache(maxsize=65_536)(record.decode))
        patch.setattr(objects, "pointer", functools.lru_cache(maxsize=4_096)(objects.pointer))
        yield


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many schedules of each family were tried, on whichever worker."""
    families: dict[str, list[float]] = {}
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "schedules":
                family, count, seconds = value
                sums = families.setdefault(family, [0, 0.0])
                sums[0] += count
                sums[1] += seconds
    for family, (count, seconds) in families.items():
        rate = count / seconds if seconds else 0
        terminalreporter.write_line(f"simulated {family}: {count:.0f} schedules, {rate:.0f}/s of one core")
