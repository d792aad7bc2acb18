"""Fixtures: one Redis per test, emptied; one Postgres and one API per session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import cluster, process, queueing, stores


@pytest.fixture(scope="session")
def _redis_server() -> Iterator[stores.Redis]:
    server = stores.Redis()
    server.start()
    yield server
    server.client.close()
    server.stop()


@pytest.fixture
def redis_server(_redis_server: stores.Redis) -> Iterator[stores.Redis]:
    """A running, empty redis-server with its default settings; a test may stop, freeze or reconfigure it."""
    if not _redis_server._answers():
        _redis_server.start()
    _redis_server.client.flushall()
    yield _redis_server
    _redis_server.stop()
    _redis_server.start()


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """A migrated database; the URL of its app role."""
    with stores.postgres() as pattern:
        process.migrate(pattern.format(role="owner"), app_role="app")
        yield pattern.format(role="app")


@pytest.fixture
def start_api(database: str) -> Iterator[process.Start]:
    """Starts API processes with the given settings on top of a plain configuration; all are stopped at the end."""
    with process.starter({"SPACE_DATABASE_URL": database}) as start:
        yield start


@pytest.fixture
def queue(database: str) -> Iterator[queueing.Queue]:
    """An empty queue in the session's database, and a cluster of its own."""
    with cluster.Cluster() as made:
        found = queueing.Queue(database, made)
        found.execute("DELETE FROM operations")
        yield found
        found.close()
