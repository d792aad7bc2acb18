"""A steady load from inside the bench: nothing but the standard library, so that any pod with Python can run it.

    python3 steady.py RATE_RPS SECONDS METHOD PATH BODY HOST:PORT...

Requests are due at an even pace whatever became of the others, over connections that stay open, and take the hosts in turn.
Prints one JSON object: how many by status ("error": no answer), and the rate that was achieved, in requests a second.
"""

from __future__ import annotations

import asyncio
import collections
import json
import sys
import time

LANES = 24  # requests under way at most; a lane that is late sends at once


async def exchange(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes) -> str:
    """The status of one answer that has a Content-Length."""
    reader, writer = connection
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
    await reader.readexactly(int(fields.get(b"content-length", 0)))
    return head.split(b" ", 2)[1].decode()


async def lane(number: int, began_s: float, rate_rps: float, total: int, host: str, request: bytes) -> list[str]:
    told, connection = [], None
    address, _, port = host.rpartition(":")
    for turn in range(number, total, LANES):
        await asyncio.sleep(max(0.0, began_s + turn / rate_rps - time.monotonic()))
        try:
            connection = connection or await asyncio.open_connection(address, int(port))
            told.append(await asyncio.wait_for(exchange(connection, request), 10))
        except (TimeoutError, OSError, EOFError, ValueError):
            told.append("error")
            if connection:
                connection[1].close()
            connection = None
    return told


async def main(rate_rps: float, for_s: float, method: str, path: str, body: str, hosts: list[str]) -> None:
    content = body.encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: api\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    began_s, total, request = time.monotonic(), int(rate_rps * for_s), head.encode() + content
    lanes = [lane(n, began_s, rate_rps, total, hosts[n % len(hosts)], request) for n in range(LANES)]
    told = collections.Counter(status for one in await asyncio.gather(*lanes) for status in one)
    print(json.dumps({"told": told, "rate_rps": round(total / (time.monotonic() - began_s), 1)}))


if __name__ == "__main__":
    rate, seconds, verb, where, what, *addresses = sys.argv[1:]
    asyncio.run(main(float(rate), float(seconds), verb, where, what, addresses))
