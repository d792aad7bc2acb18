"""The activation bucket on a real Redis."""

from __future__ import annotations

import asyncio
import time

import pytest

from limiters import activation, decision, store
from tests import limiting, stores


def decide(server: stores.Redis, *settings: activation.Settings) -> list[decision.Activation]:
    """One decision for each of the given settings, in order, on one bucket."""

    async def work() -> list[decision.Activation]:
        async with limiting.connected(server.url) as shared:
            return [await activation.Limiter(one, shared).decide(store.Budget()) for one in settings]

    return limiting.run(work())


@pytest.mark.parametrize(("burst", "refill"), [(1, 60.0), (2, 60.0), (10, 60.0), (60, 60.0), (2, 0.5), (1, 1000.0)])
def test_the_bucket_outlives_the_time_it_needs_to_fill(redis_server: stores.Redis, burst: int, refill: float) -> None:
    decide(redis_server, activation.Settings(True, burst, refill))
    assert redis_server.client.pttl(activation.KEY) >= 1000 * burst / refill - 50
    assert redis_server.client.pttl(activation.KEY) > 900


def test_a_refusal_tells_the_time_to_the_next_token(redis_server: stores.Redis) -> None:
    first, second = decide(redis_server, *[activation.Settings(True, 1, 0.5)] * 2)
    assert (first.admitted, first.retry_after_ms) == (True, 0)
    assert not second.admitted
    assert 1900 <= second.retry_after_ms <= 2000


def test_refill_does_not_wait_for_a_second_edge(redis_server: stores.Redis) -> None:
    settings = activation.Settings(True, 20, 20.0)
    decide(redis_server, *[settings] * 20)
    stores.wait_until("the last tenth of a second", lambda: redis_server.time_ms() % 1000 >= 900)
    decide(redis_server, *[settings] * 20)
    before = redis_server.time_ms()
    stores.wait_until("just after the edge", lambda: redis_server.time_ms() - before >= 150)
    made = decide(redis_server, *[settings] * 20)
    assert sum(one.admitted for one in made) <= 20 * (redis_server.time_ms() - before) / 1000 + 1


def test_the_process_clock_does_not_matter(redis_server: stores.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = activation.Settings(True, 1, 0.1)
    assert decide(redis_server, settings)[0].admitted
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    assert not decide(redis_server, settings)[0].admitted


def test_a_server_clock_that_steps_back_adds_no_tokens_and_blocks_nobody(redis_server: stores.Redis) -> None:
    settings = activation.Settings(True, 1, 10.0)
    decide(redis_server, settings)
    redis_server.client.hset(activation.KEY, "ts_ms", int(redis_server.time_ms()) + 3_600_000)
    assert not decide(redis_server, settings)[0].admitted
    stores.wait_until("a token", lambda: decide(redis_server, settings)[0].admitted, within_s=1)


def test_a_caller_with_other_numbers_is_told_and_refills_by_its_own(redis_server: stores.Redis) -> None:
    api, controller = activation.Settings(True, 2, 1.0), activation.Settings(True, 60, 60.0)
    made = decide(redis_server, api, api, api, controller, api, api)
    assert [one.mismatch for one in made] == [False, False, False, True, True, False]
    assert [one.admitted for one in made[:3]] == [True, True, False]


def test_both_callers_draw_from_one_bucket(redis_server: stores.Redis) -> None:
    settings = activation.Settings(True, 2, 0.001)
    assert [one.admitted for one in decide(redis_server, settings, settings)] == [True, True]
    assert not decide(redis_server, settings)[0].admitted


def test_fractions_of_tokens_are_not_lost(redis_server: stores.Redis) -> None:
    settings = activation.Settings(True, 1, 0.001)
    decide(redis_server, settings)
    redis_server.client.hset(
        activation.KEY, mapping={"tok": "0.1234567890123456", "ts_ms": int(redis_server.time_ms())}
    )
    decide(redis_server, settings)
    kept = limiting.tokens(redis_server) or 0
    assert 0.1234567890123456 <= kept <= 0.1234567890123456 + 0.001


def test_forgotten_scripts_are_invisible(redis_server: stores.Redis) -> None:
    async def work() -> list[str]:
        async with limiting.connected(redis_server.url) as shared:
            limiter, reasons = activation.Limiter(activation.Settings(), shared), []
            for _ in range(3):
                redis_server.client.script_flush()
                reasons.append((await limiter.decide(store.Budget())).reason)
            return reasons

    assert limiting.run(work()) == [decision.NONE] * 3
    assert float(limiting.tokens(redis_server) or 0) == pytest.approx(60, abs=3.1)


def test_a_restarted_store_is_a_full_bucket_and_no_error(redis_server: stores.Redis) -> None:
    settings = activation.Settings(True, 2, 0.001)

    async def work() -> list[decision.Activation]:
        async with limiting.connected(redis_server.url) as shared:
            limiter = activation.Limiter(settings, shared)
            made = [await limiter.decide(store.Budget()) for _ in range(3)]
            await asyncio.to_thread(redis_server.stop)
            await asyncio.to_thread(redis_server.start)
            return made + [await limiter.decide(store.Budget()) for _ in range(3)]

    made = limiting.run(work())
    assert [one.admitted for one in made] == [True, True, False] * 2
    assert {one.reason for one in made} == {decision.NONE}


def test_disabled_asks_nothing(redis_server: stores.Redis) -> None:
    before = redis_server.commands()
    (made,) = decide(redis_server, activation.Settings(enabled=False))
    assert (made.admitted, made.reason) == (True, decision.DISABLED)
    assert redis_server.commands() == before + 1  # the question itself


def test_the_key_has_one_hash_tag() -> None:
    assert activation.KEY.count("{") == activation.KEY.count("}") == 1
