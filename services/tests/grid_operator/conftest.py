"""Fixtures of running operators: one Postgres for all, an API server and sites for each test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests import process, stores
from tests.grid_operator import api, sites


@pytest.fixture(scope="session")
def _owner_url() -> Iterator[str]:
    """A database whose owner the operators are, which has no tables at first."""
    with stores.postgres() as pattern:
        yield pattern.format(role="owner")


@pytest.fixture
def grid(_owner_url: str) -> Iterator[sites.Grid]:
    """An API server of its own, and no site yet; every operator that is started ends with the test."""
    with _grid(_owner_url) as made:
        yield made


@pytest.fixture(scope="module")
def shared_grid(_owner_url: str) -> Iterator[sites.Grid]:
    """The same for all tests of a module."""
    with _grid(_owner_url) as made:
        yield made


@contextlib.contextmanager
def _grid(url: str) -> Iterator[sites.Grid]:
    with api.ApiServer() as server:
        settings = {"SPACE_DATABASE_URL": url, "SPACE_TEST_CLUSTER": str(server.port)}
        with process.starter(settings) as starter:
            yield sites.Grid(server, url, starter)
