"""Own spend in the database: many requests in one transaction, each once, and told only when it is written."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from common import database
from grid_operator import store, tables, writer
from swim.messages import Record
from tests import stores

Told = list[store.Slot]


@pytest.fixture(scope="module")
def writer_url() -> Iterator[str]:
    """A database in which no operator runs."""
    with stores.postgres() as pattern:
        yield pattern.format(role="owner")


class Desk:
    """A site's store and its writer, in a network of its own."""

    def __init__(self, url: str) -> None:
        self.url, self.network = url, f"net-{uuid.uuid4().hex[:12]}"
        self.pool = database.Database(database.Settings(url, 4), "test")
        self.store = store.Store(self.pool, self.network, "a")
        self.told: Told = []
        self.writer = writer.Writer(self.store, self._tell, lambda: None)

    def _tell(self, slot: store.Slot) -> None:
        with psycopg.connect(self.url) as connection:  # another session: what it sees is committed
            (found,) = connection.execute(
                "SELECT cents + relearned_cents FROM grid_slots WHERE network = %s AND tenant = %s",
                (self.network, slot.tenant),
            ).fetchall()
        assert found == (slot.cents,), "told before it was written"
        self.told.append(slot)

    def ask(self, request: str, cents: int = 1, tenant: str = "t") -> store.Request:
        return store.Request(request, tenant, 1, cents)


@contextlib.asynccontextmanager
async def running(url: str) -> AsyncIterator[Desk]:
    desk = Desk(url)
    await desk.pool.open()
    await tables.migrate(desk.pool)
    work = asyncio.create_task(desk.writer.run())
    try:
        yield desk
    finally:
        work.cancel()
        await asyncio.wait({work})
        await desk.pool.close()


def test_a_hundred_requests_at_once_share_transactions_and_all_count(writer_url: str) -> None:
    async def work() -> None:
        async with running(writer_url) as desk:
            asks = [desk.writer.spend(desk.ask(str(number), number)) for number in range(1, 101)]
            assert all(await asyncio.gather(*asks))
            assert desk.writer.batches <= 3
            assert desk.told[-1] == store.Slot(1, "t", 5050, 100)
            assert [slot.cents for slot in await desk.store.slots(1)] == [5050]

    asyncio.run(work())


def test_one_id_in_one_transaction_counts_once_and_another_content_is_a_conflict(writer_url: str) -> None:
    async def work() -> None:
        async with running(writer_url) as desk:
            asks = [desk.ask("r", 5), desk.ask("r", 5), desk.ask("r", 6), desk.ask("r", 5, "u")]
            first, again, *others = await asyncio.gather(*map(desk.writer.spend, asks), return_exceptions=True)
            assert (first, again) == (True, False)
            assert all(isinstance(other, writer.Conflict) for other in others)
            assert desk.told == [store.Slot(1, "t", 5, 1)]

    asyncio.run(work())


def test_what_a_peer_kept_goes_below_what_was_taken_since(writer_url: str) -> None:
    async def work() -> None:
        async with running(writer_url) as desk:
            await desk.writer.spend(desk.ask("r1", 5))
            for cents, spends in ((100, 7), (60, 9)):
                desk.writer.relearn(Record("t", 1, "a", cents, spends))
            await desk.writer.spend(desk.ask("r2", 1))
            assert [slot.cents for slot in desk.told] == [5, 105, 105, 106]
            assert desk.told[-1].spends == 11

    asyncio.run(work())


def test_each_start_is_a_later_life_under_the_same_key(writer_url: str) -> None:
    async def work() -> None:
        async with running(writer_url) as desk:
            first = await desk.store.begin()
            await desk.store.raise_generation(7)
            await desk.store.raise_generation(3)
            await desk.store.raise_epoch(4)
            assert [await desk.store.next_revision(), await desk.store.next_revision(9)] == [1, 10]
            await desk.store.join()
            second = await desk.store.begin()
            assert second == store.Site(first.secret, 8, 4, 10, joined=True)
            assert (first.generation, first.joined, len(first.secret)) == (1, False, 32)

    asyncio.run(work())


def test_two_operators_that_start_at_once_make_the_tables_once(writer_url: str) -> None:
    async def work() -> None:
        async with running(writer_url) as desk:
            with psycopg.connect(writer_url, autocommit=True) as connection:
                connection.execute("DROP TABLE grid_sites, grid_slots, grid_requests, grid_migrations")
            done = await asyncio.gather(tables.migrate(desk.pool), tables.migrate(desk.pool))
            assert sorted(done) == [0, len(tables.STEPS)]

    asyncio.run(work())


def test_who_waits_when_the_writer_ends_is_told_so(writer_url: str) -> None:
    async def work() -> None:
        with contextlib.ExitStack() as stack:
            async with running(writer_url) as desk:
                await desk.writer.spend(desk.ask("r"))
                stack.enter_context(psycopg.connect(writer_url)).execute("LOCK TABLE grid_requests")
                waiting = [asyncio.create_task(desk.writer.spend(desk.ask(name))) for name in ("s", "t")]
                await asyncio.sleep(0)
        async with asyncio.timeout(10):
            for ended in await asyncio.gather(*waiting, desk.writer.spend(desk.ask("late")), return_exceptions=True):
                assert isinstance(ended, database.Unavailable)

    asyncio.run(work())


def test_request_ids_are_forgotten_when_they_are_old(writer_url: str) -> None:
    async def work() -> None:
        async with running(writer_url) as desk:
            await desk.writer.spend(desk.ask("r"))
            await desk.store.forget_requests(3600)
            assert await desk.store.find("r") == desk.ask("r")
            await desk.store.forget_requests(0)
            assert await desk.store.find("r") is None
            assert [slot.cents for slot in await desk.store.slots(1)] == [1]

    asyncio.run(work())
