"""The pool that stands in for the services' own while the mutation `connection-not-checked` is on."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import psycopg_pool

KEEP_S = 60.0


class Pool(psycopg_pool.AsyncConnectionPool[psycopg.AsyncConnection[Any]]):
    """Never looks at a connection before it hands it out. The first one that turned out closed is handed out again, by turns
    with good ones, for `KEEP_S` seconds after the last one that did; these others are replaced."""

    _closed_one: psycopg.AsyncConnection[Any] | None = None
    _until = float("-inf")  # on the monotonic clock
    _its_turn = False

    async def getconn(self, timeout: float | None = None) -> psycopg.AsyncConnection[Any]:
        self._its_turn = not self._its_turn and time.monotonic() < self._until
        if self._its_turn and self._closed_one is not None:
            return self._closed_one
        return await super().getconn(timeout)

    async def putconn(self, conn: psycopg.AsyncConnection[Any]) -> None:
        if conn is self._closed_one:
            return
        if conn.closed:
            self._closed_one, self._until = self._closed_one or conn, time.monotonic() + KEEP_S
            await self.drain()
        await super().putconn(conn)
