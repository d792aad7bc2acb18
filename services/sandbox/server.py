"""HTTP for one sandbox, reached only by the API: run a command, files, freeze, thaw, health.

POST /command  {"command": [..], "stdin_b64"?: "..", "timeout_s"?: 60}  -> 200 with the result, 409 when frozen
POST /freeze, POST /thaw                                              -> 200 {"processes": n}
PUT  /files?path=P with raw bytes                                     -> 200 {"path": P, "size": n}, 409 when frozen
GET  /files?path=P                                                    -> 200 with raw bytes, 409 when frozen
GET  /files?list=P                                                    -> 200 {"entries": [..], "truncated": bool}
GET  /healthz                                                         -> 200 {"frozen": bool}
GET  /metrics                                                         -> 200 OpenMetrics text
"""

from __future__ import annotations

import base64
import binascii
import http.server
import json
import logging
import math
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from common import identity, mutations, texts
from sandbox import counts, files, processes, refused

PORT = 8090
BODY_LIMIT = 4 << 20
DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S = 60.0, 600.0

_log = logging.getLogger(__name__)


class Server(http.server.ThreadingHTTPServer):
    """Listens on all addresses; one thread for each connection."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        owned: processes.Processes,
        kept: files.Files,
        own: identity.Identity,
        lines: Callable[[], Mapping[str, int]],
    ) -> None:
        """`lines` gives what became of log lines on their way to a backend, by outcome."""
        self.processes, self.files, self.lines = owned, kept, lines
        self.counts = counts.Counts(own.pod)
        self.traced = mutations.TRACE_DROPPED not in own.mutations
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer looks up its own name here, which costs seconds where no name server answers.
        http.server.socketserver.TCPServer.server_bind(self)  # type: ignore[attr-defined]
        self.server_name, self.server_port = "sandbox", self.server_address[1]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self._answer({"/healthz": self._health, "/files": self._read, "/metrics": self._exposition})

    def do_PUT(self) -> None:
        self._answer({"/files": self._write})

    def do_POST(self) -> None:
        self._answer({"/command": self._command, "/freeze": self._freeze, "/thaw": self._thaw})

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are logged where they are served, as JSON."""

    def _answer(self, routes: Mapping[str, Any]) -> None:
        try:
            serve = routes.get(self.path.partition("?")[0])
            if serve is None:
                raise refused.Refused(404, "not_found", f"no such path: {self.path[:80]}")
            status, body = 200, serve()
        except refused.Refused as bad:
            status, body = bad.status, {"error": {"code": bad.code, "message": str(bad)}}
        except Exception:
            _log.exception("request failed", extra={"facts": {"path": self.path[:80]}})
            status, body = 500, {"error": {"code": "internal", "message": "the sandbox server failed; see its log"}}
        raw = isinstance(body, bytes)
        encoded = body if raw else json.dumps(body).encode()
        self.send_response(status)
        form = counts.CONTENT_TYPE if self.path == "/metrics" else "application/octet-stream"
        self.send_header("Content-Type", form if raw else "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def _health(self) -> dict[str, object]:
        return {"frozen": self.server.processes.frozen}

    def _exposition(self) -> bytes:
        return self.server.counts.exposition(self.server.lines())

    def _trace_id(self) -> str:
        return self.headers.get("X-Trace-Id", "") if self.server.traced else ""

    def _write(self) -> dict[str, object]:
        data = self._bytes()
        path = self._query("path")["path"]
        facts = {"trace_id": self._trace_id(), "size": len(data)}
        size = self.server.files.put(path, data)
        _log.info("file put", extra={"facts": facts})
        return {"path": path, "size": size}

    def _read(self) -> bytes | dict[str, object]:
        query = self._query("path", "list")
        if "path" in query:
            return self.server.files.get(query["path"])
        entries, truncated = self.server.files.list(query["list"])
        told = [{"name": entry.name, "kind": entry.kind, "size": entry.size} for entry in entries]
        return {"entries": told, "truncated": truncated}

    def _query(self, *names: str) -> dict[str, str]:
        """The one parameter of a file call, which must be among `names`."""
        if self.server.processes.frozen:
            raise refused.Refused(409, "sandbox_paused", "the sandbox is frozen; thaw it first")
        try:
            query = self.path.partition("?")[2]
            found = urllib.parse.parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=8)
        except ValueError:
            found = []
        if len(found) != 1 or found[0][0] not in names:
            raise refused.malformed(f"a file call has one parameter in UTF-8: {' or '.join(names)}")
        return dict(found)

    def _freeze(self) -> dict[str, object]:
        self._body()
        return {"processes": self.server.processes.freeze()}

    def _thaw(self) -> dict[str, object]:
        self._body()
        return {"processes": self.server.processes.thaw()}

    def _command(self) -> dict[str, object]:
        body = self._body()
        command, timeout_s = body.get("command"), body.get("timeout_s", DEFAULT_TIMEOUT_S)
        if not isinstance(command, list) or not command or not all(texts.is_text(item) for item in command):
            raise refused.malformed("command must be a list of strings without NUL, at least one")
        if not _seconds(timeout_s):
            raise refused.malformed(f"timeout_s must be a number above 0 up to {MAX_TIMEOUT_S:g}")
        try:
            stdin = base64.b64decode(body.get("stdin_b64", ""), validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise refused.malformed("stdin_b64 must be base64") from None
        try:
            result = self.server.processes.run(command, stdin, float(timeout_s))
        except processes.Frozen:
            raise refused.Refused(409, "sandbox_paused", "the sandbox is frozen; thaw it first") from None
        facts = {
            "trace_id": self._trace_id(),
            "argv0": command[0],
            "exit_code": result.exit_code,
            "duration_ms": result.duration_ms,
        }
        self.server.counts.command(self._trace_id())
        _log.info("command", extra={"facts": facts})
        return {
            "exit_code": result.exit_code,
            "stdout_b64": base64.b64encode(result.stdout).decode(),
            "stderr_b64": base64.b64encode(result.stderr).decode(),
            "truncated": result.truncated,
            "timed_out": result.timed_out,
            "duration_ms": result.duration_ms,
        }

    def _body(self) -> dict[str, Any]:
        try:
            body = json.loads(self._bytes() or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise refused.malformed("the body must be a JSON object")
        return body

    def _bytes(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > BODY_LIMIT:
            self.close_connection = True  # the body stays unread
            raise refused.Refused(413, "too_large", f"a body has at most {BODY_LIMIT} bytes and says its length")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            raise refused.malformed("the body ended early")
        return body


def _seconds(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 < value <= MAX_TIMEOUT_S  # type: ignore[arg-type, operator]
