"""Reading a record is pure and the simulation reads the same ones again and again: remember what was read."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from space_smoke.model import record


@pytest.fixture(autouse=True, scope="session")
def _remember_records() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "decode", functools.lru_cache(maxsize=65_536)(record.decode))
        yield
