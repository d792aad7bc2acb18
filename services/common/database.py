"""Postgres behind a pool. Connections come just seen alive, so a restarted server costs no caller an error once it is back.

A statement is sent once: a write whose answer was lost is told as unavailable and never repeated here.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
import psycopg_pool
from psycopg import rows

from common import mutations, settings, unchecked

T = TypeVar("T")
Values = Sequence[object] | Mapping[str, object]

_TIMEOUT_S = 2.0  # for a connection; also how long a request may be kept by an absent database
CONNECTING: dict[str, Any] = {
    "autocommit": True,
    "connect_timeout": 2,  # libpq counts whole seconds and takes 1 as 2
    "tcp_user_timeout": 2000,
    "keepalives_idle": 5,
}


class Unavailable(Exception):
    """The database did not answer, or not with what was asked."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`url` may hold a password; `pool` is the most connections of one pod."""

    url: str
    pool: int


def read_url(reader: settings.Reader) -> str:
    url = reader.secret("SPACE_DATABASE_URL")
    if not url.startswith(("postgresql://", "postgres://")):
        # The value may hold a password, so it is not repeated.
        reader.mistake("SPACE_DATABASE_URL", "..." if url else "", "must be set to a postgresql:// URL")
    return url


def read(reader: settings.Reader) -> Settings:
    return Settings(url=read_url(reader), pool=reader.integer("SPACE_DATABASE_POOL", 8, 1, 100))


class Session:
    """One connection, for statements that belong together."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def query(self, kind: type[T], statement: str, values: Values = ()) -> list[T]:
        """The rows as instances of the dataclass `kind`, whose fields are the columns' names."""
        async with self._connection.cursor(row_factory=rows.class_row(kind)) as cursor:
            await cursor.execute(statement.encode(), values)
            return await cursor.fetchall()

    async def execute(self, statement: str, values: Values = ()) -> int:
        """Run a statement without rows; how many it concerned."""
        return (await self._connection.execute(statement.encode(), values)).rowcount


class Database:
    """A pool of at most `settings.pool` connections; `application` names them to the server."""

    def __init__(self, settings: Settings, application: str, active: frozenset[str] = frozenset()) -> None:
        checked = mutations.CONNECTION_NOT_CHECKED not in active
        pool = psycopg_pool.AsyncConnectionPool if checked else unchecked.Pool
        self._pool = pool(
            settings.url,
            min_size=1,
            max_size=settings.pool,
            open=False,
            timeout=_TIMEOUT_S,
            # No limit on who waits: the pool keeps callers that gave up in its queue until it has a connection again, and
            # one that finds the queue full is refused before it could make the pool connect. A limit turned an outage
            # longer than the queue into one for ever.
            max_waiting=0,
            max_lifetime=1800,
            # Give up on a dead server soon: the next caller, such as the readiness probe, then tries anew at once,
            # where the pool's own attempts would have doubled their distance many times.
            reconnect_timeout=1.0,
            check=pool.check_connection if checked else None,
            kwargs={**CONNECTING, "application_name": application, "options": "-c statement_timeout=2000"},
        )

    async def open(self) -> None:
        """Start connecting; whether that worked is the readiness probe's business."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        await self._pool.close(timeout=1)

    async def query(self, kind: type[T], statement: str, values: Values = ()) -> list[T]:
        """One statement on its own; raises Unavailable."""
        async with self.session() as session:
            return await session.query(kind, statement, values)

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A connection for the block; each statement stands alone. Raises Unavailable."""
        try:
            async with self._pool.connection() as connection:
                yield Session(connection)
        except psycopg.Error as error:
            first_line = str(error).partition("\n")[0]
            raise Unavailable(f"{type(error).__name__}: {first_line}") from error

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """As `session`, but all of the block's statements or none."""
        async with self.session() as session, session._connection.transaction():
            yield session
