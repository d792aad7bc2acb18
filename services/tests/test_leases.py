"""The leader's Lease: one holder at a time, whatever clocks, lost answers and other candidates do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from common import kube, leases, wire
from space_cluster_controller import election
from tests import cluster, limiting

NAME = "space-cluster-controller"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def made() -> Iterator[cluster.Cluster]:
    with cluster.Cluster() as found:
        yield found


def lease(made: cluster.Cluster, identity: str, clock: Clock, duration_s: float = 15) -> leases.Lease:
    client = kube.Client(wire.Peer("127.0.0.1", made.port), "space", None)
    return leases.Lease(client, NAME, identity, duration_s, clock)


def hold(held: leases.Lease) -> bool:
    return limiting.run(held.hold(2))


def test_the_first_takes_it_and_renews_and_the_second_does_not_get_it(made: cluster.Cluster) -> None:
    clock = Clock()
    first, second = lease(made, "first", clock), lease(made, "second", clock)
    assert hold(first)
    acquired = made.lease()["acquireTime"]
    assert not hold(second)
    clock.now += 10
    assert hold(first)
    assert (made.lease()["holderIdentity"], made.lease()["leaseTransitions"]) == ("first", 0)
    assert made.lease()["acquireTime"] == acquired
    assert made.lease()["renewTime"] > acquired
    assert second.holder == "first"


def test_it_is_taken_over_only_when_it_was_seen_unchanged_for_its_whole_duration(made: cluster.Cluster) -> None:
    clock = Clock()
    first, second = lease(made, "first", clock), lease(made, "second", clock)
    hold(first)
    clock.now += 1000  # of these the second has seen nothing
    assert not hold(second)
    clock.now += 15
    assert not hold(second)
    hold(first)
    clock.now += 1
    assert not hold(second), "it was renewed meanwhile"
    clock.now += 15.1
    assert hold(second)
    assert (made.lease()["holderIdentity"], made.lease()["leaseTransitions"]) == ("second", 1)
    assert not hold(first)
    assert first.valid_until == float("-inf")


def test_wall_clocks_are_never_compared(made: cluster.Cluster) -> None:
    clock = Clock()
    first, second = lease(made, "first", clock), lease(made, "second", clock)
    hold(first)
    made.lease()["renewTime"] = "1999-01-01T00:00:00.000000Z"
    assert not hold(second)


def test_a_longer_duration_of_the_holder_is_honoured_and_nonsense_is_not(made: cluster.Cluster) -> None:
    clock = Clock()
    first, second = lease(made, "first", clock, 40), lease(made, "second", clock, 5)
    hold(first)
    assert not hold(second)
    clock.now += 39
    assert not hold(second)
    made.lease()["leaseDurationSeconds"] = 10**9
    clock.now += leases.DURATION_LIMIT_S
    assert hold(second)


def test_of_two_that_find_it_free_one_gets_it(made: cluster.Cluster) -> None:
    async def both(*candidates: leases.Lease) -> list[bool]:
        return list(await asyncio.gather(*(candidate.hold(2) for candidate in candidates)))

    clock = Clock()
    candidates = [lease(made, str(number), clock) for number in range(8)]
    assert limiting.run(both(*candidates)).count(True) == 1
    for candidate in candidates:
        hold(candidate)
    clock.now += 16
    assert limiting.run(both(*candidates)).count(True) == 1


def test_one_given_back_is_free_at_once(made: cluster.Cluster) -> None:
    clock = Clock()
    first, second = lease(made, "first", clock), lease(made, "second", clock)
    hold(first)
    assert not hold(second)
    limiting.run(second.give_back(2))
    assert made.lease()["holderIdentity"] == "first", "only the holder gives it back"
    limiting.run(first.give_back(2))
    assert hold(second)


def test_a_renewal_without_an_answer_extends_nothing(made: cluster.Cluster) -> None:
    clock = Clock()
    first = lease(made, "first", clock)
    hold(first)
    until = first.valid_until
    assert until == clock.now + 15
    made.answering.clear()
    clock.now += 3
    with pytest.raises(kube.KubeError):
        limiting.run(first.hold(0.1))
    assert first.valid_until == until
    made.answering.set()
    assert hold(first)
    assert first.valid_until == clock.now + 15


class Leading:
    """Work that notes when it runs."""

    def __init__(self) -> None:
        self.began, self.ended = asyncio.Event(), asyncio.Event()
        self.ended_at = 0.0

    async def __call__(self) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended_at = asyncio.get_running_loop().time()
            self.ended.set()


@contextlib.asynccontextmanager
async def competing(
    made: cluster.Cluster, identity: str, duration_s: float, leading: Leading
) -> AsyncIterator[leases.Lease]:
    client = kube.Client(wire.Peer("127.0.0.1", made.port), "space", None)
    held = leases.Lease(client, NAME, identity, duration_s)
    stopping = asyncio.Event()
    task = asyncio.create_task(election.Election(held, duration_s, stopping).run(leading))
    try:
        yield held
    finally:
        stopping.set()
        task.cancel()
        await asyncio.wait({task})


def test_a_leader_that_cannot_renew_stops_before_its_lease_ends(made: cluster.Cluster) -> None:
    async def work() -> None:
        leading = Leading()
        async with asyncio.timeout(30), competing(made, "first", 6, leading) as held:
            await leading.began.wait()
            first = held.valid_until
            while held.valid_until == first:  # until it was renewed once
                await asyncio.sleep(0.01)
            made.answering.clear()
            await leading.ended.wait()
            assert leading.ended_at < held.valid_until
            made.answering.set()

    limiting.run(work())


def test_a_leader_whose_lease_is_anothers_stops_at_once(made: cluster.Cluster) -> None:
    async def work() -> None:
        leading = Leading()
        async with asyncio.timeout(20), competing(made, "first", 6, leading):
            await leading.began.wait()
            path = f"/apis/coordination.k8s.io/v1/namespaces/space/leases/{NAME}"
            taken = made.objects[path]
            made._put(path, {**taken, "spec": {**taken["spec"], "holderIdentity": "thief"}})
            began = asyncio.get_running_loop().time()
            await leading.ended.wait()
            assert leading.ended_at - began < 3, "it went on until its own fence"

    limiting.run(work())


def test_work_that_breaks_ends_leadership_only_for_a_while(made: cluster.Cluster) -> None:
    async def work() -> None:
        runs = asyncio.Queue[int]()

        async def breaking() -> None:
            await runs.put(1)
            raise ValueError("broken")

        client = kube.Client(wire.Peer("127.0.0.1", made.port), "space", None)
        stopping = asyncio.Event()
        candidate = election.Election(leases.Lease(client, NAME, "first", 2), 2, stopping)
        task = asyncio.create_task(candidate.run(breaking))
        async with asyncio.timeout(20):
            await runs.get()
            await runs.get()
            stopping.set()
            await task
        assert made.lease()["holderIdentity"] == ""

    limiting.run(work())
