"""The pool of connections through an outage, with a real database behind a door that opens late."""

from __future__ import annotations

import asyncio
import contextlib
import time
from urllib.parse import urlsplit

import pytest

from common import database as databases
from fleet import records
from tests import stores

POOL = 1
CALLERS = 25  # more than ten for each connection: a queue of that length once stayed full for ever


def test_more_callers_than_any_queue_may_give_up_and_the_database_is_still_found_again(database: str) -> None:
    asyncio.run(_outage(database))


async def _outage(database: str) -> None:
    real, door = urlsplit(database).port, stores.free_port()
    url = database.replace(f":{real}/", f":{door}/")
    pool = databases.Database(databases.Settings(url, POOL), "test")
    kept = records.Records(pool)
    await pool.open()
    try:
        given_up = await asyncio.gather(*(kept.check() for _ in range(CALLERS)), return_exceptions=True)
        assert all(isinstance(error, databases.Unavailable) for error in given_up)
        with pytest.raises(databases.Unavailable):
            await kept.check()

        passing: set[asyncio.Task[None]] = set()

        def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            passing.add(asyncio.create_task(_pass(reader, writer, real or 0)))

        async with await asyncio.start_server(through, "127.0.0.1", door):
            deadline = time.monotonic() + 15
            while True:
                try:
                    await kept.check()
                    break
                except databases.Unavailable:
                    assert time.monotonic() < deadline, "the database is there and was never found again"
            await pool.close()
            await asyncio.gather(*passing)
    finally:
        await pool.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    there = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
        sink.close()
        await sink.wait_closed()
