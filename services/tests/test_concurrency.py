"""Leases of the per-client limiter on a real Redis."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence

import pytest

from limiters import concurrency, decision, store
from tests import limiting, stores


@contextlib.asynccontextmanager
async def limiter(
    server: stores.Redis, mode: str = concurrency.ENFORCE, limit: int = 1, lease_s: float = 30.0
) -> AsyncIterator[concurrency.Limiter]:
    async with limiting.connected(server.url) as shared:
        made = concurrency.Limiter(concurrency.Settings(mode, limit, ("a", "b"), lease_s), shared)
        yield made
        await made.settle()


async def probe(clients: concurrency.Limiter, client: str = "a") -> decision.Concurrency:
    async with clients.hold(client, store.Budget()) as made:
        return made


async def all_at_once(pods: Sequence[concurrency.Limiter], count: int) -> list[decision.Concurrency]:
    """`count` requests, spread over `pods`, that all stay in work until each has been decided."""
    decided, made = asyncio.Barrier(count), []

    async def one(clients: concurrency.Limiter) -> None:
        async with clients.hold("a", store.Budget()) as answer:
            made.append(answer)
            await decided.wait()

    await asyncio.gather(*(one(pods[turn % len(pods)]) for turn in range(count)))
    return made


def test_observe_refuses_nobody_and_marks_what_enforce_would(redis_server: stores.Redis) -> None:
    async def work() -> list[decision.Concurrency]:
        async with limiter(redis_server, concurrency.OBSERVE, limit=7) as clients:
            return await all_at_once((clients,), 50)

    made = limiting.run(work())
    assert all(one.accepted for one in made)
    assert sum(one.would_reject for one in made) == 43


def test_clients_do_not_touch_each_other(redis_server: stores.Redis) -> None:
    async def work() -> tuple[bool, bool]:
        async with limiter(redis_server) as clients, clients.hold("a", store.Budget()):
            return (await probe(clients, "a")).accepted, (await probe(clients, "b")).accepted

    assert limiting.run(work()) == (False, True)


def test_a_cancelled_request_gives_its_lease_back(redis_server: stores.Redis) -> None:
    async def work() -> None:
        async with limiter(redis_server) as clients:

            async def forever() -> None:
                async with clients.hold("a", store.Budget()):
                    await asyncio.Event().wait()

            task = asyncio.create_task(forever())
            while not limiting.leases(redis_server, "a"):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert clients.held == 0

    limiting.run(work())
    assert limiting.leases(redis_server, "a") == 0


def test_a_lost_lease_ends_by_itself_not_before_and_not_never(redis_server: stores.Redis) -> None:
    async def work() -> float:
        async with limiter(redis_server, lease_s=0.5) as clients:
            now = redis_server.time_ms()
            await clients._store.run(
                concurrency.ACQUIRE, concurrency.KEY_PREFIX + "a", (1, 500, "lost"), store.Budget()
            )
            while not (await probe(clients)).accepted:
                await asyncio.sleep(0.01)
            return redis_server.time_ms() - now

    assert 499 <= limiting.run(work()) <= 1500


def test_work_longer_than_a_lease_stays_counted(redis_server: stores.Redis) -> None:
    async def work() -> set[bool]:
        async with limiter(redis_server, lease_s=0.3) as clients, clients.hold("a", store.Budget()):
            accepted, ends = set(), time.monotonic() + 1.0
            while time.monotonic() < ends:
                accepted.add((await probe(clients)).accepted)
                await asyncio.sleep(0.02)
            return accepted

    assert limiting.run(work()) == {False}


def test_a_lease_is_renewed_only_for_the_longest_hold(
    redis_server: stores.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency, "MAX_HOLD_S", 0.4)

    async def work() -> float:
        async with limiter(redis_server, lease_s=0.3) as clients, clients.hold("a", store.Budget()):
            started = time.monotonic()
            while not (await probe(clients)).accepted:
                await asyncio.sleep(0.02)
            return time.monotonic() - started

    assert 0.6 <= limiting.run(work()) <= 1.1


def test_a_release_after_a_restart_changes_nothing(redis_server: stores.Redis) -> None:
    async def work() -> None:
        async with limiter(redis_server) as clients, clients.hold("a", store.Budget()):
            redis_server.client.flushall()
            assert (await probe(clients)).accepted

    limiting.run(work())
    assert not redis_server.client.exists(concurrency.KEY_PREFIX + "a")


def test_a_renewal_does_not_bring_back_a_forgotten_lease(redis_server: stores.Redis) -> None:
    async def work() -> int:
        async with limiter(redis_server, lease_s=0.1) as clients, clients.hold("a", store.Budget()):
            redis_server.client.flushall()
            await asyncio.sleep(0.2)  # several renewals
            return limiting.leases(redis_server, "a")

    assert limiting.run(work()) == 0


def test_every_key_expires(redis_server: stores.Redis) -> None:
    async def work() -> int:
        async with limiter(redis_server, lease_s=5) as clients, clients.hold("a", store.Budget()):
            return int(redis_server.client.pttl(concurrency.KEY_PREFIX + "a"))

    assert 4000 <= limiting.run(work()) <= 5000


def test_off_asks_nothing(redis_server: stores.Redis) -> None:
    async def work() -> decision.Concurrency:
        async with limiter(redis_server, concurrency.OFF) as clients:
            return await probe(clients)

    before = redis_server.commands()
    made = limiting.run(work())
    assert (made.accepted, made.reason, made.would_reject) == (True, decision.DISABLED, False)
    assert redis_server.commands() == before + 1  # the question itself


def test_names_that_no_header_can_hold_are_unspecified(redis_server: stores.Redis) -> None:
    limiting.unknown_clients_share_a_bucket(redis_server, limiting.NO_MUTATION)
