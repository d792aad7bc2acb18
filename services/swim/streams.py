"""Frames over TCP: four bytes of length and then so many bytes, bounded in size, number and time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

from swim.messages import Address
from swim.node import MAX_FRAME_BYTES

MAX_INBOUND = 64
_LENGTH_BYTES = 4


class Streams:
    """The open streams of one node; what comes on them is given to `on_data` and, when one breaks, to `on_failed`."""

    def __init__(self, timeout: float, on_data: Callable[[int, bytes], None], on_failed: Callable[[int], None]) -> None:
        self._timeout, self._on_data, self._on_failed = timeout, on_data, on_failed
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._inbound = itertools.count(1)
        self._server: asyncio.Server | None = None
        self._closed = False
        self.refused = 0  # connections above MAX_INBOUND

    async def listen(self, host: str, port: int) -> None:
        """Raises OSError when the port is taken."""
        self._server = await asyncio.start_server(self._accept, host, port)

    async def close(self) -> None:
        """End all streams at once, whatever they still had to say."""
        self._closed = True
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers.values():  # of tasks that had not begun yet
            writer.transport.abort()
        self._writers.clear()

    def open(self, stream: int, address: Address, data: bytes) -> None:
        """Connect and send one frame, in a task of its own."""
        self._run(self._outbound(stream, address, data))

    def send(self, stream: int, data: bytes, last: bool) -> None:
        """One more frame; nothing when the stream is gone."""
        writer = self._writers.get(stream)
        if writer is None:
            return
        writer.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
        if last:
            self.end(stream)

    def end(self, stream: int) -> None:
        """Close it once all that was written is out."""
        if writer := self._writers.pop(stream, None):
            writer.close()

    async def _outbound(self, stream: int, address: Address, data: bytes) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                reader, writer = await asyncio.open_connection(*address)
                self._writers[stream] = writer
                self.send(stream, data, last=False)
                await self._read(stream, reader, writer)
        except (OSError, TimeoutError, EOFError):
            self._on_failed(stream)
        finally:
            self.end(stream)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closed:
            writer.transport.abort()
            return
        if sum(stream < 0 for stream in self._writers) >= MAX_INBOUND:
            self.refused += 1
            writer.close()
            return
        stream = -next(self._inbound)
        self._writers[stream] = writer
        self._run(self._serve(stream, reader, writer))

    async def _serve(self, stream: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await self._read(stream, reader, writer)
        except (OSError, TimeoutError, EOFError):
            self._on_failed(stream)
        finally:
            self.end(stream)

    async def _read(self, stream: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hand frames on until our side has closed the stream. Raises EOFError when the other ends it before."""
        while stream in self._writers:
            length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES), "big")
            if length > MAX_FRAME_BYTES:
                raise EOFError
            self._on_data(stream, await reader.readexactly(length))
            await writer.drain()
        await writer.wait_closed()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="swim-stream")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
