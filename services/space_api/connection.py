"""The streamed answer of a connect: a first line at once, then the connection stays open for as long as was asked.

It ends early when the client goes away and when the pod is stopping; the caller's lease ends with it in every case.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping

from starlette.types import Receive, Send


async def stream(
    first: Mapping[str, object], hold_s: float, closing: asyncio.Event, receive: Receive, send: Send
) -> None:
    """Answer 200 with one JSON object a line: `first`, then {"event": "closed", "reason": ...} at the end."""
    headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _line(first), "more_body": True})
    reason = await _hold(hold_s, closing, receive)
    if reason != "disconnected":
        await send({"type": "http.response.body", "body": _line({"event": "closed", "reason": reason})})


async def _hold(hold_s: float, closing: asyncio.Event, receive: Receive) -> str:
    """Wait for the first of: the time is up, the pod is stopping, the client is gone."""
    waits = {
        asyncio.create_task(closing.wait()): "stopping",
        asyncio.create_task(_gone(receive)): "disconnected",
    }
    try:
        done, _ = await asyncio.wait(waits, timeout=hold_s, return_when=asyncio.FIRST_COMPLETED)
        return waits[done.pop()] if done else "held"
    finally:
        for wait in waits:
            wait.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*waits, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _line(document: Mapping[str, object]) -> bytes:
    return json.dumps(document).encode() + b"\n"
