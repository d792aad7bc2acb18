"""Claims about the limiters as functions that raise AssertionError, so that a mutation can be shown to break one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import prometheus_client as prometheus

from common import refusals
from limiters import activation, concurrency, decision, metrics, store
from space_api import admission, facts
from tests import stores

T = TypeVar("T")
NO_MUTATION: frozenset[str] = frozenset()
ALL = activation.Settings()


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@contextlib.asynccontextmanager
async def connected(url: str, active: frozenset[str] = NO_MUTATION) -> AsyncIterator[store.Store]:
    shared = store.Store(url, active)
    try:
        yield shared
    finally:
        await shared.close()


async def drain(limiter: activation.Limiter, for_s: float, rate: float) -> list[decision.Activation]:
    """Ask `rate` times a second for `for_s` seconds, whatever the answers."""
    made = []
    started = time.monotonic()
    for turn in range(int(for_s * rate)):
        await asyncio.sleep(max(0.0, started + turn / rate - time.monotonic()))
        made.append(await limiter.decide(store.Budget()))
    return made


def assert_continuous_bucket(made: list[decision.Activation], burst: int, refill: float) -> None:
    """Admissions under constant demand are those of a token bucket that fills without steps."""
    assert {one.reason for one in made} == {decision.NONE}
    admitted = [one.decided_at for one in made if one.admitted]
    slack = 1 + refill * 0.02  # decisions are stamped after the store's answer, a little late
    for first, start in enumerate(admitted):
        for last, end in enumerate(admitted[first:], start=first):
            count, bound = last - first + 1, burst + refill * (end - start)
            assert count <= bound + slack, f"{count} admitted in {end - start:.3f} s, at most {bound:.2f} may be"
    span = made[-1].decided_at - made[0].decided_at
    expected = burst + refill * span
    assert len(admitted) >= int(expected) - 1, f"{len(admitted)} admitted in {span:.3f} s, {expected:.2f} were due"


def a_drain_draws_what_a_continuous_bucket_holds(server: stores.Redis, active: frozenset[str]) -> None:
    async def work() -> list[decision.Activation]:
        async with connected(server.url, active) as shared:
            return await drain(activation.Limiter(activation.Settings(True, 2, 5.0), shared, active), 2.2, 30)

    assert_continuous_bucket(run(work()), 2, 5.0)


def a_full_bucket_holds_the_burst(server: stores.Redis, active: frozenset[str]) -> None:
    settings = activation.Settings(True, 6, 0.001)

    async def work() -> int:
        async with connected(server.url, active) as shared:
            limiter = activation.Limiter(settings, shared, active)
            return sum([(await limiter.decide(store.Budget())).admitted for _ in range(12)])

    assert run(work()) == settings.burst


def a_lease_is_given_back_when_the_request_raises(server: stores.Redis, active: frozenset[str]) -> None:
    async def work() -> None:
        async with connected(server.url, active) as shared:
            clients = concurrency.Limiter(concurrency.Settings(concurrency.ENFORCE, 1), shared, active)
            with contextlib.suppress(KeyError):
                async with clients.hold("one", store.Budget()):
                    assert leases(server, "one") == 1
                    raise KeyError

    run(work())
    assert leases(server, "one") == 0


def unknown_clients_share_a_bucket(server: stores.Redis, active: frozenset[str]) -> None:
    clients = concurrency.Limiter(concurrency.Settings(known_clients=("known",)), store.Store(""), active)
    assert clients.classify(["known"]) == "known"
    for values in ([], [""], ["stranger"], ["Known"], [" known"], ["known", "known"], ["x" * 4096], ["ü"]):
        assert clients.classify(values) == concurrency.UNSPECIFIED, values


def a_failing_store_costs_no_more_than_the_budget(server: stores.Redis, active: frozenset[str]) -> None:
    server.stop()

    async def work() -> tuple[decision.Activation, float]:
        async with connected(server.url, active) as shared:
            limiter = activation.Limiter(activation.Settings(), shared, active)
            started = time.monotonic()
            return await limiter.decide(store.Budget()), time.monotonic() - started

    made, seconds = run(work())
    assert (made.admitted, made.reason) == (True, decision.STORE_UNAVAILABLE)
    assert seconds <= 0.25, f"failing open took {seconds:.3f} s"


def the_call_after_a_failure_uses_the_store_again(server: stores.Redis, active: frozenset[str]) -> None:
    async def work() -> list[str]:
        async with connected(server.url, active) as shared:
            limiter = activation.Limiter(activation.Settings(), shared, active)
            reasons = []
            server.stop()
            reasons.append((await limiter.decide(store.Budget())).reason)
            server.start()
            reasons.append((await limiter.decide(store.Budget())).reason)
            return reasons

    assert run(work()) == [decision.STORE_UNAVAILABLE, decision.NONE]


def a_refusal_says_when_to_come_back(server: stores.Redis, active: frozenset[str]) -> None:
    for wait_ms, seconds in ((1, "1"), (1000, "1"), (1001, "2")):
        refused = refusals.Refusal(429, "activation_limited", "later", retry_after_ms=wait_ms)
        assert refusals.response(refused, "trace", active).headers.get("retry-after") == seconds


def a_request_refused_for_its_client_spends_no_token(server: stores.Redis, active: frozenset[str]) -> None:
    async def work() -> None:
        async with connected(server.url, active) as shared:
            clients = concurrency.Limiter(concurrency.Settings(concurrency.ENFORCE, 1), shared)
            bucket = activation.Limiter(activation.Settings(True, 5, 0.001), shared)
            gate = admission.Admission(bucket, clients, metrics.Decisions(prometheus.CollectorRegistry()), active)
            async with clients.hold(concurrency.UNSPECIFIED, store.Budget()):
                refused = facts.Facts("trace")
                with contextlib.suppress(refusals.Refusal):
                    async with gate.client(refused, (), activates=True):
                        raise AssertionError("a second request was let in")
            assert tokens(server) in (None, 5), "the refused request spent a token"

    run(work())


def a_script_that_the_store_forgot_is_loaded_again(server: stores.Redis, active: frozenset[str]) -> None:
    assert reasons_around_a_flush(server, active) == [decision.NONE] * 3


def reasons_around_a_flush(server: stores.Redis, active: frozenset[str]) -> list[str]:
    """Why one request was admitted before the store forgot its scripts, and two were after."""

    async def work() -> list[str]:
        async with connected(server.url, active) as shared:
            limiter = activation.Limiter(activation.Settings(), shared, active)
            reasons = [(await limiter.decide(store.Budget())).reason]
            server.client.script_flush()
            return [*reasons, *[(await limiter.decide(store.Budget())).reason for _ in range(2)]]

    return run(work())


def a_lease_that_the_store_lost_is_not_made_again(server: stores.Redis, active: frozenset[str]) -> None:
    async def work() -> int:
        async with connected(server.url, active) as shared:
            clients = concurrency.Limiter(concurrency.Settings(concurrency.ENFORCE, 1, lease_s=3.0), shared, active)
            server.client.script_load(concurrency.RENEW.text)
            async with clients.hold("one", store.Budget()), asyncio.timeout(10):
                server.client.flushall()
                before = scripts_run(server)
                while scripts_run(server) == before:
                    await asyncio.sleep(0.01)
                return leases(server, "one")

    assert run(work()) == 0, "a renewal made it again"


def without_a_store_everybody_is_admitted(server: stores.Redis, active: frozenset[str]) -> None:
    assert refused_without_a_store(server, active) == []


def refused_without_a_store(server: stores.Redis, active: frozenset[str]) -> list[tuple[int, str]]:
    """How a request is refused for its client, and one for its activation, while there is no store."""
    server.stop()

    async def work() -> list[tuple[int, str]]:
        refused = []
        async with connected(server.url, active) as shared:
            clients, bucket = concurrency.Limiter(concurrency.Settings(), shared), activation.Limiter(ALL, shared)
            gate = admission.Admission(bucket, clients, metrics.Decisions(prometheus.CollectorRegistry()), active)
            for entering in (gate.client(facts.Facts("trace"), (), activates=False), _activating(gate)):
                try:
                    async with entering:
                        pass
                except refusals.Refusal as refusal:
                    refused.append((refusal.status, refusal.code))
        return refused

    return run(work())


@contextlib.asynccontextmanager
async def _activating(gate: admission.Admission) -> AsyncIterator[None]:
    await gate.activation(facts.Facts("trace"))
    yield


def scripts_run(server: stores.Redis) -> int:
    """How many scripts were called so far."""
    told = server.client.info("commandstats")
    return sum(int(told.get(f"cmdstat_{name}", {"calls": 0})["calls"]) for name in ("eval", "evalsha"))


def tokens(server: stores.Redis) -> float | None:
    held = server.client.hget(activation.KEY, "tok")
    return None if held is None else float(held)


def leases(server: stores.Redis, client: str) -> int:
    return int(server.client.zcard(concurrency.KEY_PREFIX + client))


def last_lease_ends_ms(server: stores.Redis, client: str) -> float:
    """When the client's last lease ends, by the server's clock; 0 when there is none."""
    return max(
        (score for _, score in server.client.zrange(concurrency.KEY_PREFIX + client, 0, -1, withscores=True)), default=0
    )
