"""Outgoing HTTP/1.1 over asyncio streams, spoken with h11, which the server brings along anyway.

One connection for each call, no retries and no redirects: the callers here talk to the Kubernetes API server and to
sandboxes. Being plain coroutines, calls end at once when their request is cancelled; a client in threads would keep a
stopping pod alive until its sockets time out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import h11

ANSWER_LIMIT = 8 << 20  # bytes; more than any peer of ours has to say
_CHUNK = 1 << 16


class WireError(Exception):
    """The peer could not be reached, broke off, or did not speak HTTP."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Where to connect; plain text when `tls` is None."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response."""

    status: int
    body: bytes

    def json(self) -> object:
        """The parsed body; raises WireError when it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise WireError(f"answer {self.status} is not JSON: {self.body[:80]!r}") from error


class Exchange:
    """A response whose head has arrived: its status, and its body as it comes."""

    def __init__(self, connection: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.status = 0
        self._connection, self._reader, self._writer = connection, reader, writer

    async def send(self, peer: Peer, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Send the request and wait for the response's head."""
        head = [("Host", f"{peer.host}:{peer.port}"), ("Connection", "close"), *headers.items()]
        if body:
            head.append(("Content-Length", str(len(body))))
        parts: list[h11.Event] = [h11.Request(method=method, target=path, headers=head)]
        if body:
            parts.append(h11.Data(data=body))
        for part in (*parts, h11.EndOfMessage()):
            self._writer.write(self._connection.send(part) or b"")
        await self._writer.drain()
        while not isinstance(event := await self._next(), h11.Response):
            if isinstance(event, (h11.ConnectionClosed, h11.EndOfMessage)):
                raise WireError("the peer closed the connection without an answer")
        self.status = event.status_code

    async def body(self) -> AsyncIterator[bytes]:
        """The body in pieces as they arrive."""
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def lines(self) -> AsyncIterator[bytes]:
        """The body line by line; an unfinished last line is dropped."""
        rest = b""
        async for piece in self.body():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line

    async def _next(self) -> object:
        while (event := self._connection.next_event()) is h11.NEED_DATA:
            self._connection.receive_data(await self._reader.read(_CHUNK))
        return event


@contextlib.asynccontextmanager
async def exchange(
    peer: Peer, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> AsyncIterator[Exchange]:
    """Send one request; the block gets the answer as it arrives. Raises WireError; bound it with asyncio.timeout."""
    writer: asyncio.StreamWriter | None = None
    try:
        reader, writer = await asyncio.open_connection(peer.host, peer.port, ssl=peer.tls)
        made = Exchange(h11.Connection(h11.CLIENT), reader, writer)
        await made.send(peer, method, path, headers or {}, body)
        yield made
    except TimeoutError:
        raise
    except (OSError, h11.ProtocolError) as error:
        raise WireError(f"{method} {peer.host}:{peer.port}: {type(error).__name__}: {error}") from error
    finally:
        if writer is not None:
            writer.transport.abort()  # nothing is left to say, and waiting for a peer's goodbye may take for ever


async def call(
    peer: Peer,
    method: str,
    path: str,
    *,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    document: object = None,
    body: bytes = b"",
) -> Answer:
    """One request with a JSON `document` or raw `body`, if any, and its whole answer, at most ANSWER_LIMIT bytes.

    `headers` may give another Content-Type than the usual one of each.

    Raises WireError and TimeoutError.
    """
    told = dict(headers or {})
    if document is not None:
        body = json.dumps(document).encode()
    if body:
        told.setdefault("Content-Type", "application/octet-stream" if document is None else "application/json")
    received = bytearray()
    async with asyncio.timeout(timeout_s), exchange(peer, method, path, headers=told, body=body) as made:
        async for piece in made.body():
            received += piece
            if len(received) > ANSWER_LIMIT:
                raise WireError(f"the answer has more than {ANSWER_LIMIT} bytes")
        return Answer(made.status, bytes(received))
