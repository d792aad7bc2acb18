"""Wakes a waiting worker by Postgres' NOTIFY, over a connection of its own, because a pool's are used by turns."""

from __future__ import annotations

import asyncio
import logging

import psycopg
from psycopg import sql

from common import database

_AGAIN_S = 1.0

_log = logging.getLogger(__name__)


async def listen(url: str, channel: str, application: str, event: asyncio.Event) -> None:
    """Set `event` at each notification, and at each new connection, before which some may have been missed.

    Runs until cancelled. Whoever waits must also look now and then: a dead connection may take a while to be seen.
    """
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(
                url, application_name=application, keepalives_interval=2, keepalives_count=3, **database.CONNECTING
            ) as connection:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                event.set()
                async for _ in connection.notifies():
                    event.set()
        except psycopg.Error as error:
            _log.warning("not listening", extra={"facts": {"fault": f"{type(error).__name__}: {error}"[:200]}})
        await asyncio.sleep(_AGAIN_S)  # nothing announces that the database is back
