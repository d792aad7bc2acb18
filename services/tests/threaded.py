"""A server on a thread of its own, for doubles of what the services call, and as much HTTP as that needs."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Threaded(abc.ABC):
    """Serves while it is entered; `port` is known then. All of it happens on one loop, on its thread."""

    def __init__(self) -> None:
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = self._run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @abc.abstractmethod
    async def _start(self) -> int:
        """Begin to serve; the port."""

    @abc.abstractmethod
    async def _end(self) -> None:
        """Nothing of it may be left on the loop."""

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


def closing(serve: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """The same, with the connection closed whatever becomes of it: whoever asked may be killed, and so may the answer."""

    async def whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    return whole


async def request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    """Method, target and body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
    method, target, _ = head[0].split(" ")
    return method, target, await reader.readexactly(int(headers.get("content-length", "0")))


def respond(writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
    writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body))
    writer.close()


def as_json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document).encode()
