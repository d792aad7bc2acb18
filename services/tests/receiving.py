"""A backend that takes OTLP logs, and reads them by protobuf's wire format alone, without a line of `common.otlp_logs`."""

from __future__ import annotations

import contextlib
import http.server
import struct
import threading
from collections.abc import Iterator
from typing import Any


def fields(message: bytes) -> dict[int, list[Any]]:
    """The fields of a protobuf message by number: whole numbers, or bytes. Raises ValueError for what is none."""
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            group = message[at]
            at, value, shift = at + 1, value | (group & 0x7F) << shift, shift + 7
            if group < 0x80:
                return value

    while at < len(message):
        number, wire = divmod(varint(), 8)
        if wire == 0:
            value: Any = varint()
        elif wire == 1:
            value, at = message[at : at + 8], at + 8
        elif wire == 2:
            size = varint()
            value, at = message[at : at + size], at + size
            if len(value) != size:
                raise ValueError(f"field {number} ends early")
        else:
            raise ValueError(f"field {number} has wire type {wire}")
        found.setdefault(number, []).append(value)
    return found


def _value(message: bytes) -> object:
    ((kind, (value,)),) = fields(message).items()
    if kind == 1:
        return value.decode()
    if kind == 2:
        return bool(value)
    return struct.unpack("<d", value)[0] if kind == 4 else value - (1 << 64) if value >> 63 else value


def _pairs(messages: list[bytes]) -> dict[str, object]:
    pairs = [fields(message) for message in messages]
    return {pair[1][0].decode(): _value(pair[2][0]) for pair in pairs}


def records(body: bytes) -> Iterator[dict[str, Any]]:
    """The log records of an ExportLogsServiceRequest, each with its resource."""
    for resource_logs in fields(body)[1]:
        parts = fields(resource_logs)
        resource = _pairs(fields(parts[1][0])[1])
        for scope in parts[2]:
            for record in fields(scope)[2]:
                told = fields(record)
                yield {
                    "resource": resource,
                    "at_ns": struct.unpack("<Q", told[1][0])[0],
                    "severity": (told[2][0], told[3][0].decode()),
                    "body": _value(told[5][0]),
                    "attributes": _pairs(told.get(6, [])),
                    "trace_id": told[9][0].hex() if 9 in told else "",
                }


class Backend:
    """`status` is what it answers; while `open` is cleared it answers nobody."""

    def __init__(self) -> None:
        self.status = 200
        self.open = threading.Event()
        self.open.set()
        self.came = threading.Event()  # a request came, answered or not
        self.paths: list[str] = []
        self.lines: list[dict[str, Any]] = []
        self.sizes: list[int] = []  # of requests that it took, in lines
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/insert/opentelemetry/"


def _handler(backend: Backend) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            backend.came.set()
            backend.open.wait(60)
            backend.paths.append(f"{self.path} {self.headers['Content-Type']}")
            if backend.status == 200:
                taken = list(records(body))
                backend.lines += taken
                backend.sizes.append(len(taken))
            with contextlib.suppress(OSError):  # who sent it may have given up
                self.send_response(backend.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is told of requests."""

    return Handler


@contextlib.contextmanager
def backend() -> Iterator[Backend]:
    made = Backend()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.open.set()
        made.server.shutdown()
        made.server.server_close()
        thread.join()
