"""A node on a real network: UDP datagrams, TCP streams, one timer and the resolver around the core."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

from swim import events
from swim.messages import Address
from swim.node import Node
from swim.streams import Streams

Resolver = Callable[[str], Awaitable[Sequence[Address]]]


async def resolve(seed: str) -> Sequence[Address]:
    """The addresses of `host:port`, by DNS when the host is a name. Raises OSError or ValueError when there are none."""
    host, colon, port = seed.rpartition(":")
    if not colon or not host:
        raise ValueError(f"seed {seed!r} must be host:port")
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
    return [(str(address[0]), int(address[1])) for *_, address in found]


class Shell(asyncio.DatagramProtocol):
    """Runs one node until it is closed. `on_effect` is given every effect that is not about the network, in order; it must
    not block, and may call `tell`.

    The seeds are looked up by `resolver` at every try, for at most `stream_timeout` seconds together; it raises OSError or
    ValueError for a seed without address. A datagram that the network does not take is lost, as one on the way would be,
    and counted in `errors`.
    """

    def __init__(
        self,
        node: Node,
        seeds: Sequence[str],
        on_effect: Callable[[events.Effect], None],
        stream_timeout: float,
        resolver: Resolver = resolve,
    ) -> None:
        self.node, self._seeds, self._on_effect, self._resolver = node, tuple(seeds), on_effect, resolver
        self.errors = 0
        self._resolve_timeout = stream_timeout
        self._streams = Streams(
            stream_timeout,
            lambda stream, data: self.tell(events.StreamData(stream, data)),
            lambda stream: self.tell(events.StreamFailed(stream)),
        )
        self._transport: asyncio.DatagramTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._resolving: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen on this address, UDP and TCP, and begin. Raises OSError when either port is taken."""
        self._loop = asyncio.get_running_loop()
        await self._streams.listen(host, port)
        try:
            self._transport, _ = await self._loop.create_datagram_endpoint(lambda: self, (host, port))
        except OSError:
            await self._streams.close()
            raise
        self.tell(events.Start())

    async def close(self) -> None:
        """Stop at once, as if killed; tell it `events.Leave` some gossip intervals before to say good-bye."""
        if self._timer:
            self._timer.cancel()
        if self._resolving:
            self._resolving.cancel()
        if self._transport:
            self._transport.close()
            self._transport = None
        await self._streams.close()

    def tell(self, event: events.Event) -> None:
        """Give the node an event, and do what it wants done. Nothing after the end."""
        if self._transport is None:
            return
        for effect in self.node.step(self._loop.time(), event):
            self._do(effect)
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(self.node.deadline, self.tell, events.Tick())

    @property
    def refused_streams(self) -> int:
        """Connections that were one too many."""
        return self._streams.refused

    def reseed(self, seeds: Sequence[str]) -> None:
        """Use these seeds from the next try on."""
        self._seeds = tuple(seeds)

    def datagram_received(self, data: bytes, addr: tuple[str | object, int]) -> None:  # noqa: ARG002 - the sender says its address inside
        self.tell(events.Datagram(data))

    def error_received(self, exc: Exception) -> None:  # noqa: ARG002 - lost is lost
        self.errors += 1

    def _do(self, effect: events.Effect) -> None:
        if isinstance(effect, events.Send):
            self._send(effect)
        elif isinstance(effect, events.OpenStream):
            self._streams.open(effect.stream, effect.address, effect.data)
        elif isinstance(effect, events.StreamSend):
            self._streams.send(effect.stream, effect.data, effect.last)
        elif isinstance(effect, events.CloseStream):
            self._streams.end(effect.stream)
        elif isinstance(effect, events.Resolve):
            if self._resolving is None or self._resolving.done():
                self._resolving = self._loop.create_task(self._resolve(), name="swim-resolve")
        else:
            self._on_effect(effect)

    def _send(self, effect: events.Send) -> None:
        if self._transport:
            self._transport.sendto(effect.data, effect.address)

    async def _resolve(self) -> None:
        """Ask for all seeds at once; one that hangs holds no other back."""
        asked = {seed: asyncio.ensure_future(self._resolver(seed)) for seed in self._seeds}
        try:
            if asked:
                await asyncio.wait(asked.values(), timeout=self._resolve_timeout)
        finally:
            for answer in asked.values():
                answer.cancel()
        addresses: list[Address] = []
        unresolved = []
        for seed, answer in asked.items():
            try:
                addresses += answer.result()
            except (OSError, ValueError, asyncio.InvalidStateError):
                unresolved.append(seed)
        self.tell(events.Resolved(tuple(addresses), tuple(unresolved)))
