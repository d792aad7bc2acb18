"""What the API knows of each sandbox, in Postgres. A record outlives its sandbox; deletion is a state of it.

Every statement stands alone (autocommit) and is sent once: a write whose answer was lost is told as unavailable, never
repeated. The pool hands out only connections it has just seen alive, so a restarted server costs no caller an error
once it is back.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import psycopg_pool
from psycopg import rows

STARTING, RUNNING, PAUSED, FAILED, DELETED = "starting", "running", "paused", "failed", "deleted"
STATES = (STARTING, RUNNING, PAUSED, FAILED, DELETED)
LIST_LIMIT = 1000
_TIMEOUT_S = 2.0  # for a connection; also how long a request may be kept by an absent database
_STATEMENT_TIMEOUT_MS = 2000
_COLUMNS = "id::text, state, client, pod, address, created_at, updated_at"
_SELECT = f"SELECT {_COLUMNS} FROM sandboxes"  # noqa: S608 - constants only; values are always parameters
_MOVE = (
    "UPDATE sandboxes SET state = %s, address = coalesce(%s, address), updated_at = now()"  # noqa: S608
    f" WHERE id = %s AND state = ANY(%s) RETURNING {_COLUMNS}"
)


class Unavailable(Exception):
    """The database did not answer, or not with what was asked."""


@dataclass(frozen=True, slots=True)
class Record:
    """One sandbox. `address` is the host:port of its server, "" when it has none."""

    id: str
    state: str
    client: str
    pod: str
    address: str
    created_at: datetime.datetime
    updated_at: datetime.datetime

    def public(self) -> dict[str, str]:
        """The record as clients see it."""
        return {
            "id": self.id,
            "state": self.state,
            "client": self.client,
            "pod": self.pod,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


class Records:
    """The table of sandboxes behind a pool of at most `size` connections."""

    def __init__(self, url: str, size: int, application: str) -> None:
        self._pool = psycopg_pool.AsyncConnectionPool(
            url,
            min_size=1,
            max_size=size,
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
            check=psycopg_pool.AsyncConnectionPool.check_connection,
            kwargs={
                "autocommit": True,
                "row_factory": rows.class_row(Record),
                "application_name": application,
                "connect_timeout": 2,  # libpq counts whole seconds and takes 1 as 2
                "tcp_user_timeout": 2000,
                "keepalives_idle": 5,
                "options": f"-c statement_timeout={_STATEMENT_TIMEOUT_MS}",
            },
        )

    async def open(self) -> None:
        """Start connecting; whether that worked is the readiness probe's business."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        await self._pool.close(timeout=1)

    async def check(self) -> None:
        """Raise Unavailable unless the table can be read."""
        await self._query(f"{_SELECT} LIMIT 1", ())

    async def add(self, sandbox: str, client: str, pod: str) -> Record:
        """Record a sandbox that is about to start."""
        return await self._one(
            "INSERT INTO sandboxes (id, state, client, pod, address) VALUES (%s, %s, %s, %s, '')",
            (sandbox, STARTING, client, pod),
        )

    async def get(self, sandbox: str) -> Record | None:
        found = await self._query(f"{_SELECT} WHERE id = %s", (sandbox,))
        return found[0] if found else None

    async def list(self) -> Sequence[Record]:
        """Sandboxes that are not deleted, newest first, at most LIST_LIMIT."""
        query = f"{_SELECT} WHERE state <> %s ORDER BY created_at DESC, id LIMIT %s"
        return await self._query(query, (DELETED, LIST_LIMIT))

    async def move(
        self, sandbox: str, state: str, *, origins: Sequence[str], address: str | None = None
    ) -> Record | None:
        """Set the state of a sandbox that is in one of `origins`; None when it is in another by now."""
        found = await self._query(
            _MOVE,
            (state, address, sandbox, list(origins)),
        )
        return found[0] if found else None

    async def _one(self, statement: str, values: Sequence[object]) -> Record:
        return (await self._query(f"{statement} RETURNING {_COLUMNS}", values))[0]

    async def _query(self, statement: str, values: Sequence[object]) -> Sequence[Record]:
        async with self._connection() as connection:
            cursor = await connection.execute(statement, values)
            return list(await cursor.fetchall())

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        try:
            async with self._pool.connection() as connection:
                yield connection
        except psycopg.Error as error:
            first_line = str(error).partition("\n")[0]
            raise Unavailable(f"{type(error).__name__}: {first_line}") from error
