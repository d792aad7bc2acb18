"""HTTP for one sandbox, reached only by the API: run a command, freeze, thaw, health.

POST /command  {"command": [..], "stdin_b64"?: "..", "timeout_s"?: 60}  -> 200 with the result, 409 when frozen
POST /freeze, POST /thaw                                              -> 200 {"processes": n}
GET  /healthz                                                         -> 200 {"frozen": bool}
"""

from __future__ import annotations

import base64
import binascii
import http.server
import json
import logging
import math
from collections.abc import Mapping
from typing import Any

from sandbox import processes

PORT = 8090
BODY_LIMIT = 4 << 20
DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S = 60.0, 600.0

_log = logging.getLogger(__name__)


class _Bad(Exception):
    """The request cannot be served: `status` and a machine code."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Server(http.server.ThreadingHTTPServer):
    """Listens on all addresses; one thread for each connection."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], owned: processes.Processes) -> None:
        self.processes = owned
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer looks up its own name here, which costs seconds where no name server answers.
        http.server.socketserver.TCPServer.server_bind(self)  # type: ignore[attr-defined]
        self.server_name, self.server_port = "sandbox", self.server_address[1]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self._answer({"/healthz": self._health})

    def do_POST(self) -> None:
        self._answer({"/command": self._command, "/freeze": self._freeze, "/thaw": self._thaw})

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are logged where they are served, as JSON."""

    def _answer(self, routes: Mapping[str, Any]) -> None:
        try:
            serve = routes.get(self.path)
            if serve is None:
                raise _Bad(404, "not_found", f"no such path: {self.path[:80]}")
            status, body = 200, serve()
        except _Bad as bad:
            status, body = bad.status, {"error": {"code": bad.code, "message": str(bad)}}
        except Exception:
            _log.exception("request failed", extra={"facts": {"path": self.path[:80]}})
            status, body = 500, {"error": {"code": "internal", "message": "the sandbox server failed; see its log"}}
        encoded = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def _health(self) -> dict[str, object]:
        return {"frozen": self.server.processes.frozen}

    def _freeze(self) -> dict[str, object]:
        self._body()
        return {"processes": self.server.processes.freeze()}

    def _thaw(self) -> dict[str, object]:
        self._body()
        return {"processes": self.server.processes.thaw()}

    def _command(self) -> dict[str, object]:
        body = self._body()
        command, timeout_s = body.get("command"), body.get("timeout_s", DEFAULT_TIMEOUT_S)
        if not isinstance(command, list) or not command or not all(_argument(item) for item in command):
            raise _Bad(400, "malformed", "command must be a list of strings without NUL, at least one")
        if not _seconds(timeout_s):
            raise _Bad(400, "malformed", f"timeout_s must be a number above 0 up to {MAX_TIMEOUT_S:g}")
        try:
            stdin = base64.b64decode(body.get("stdin_b64", ""), validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise _Bad(400, "malformed", "stdin_b64 must be base64") from None
        try:
            result = self.server.processes.run(command, stdin, float(timeout_s))
        except processes.Frozen:
            raise _Bad(409, "sandbox_paused", "the sandbox is frozen; thaw it first") from None
        facts = {
            "trace_id": self.headers.get("X-Trace-Id", ""),
            "argv0": command[0],
            "exit_code": result.exit_code,
            "duration_ms": result.duration_ms,
        }
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
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > BODY_LIMIT:
            self.close_connection = True  # the body stays unread
            raise _Bad(413, "too_large", f"a body has at most {BODY_LIMIT} bytes and says its length")
        try:
            body = json.loads(self.rfile.read(int(length)) or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise _Bad(400, "malformed", "the body must be a JSON object")
        return body


def _argument(value: object) -> bool:
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate is valid JSON and no valid argument
        return False
    return True


def _seconds(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 < value <= MAX_TIMEOUT_S  # type: ignore[arg-type, operator]
