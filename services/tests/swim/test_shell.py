"""The node on loopback: real datagrams, real streams, and a resolver that changes its mind."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
import socket
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from swim import events, signing
from swim.envelope import KEY_BYTES, Envelope
from swim.messages import Address, Record
from swim.node import MAX_FRAME_BYTES, Identity, Node
from swim.parameters import KIND
from swim.shell import Shell, resolve
from swim.streams import MAX_INBOUND, Streams

QUICK = dataclasses.replace(
    KIND, probe_interval=0.1, probe_timeout=0.04, gossip_interval=0.02, push_pull_interval=0.2, join_interval=0.1,
    suspicion_timeout=0.3, reconnect_interval=0.5, stream_timeout=1.0,
)  # fmt: skip
SECRETS = {name: signing.PrivateKey(name.encode() * 16) for name in ("s1", "s2", "s3")}
KEYS = signing.Keys({name: key.public for name, key in SECRETS.items()})


class Site:
    """One shell, and every effect that it handed on."""

    def __init__(self, name: str, seeds: Sequence[str] = (), key: bytes = bytes(KEY_BYTES), **options: object) -> None:
        self.name, self.port, self.effects = name, free_port(), list[events.Effect]()
        self.node = Node(
            Identity(name, ("127.0.0.1", self.port)), Envelope("net", [key]), KEYS, QUICK, random.Random(1)
        )
        self.shell = Shell(self.node, seeds, self.effects.append, QUICK.stream_timeout, **options)  # type: ignore[arg-type]

    def spend(self, tenant: str, cents: int) -> None:
        record = signing.signed("net", Record(tenant, 0, self.name, cents, 1), SECRETS[self.name])
        self.shell.tell(events.Spent(record))

    @property
    def seed(self) -> str:
        return f"127.0.0.1:{self.port}"


def free_port() -> int:
    """A port that neither UDP nor TCP uses now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, socket.socket() as streams:
        streams.bind(("127.0.0.1", 0))
        datagrams.bind(streams.getsockname())
        return int(streams.getsockname()[1])


@contextlib.asynccontextmanager
async def running(*sites: Site) -> AsyncIterator[None]:
    for site in sites:
        await site.shell.start("127.0.0.1", site.port)
    try:
        yield
    finally:
        for site in sites:
            await site.shell.close()


async def until(holds: Callable[[], bool]) -> None:
    """Raises TimeoutError when it does not within a minute."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


def three() -> tuple[Site, Site, Site]:
    first = Site("s1")
    return first, Site("s2", [first.seed]), Site("s3", [first.seed])


def test_three_sites_meet_by_a_seed_and_agree_on_signed_spend() -> None:
    async def run() -> None:
        sites = three()
        async with running(*sites):
            await until(lambda: all(len(site.node.members) == 3 for site in sites))
            for cents, site in enumerate(sites, start=1):
                site.spend("t", cents)
            await until(lambda: all(site.node.ledger.total("t") == 6 for site in sites))
            merged = [effect for effect in sites[0].effects if isinstance(effect, events.SpendChanged)]
            assert sorted(effect.record.origin for effect in merged) == ["s1", "s2", "s3"]

    asyncio.run(run())


def test_a_stopped_site_is_seen_dead_and_a_leaving_one_as_left() -> None:
    async def run() -> None:
        first, second, third = three()
        async with running(first, second, third):
            await until(lambda: len(first.node.members) == 3)
            await second.shell.close()
            third.shell.tell(events.Leave())
            seen = first.effects
            await until(lambda: {("s2", "dead"), ("s3", "left")} <= {(e.name, e.state) for e in changes(seen)})

    asyncio.run(run())


def changes(effects: Sequence[events.Effect]) -> list[events.MemberChanged]:
    return [effect for effect in effects if isinstance(effect, events.MemberChanged)]


def test_a_state_larger_than_any_packet_travels_over_tcp() -> None:
    async def run() -> None:
        first, second, _ = three()
        async with running(first, second):
            for number in range(400):
                first.spend(f"tenant-{number}", 1)
            await until(lambda: len(second.node.ledger.totals()) == 400)

    asyncio.run(run())


def test_seeds_are_looked_up_at_every_try_and_those_without_address_are_named() -> None:
    asked: list[str] = []

    async def run() -> None:
        first = Site("s1")

        async def resolver(seed: str) -> Sequence[Address]:
            asked.append(seed)
            if seed == "hangs:1":
                await asyncio.Event().wait()
            if asked.count(seed) < 3 or seed == "gone:1":
                raise OSError
            return [("127.0.0.1", first.port)]

        second = Site("s2", ["gone:1", "late:1"], resolver=resolver)
        async with running(first, second):
            await until(lambda: len(second.node.members) == 2)
            assert second.node.unresolved == ("gone:1",)
            assert asked.count("late:1") >= 3
            second.shell.reseed(["hangs:1", "late:1"])
            await until(lambda: second.node.unresolved == ("hangs:1",))

    asyncio.run(run())


@pytest.mark.parametrize("seed", ["nocolon", ":1", "host:port"])
def test_a_seed_that_is_no_address_is_refused(seed: str) -> None:
    with pytest.raises(ValueError):
        asyncio.run(resolve(seed))


def test_a_name_is_resolved_to_literal_addresses() -> None:
    assert ("127.0.0.1", 7946) in asyncio.run(resolve("localhost:7946"))


def test_hostile_streams_and_datagrams_do_no_harm() -> None:
    async def run() -> None:
        first, second, _ = three()
        async with running(first, second):
            for sent in (b"", b"\0\0", b"\0\0\0\5hello", b"\0\0\0\0"):
                reader, writer = await asyncio.open_connection("127.0.0.1", first.port)
                writer.write(sent)
                writer.write_eof()
                async with asyncio.timeout(60):
                    assert await reader.read() == b""
                writer.close()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as enemy:
                for size in (0, 1, 12, 60_000):
                    enemy.sendto(bytes(size), ("127.0.0.1", first.port))
            await until(lambda: first.node.counters["packet", "oversize"] == 1)
            assert first.node.counters["packet", "malformed"] == 3
            assert first.node.counters["exchange", "malformed"] == 2
            second.spend("t", 2)
            await until(lambda: first.node.ledger.total("t") == 2)

    asyncio.run(run())


@contextlib.asynccontextmanager
async def listening(timeout: float) -> AsyncIterator[tuple[Streams, int]]:
    """Streams without a node, and their port."""
    streams, port = Streams(timeout, lambda *_: None, lambda _: None), free_port()
    await streams.listen("127.0.0.1", port)
    try:
        yield streams, port
    finally:
        await streams.close()


async def is_ended(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(60):
        return await reader.read() == b""


def test_a_frame_that_is_too_long_is_refused_by_its_length() -> None:
    async def run() -> None:
        async with listening(timeout=600) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write((MAX_FRAME_BYTES + 1).to_bytes(4, "big"))
            assert await is_ended(reader)
            writer.close()

    asyncio.run(run())


def test_streams_that_say_nothing_are_bounded_in_number() -> None:
    async def run() -> None:
        async with listening(timeout=600) as (streams, port):
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MAX_INBOUND + 3)]
            assert [await is_ended(reader) for reader, _ in silent[-3:]] == [True] * 3
            assert streams.refused == 3
            for _, writer in silent:
                writer.close()

    asyncio.run(run())


def test_streams_that_say_nothing_end_in_time() -> None:
    async def run() -> None:
        async with listening(timeout=0.1) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await is_ended(reader)
            writer.close()

    asyncio.run(run())


def test_a_taken_port_is_an_error_at_the_start() -> None:
    async def run() -> None:
        first = Site("s1")
        async with running(first):
            other = Site("s2")
            with pytest.raises(OSError, match="in use"):
                await other.shell.start("127.0.0.1", first.port)
            assert other.effects == []

    asyncio.run(run())
