"""Claims about limiters that many pods ask at once, as in `limiting`: each pod is a thread with its own event loop, limiter
and connections, so what they share is the store.

What is tried is how exact the limiters are, not how quick: the store is given all the time it may need on a busy machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import math
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent import futures
from typing import Any, TypeVar
from unittest import mock

from limiters import activation, concurrency, decision, store
from tests import limiting, stores

T = TypeVar("T")
PODS, CROWD, ROUNDS = 3, 200, 20
CAP = 7
REFILL_PER_SECOND = 60.0
BURSTS = (1, 2, 10)
_PATIENCE_S = 30.0  # no pod waits longer, for the store or for the others; then its test fails


@contextlib.contextmanager
def _patient() -> Iterator[None]:
    """Threads of one process wait for each other, which a limiter would take for a slow store and fail open."""
    with (
        mock.patch.object(store, "Budget", functools.partial(store.Budget, _PATIENCE_S)),
        mock.patch.object(store, "SOCKET_TIMEOUT_S", _PATIENCE_S),
    ):
        yield


def on_each_pod(work: Callable[[int], Coroutine[Any, Any, T]]) -> list[T]:
    """What `work(pod)` returned on each of PODS pods that run side by side."""
    with _patient(), futures.ThreadPoolExecutor(PODS) as pool:
        return [
            running.result() for running in [pool.submit(lambda p: asyncio.run(work(p)), pod) for pod in range(PODS)]
        ]


def share(pod: int) -> int:
    """How many of the CROWD this pod is asked by."""
    return len(range(pod, CROWD, PODS))


def the_cap_is_exact_however_many_come_at_once(server: stores.Redis, active: frozenset[str]) -> None:
    """CROWD requests of one client, all in work until each is decided: exactly CAP are accepted, in each of ROUNDS."""
    meeting = threading.Barrier(PODS, timeout=_PATIENCE_S)
    settings = concurrency.Settings(concurrency.ENFORCE, CAP)

    async def pod(number: int) -> list[list[decision.Concurrency]]:
        async with limiting.connected(server.url, active) as shared:
            await shared.warm()
            clients = concurrency.Limiter(settings, shared, active)
            return [await _round(clients, f"crowd-{turn}", share(number), meeting) for turn in range(ROUNDS)]

    rounds = [list(itertools.chain(*of_pods)) for of_pods in zip(*on_each_pod(pod), strict=True)]
    assert {one.reason for made in rounds for one in made} == {decision.NONE}
    assert [len(made) for made in rounds] == [CROWD] * ROUNDS
    assert [sum(one.accepted for one in made) for made in rounds] == [CAP] * ROUNDS


async def _round(
    clients: concurrency.Limiter, client: str, count: int, meeting: threading.Barrier
) -> list[decision.Concurrency]:
    """`count` requests of a client of this round's own, that stay until those of all pods are decided."""
    made: list[decision.Concurrency] = []
    all_decided, here = asyncio.Event(), asyncio.Barrier(count + 1)

    async def one() -> None:
        async with clients.hold(client, store.Budget()) as answer:
            made.append(answer)
            await here.wait()
            await all_decided.wait()

    await asyncio.to_thread(meeting.wait)
    asked = [asyncio.create_task(one()) for _ in range(count)]
    await here.wait()
    await asyncio.to_thread(meeting.wait)
    all_decided.set()
    await asyncio.gather(*asked)
    return made


def no_crowd_draws_more_than_a_bucket_holds(server: stores.Redis, active: frozenset[str]) -> None:
    for burst in BURSTS:
        the_crowd_draws_what_the_bucket_holds(server, active, burst)


def the_crowd_draws_what_the_bucket_holds(server: stores.Redis, active: frozenset[str], burst: int) -> None:
    """CROWD requests at once find a full bucket: at least its burst is admitted, and at most burst + refill * elapsed.

    That is the bound of a token bucket over any interval (RFC 2697 section 3, RFC 3290 appendix A.3). The elapsed time is
    taken around all of them, so it is longer than what the server saw; the millisecond is the step of the server's
    clock in the script, whose readings are rounded down.
    """
    meeting = threading.Barrier(PODS, timeout=_PATIENCE_S)
    settings = activation.Settings(True, burst, REFILL_PER_SECOND)

    async def pod(number: int) -> tuple[float, float, list[decision.Activation]]:
        async with limiting.connected(server.url, active) as shared:
            await shared.warm()
            limiter = activation.Limiter(settings, shared, active)
            await asyncio.to_thread(meeting.wait)
            began_s = time.monotonic()
            made = await asyncio.gather(*(limiter.decide(store.Budget()) for _ in range(share(number))))
            return began_s, time.monotonic(), made

    server.client.delete(activation.KEY)
    began, ended, made = zip(*on_each_pod(pod), strict=True)
    decided = list(itertools.chain(*made))
    elapsed_s = max(ended) - min(began) + 0.001
    admitted = sum(one.admitted for one in decided)
    assert {one.reason for one in decided} == {decision.NONE}
    assert len(decided) == CROWD
    assert burst <= admitted <= math.floor(burst + REFILL_PER_SECOND * elapsed_s), f"{admitted} in {elapsed_s:.3f} s"
