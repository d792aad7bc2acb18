"""A proxy on this machine that holds one write until it is told to deliver it: a request that is still under way.

A runner gets `kubeconfig`, which names the proxy instead of the API server. The proxy opens the API server with the bench's
own credentials and passes everything on as it comes, watches included. `hold` names the step (the purpose that travels as
the field manager) whose next write is kept, complete, after its sender was told nothing; `deliver` sends it, whether or not
the sender still lives. It listens on the loopback address, under a path that only the kubeconfig (mode 0600) knows.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import secrets
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import urllib3

from space_smoke import errors
from space_smoke.bench import kube

_DELIVERED_S = 30.0
_PASSED_S = 60.0
_SENT = ("content-type", "accept")


@dataclass(slots=True)
class Held:
    """One write in the proxy's hands. `status` is the API server's answer, once delivered."""

    purpose: str
    arrived: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)
    status: int = 0
    answer: str = ""

    def deliver(self) -> int:
        """Sends the request now; the status of the API server's answer. Raises BenchError when none comes."""
        self.released.set()
        if not self.answered.wait(_DELIVERED_S) or not self.status:
            raise errors.BenchError(
                f"the held request for {self.purpose} was not answered: {self.answer or 'no answer'}"
            )
        return self.status


class Proxy:
    """Serves until it is closed. `folder` takes the kubeconfig."""

    def __init__(self, cluster: kube.Kube, folder: Path) -> None:
        self._cluster = cluster
        self._secret = "/" + secrets.token_hex(16)
        self._wanted: Held | None = None
        self._turn = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                with contextlib.suppress(OSError):  # the sender was killed: nobody reads this answer
                    super().handle_one_request()

            def _pass(self) -> None:
                proxy.serve(self)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _pass

            def log_message(self, *_: Any) -> None:
                """The drill tells what matters."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="holding-proxy", daemon=True).start()
        self.kubeconfig = folder / "held.kubeconfig"
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps(self._config()))

    def hold(self, purpose: str) -> Held:
        """The next write for this step will be held."""
        with self._turn:
            self._wanted = Held(purpose)
            return self._wanted

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self, request: http.server.BaseHTTPRequestHandler) -> None:
        """One request, from its handler's thread."""
        if not request.path.startswith(self._secret + "/"):
            request.send_error(404)
            return
        path = request.path.removeprefix(self._secret)
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0)) or None
        held = self._matching(path)
        if held is not None:
            held.arrived.set()
            held.released.wait()
        headers = {name: value for name, value in request.headers.items() if name.lower() in _SENT}
        try:
            response = self._cluster.open(request.command, path, body=body, headers=headers, timeout_s=_PASSED_S)
        except urllib3.exceptions.HTTPError as error:
            if held is not None:
                held.answer = str(error)
                held.answered.set()
            return  # the connection closes without an answer, as it would without a proxy
        if held is not None:
            content = response.read()
            held.status, held.answer = response.status, content.decode(errors="replace")
            held.answered.set()
            _answer(request, response, content)
            return
        _answer(request, response, None)

    def _matching(self, path: str) -> Held | None:
        purpose = parse_qs(urlsplit(path).query).get("fieldManager", [""])[0].removeprefix("space-smoke-")
        with self._turn:
            if self._wanted is None or purpose != self._wanted.purpose:
                return None
            held, self._wanted = self._wanted, None
            return held

    def _config(self) -> dict[str, Any]:
        server = f"http://127.0.0.1:{self._server.server_address[1]}{self._secret}"
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "held",
            "clusters": [{"name": "held", "cluster": {"server": server}}],
            "users": [{"name": "held", "user": {}}],
            "contexts": [{"name": "held", "context": {"cluster": "held", "user": "held"}}],
        }


def _answer(
    request: http.server.BaseHTTPRequestHandler, response: urllib3.BaseHTTPResponse, content: bytes | None
) -> None:
    """HTTP/1.0: the end of the connection is the end of the body, so a watch needs no framing of its own."""
    request.send_response(response.status)
    request.send_header("Content-Type", response.headers.get("Content-Type", "application/json"))
    request.end_headers()
    if content is not None:
        request.wfile.write(content)
        return
    try:
        for chunk in response.stream(amt=None, decode_content=True):
            request.wfile.write(chunk)
            request.wfile.flush()
    finally:
        response.close()
