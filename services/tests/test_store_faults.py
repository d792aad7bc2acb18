"""However the store fails, requests are admitted within the budget, and the store is used again as soon as it is back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from limiters import activation, concurrency, decision, store
from tests import limiting, stores

Fault = Callable[[stores.Redis], object]


def _ask_for_a_password(server: stores.Redis) -> None:
    server.client.config_set("requirepass", "secret")
    server.client.client_kill_filter(_type="normal", skipme=True)


FAULTS: dict[str, tuple[Fault, Fault]] = {
    "refused": (lambda server: server.stop(), lambda server: server.start()),
    "black hole": (lambda server: server.freeze(), lambda server: server.resume()),
    "read only": (
        lambda server: server.client.replicaof("127.0.0.1", "1"),
        lambda server: server.client.replicaof("NO", "ONE"),
    ),
    "out of memory": (
        lambda server: server.client.config_set("maxmemory", "1"),
        lambda server: server.client.config_set("maxmemory", "0"),
    ),
    "password": (_ask_for_a_password, lambda server: server.client.config_set("requirepass", "")),
    "wrong type": (
        lambda server: [
            server.client.set(key, "x") for key in (activation.KEY, concurrency.KEY_PREFIX + concurrency.UNSPECIFIED)
        ],
        lambda server: server.client.flushall(),
    ),
}


class Both:
    """Both limiters on one store, used as a request uses them."""

    def __init__(self, shared: store.Store) -> None:
        self._activations = activation.Limiter(activation.Settings(), shared)
        self.clients = concurrency.Limiter(concurrency.Settings(), shared)

    async def request(self) -> tuple[set[str], float]:
        """The reasons of both decisions and the seconds that the request lost, its release included."""
        started, budget = time.monotonic(), store.Budget()
        async with self.clients.hold(concurrency.UNSPECIFIED, budget) as made:
            reasons = {made.reason, (await self._activations.decide(budget)).reason}
        return reasons, time.monotonic() - started


@pytest.mark.parametrize("name", FAULTS)
def test_a_failing_store_is_passed_by_in_time_and_used_again_within_a_second(
    name: str, redis_server: stores.Redis
) -> None:
    begin, end = FAULTS[name]

    async def work() -> None:
        async with limiting.connected(redis_server.url) as shared:
            both = Both(shared)
            assert (await both.request())[0] == {decision.NONE}
            begin(redis_server)
            lost = []
            for _ in range(20):
                reasons, seconds = await both.request()
                assert reasons == {decision.STORE_UNAVAILABLE}
                lost.append(seconds)
            assert max(lost) <= 0.25, lost
            assert sorted(lost)[10] <= 0.02, f"a store known to be down still costs time: {lost}"
            end(redis_server)
            ended = time.monotonic()
            while (await both.request())[0] != {decision.NONE}:
                assert time.monotonic() - ended <= 1.0, "the store is back and still not used"
                await asyncio.sleep(0.01)
            await both.clients.settle()

    limiting.run(work())


def test_many_requests_together_lose_no_more_to_a_black_hole_than_one(redis_server: stores.Redis) -> None:
    async def work() -> list[float]:
        async with limiting.connected(redis_server.url) as shared:
            both = Both(shared)
            await both.request()
            redis_server.freeze()
            made = await asyncio.gather(*(both.request() for _ in range(100)))
            assert all(reasons == {decision.STORE_UNAVAILABLE} for reasons, _ in made)
            redis_server.resume()
            return [seconds for _, seconds in made]

    assert (
        max(limiting.run(work())) <= 0.5
    )  # the budget, and the time of 100 requests on one thread; in turn they would take 17 s


def test_a_reply_that_came_too_late_was_charged_once_and_leaves_no_lease(redis_server: stores.Redis) -> None:
    async def work() -> None:
        async with limiting.connected(redis_server.url) as shared:
            bucket = activation.Limiter(activation.Settings(True, 9, 0.001), shared)
            clients = concurrency.Limiter(concurrency.Settings(concurrency.ENFORCE, 5), shared)
            await bucket.decide(store.Budget())
            redis_server.freeze()
            async with clients.hold("late", store.Budget()) as made:
                assert made.reason == decision.STORE_UNAVAILABLE
            redis_server.resume()
            await clients.settle()
            while clients._releases:
                await asyncio.sleep(0.01)
            assert limiting.leases(redis_server, "late") == 0
            redis_server.freeze()
            assert (await bucket.decide(store.Budget())).reason == decision.STORE_UNAVAILABLE
            redis_server.resume()
            await shared.wait_until_answering()
            assert limiting.tokens(redis_server) == pytest.approx(7, abs=0.01)

    limiting.run(work())


@pytest.mark.parametrize("url", ["", "redis//nowhere", "http://127.0.0.1", "redis://127.0.0.1:port", "redis://[", "x"])
def test_without_a_usable_url_nothing_is_connected(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(asyncio, "open_connection", refuse)

    async def work() -> None:
        async with limiting.connected(url) as shared:
            assert shared.status == (store.MALFORMED if url else store.ABSENT)
            assert (await Both(shared).request())[0] == {decision.MISCONFIGURED}

    limiting.run(work())


def test_a_malformed_url_is_warned_about_without_being_repeated(caplog: pytest.LogCaptureFixture) -> None:
    store.Store("redis://:hunter2@host:port")
    assert "SPACE_REDIS_URL is malformed" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_store_without_its_name_in_dns_is_passed_by_in_time() -> None:
    async def work() -> tuple[set[str], float]:
        async with limiting.connected("redis://no-such-host.invalid:6379") as shared:
            return await Both(shared).request()

    reasons, seconds = limiting.run(work())
    assert reasons == {decision.STORE_UNAVAILABLE}
    assert seconds <= 0.25
