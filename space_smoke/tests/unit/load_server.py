"""A cluster on this machine for tests of `load`: the few routes of an API server, and the public API behind its proxy."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

_PROXY = re.compile(r"/api/v1/namespaces/space/(services|pods)/([a-z0-9-]+):8080/proxy(/.*)")
LABELS = {"app": "space-api"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that ended before its answer is no error here."""


class Cluster:
    """Set an attribute to change how it behaves; read `asked` and `sandboxes` for what it was asked and what it holds."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str | None]] = []  # method, path behind the proxy or whole, client
        self.sandboxes: set[str] = set()
        self.made = 0
        self.store = "none"  # the reason that decisions bear
        self.healthy = True
        self.dropping = False  # every request but the health check is cut off
        self.keeping = False  # deletions are answered 503
        self.slow_s = 0.0
        self.deletes = threading.Event()  # deletions wait for it
        self.deletes.set()
        self.reached = threading.Event()  # a deletion came
        self.ready = {"space-api-a": True, "space-api-b": True, "space-api-c": False}
        self._server = _Server(("127.0.0.1", 0), _handler(self))

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        self.deletes.set()
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, folder: Path) -> Path:
        """A file whose context `here` is this cluster."""
        path = folder / "kubeconfig"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "current-context": "here",
        }
        path.write_text(yaml.safe_dump(config))
        return path

    def api(self, method: str, path: str) -> tuple[int, Any]:
        """The public API."""
        match (method, path):
            case ("GET", "/healthz"):
                return (200 if self.healthy else 503), {}
            case ("GET", "/v1/state"):
                return 200, {"limiters": {"activation": {"store": "configured"}}}
            case ("POST", "/v1/sandboxes"):
                self.made += 1
                sandbox = str(uuid.uuid4())
                self.sandboxes.add(sandbox)
                return 201, {"id": sandbox}
            case ("DELETE", _):
                self.reached.set()
                self.deletes.wait(30)
                if self.keeping:
                    return 503, {"error": {"code": "cluster_unavailable"}}
                self.sandboxes.discard(path.rsplit("/", 1)[1])
                return 204, None
        time.sleep(self.slow_s)
        return 200, {}

    def kubernetes(self, path: str) -> tuple[int, Any]:
        where = path.partition("?")[0]
        if where.endswith("/deployments/space-api"):
            metadata = {"name": "space-api", "namespace": "space", "uid": "1"}
            return 200, {"metadata": metadata, "spec": {"selector": {"matchLabels": LABELS}}}
        if where.endswith("/pods"):
            return 200, {"items": [_pod(name, ready) for name, ready in self.ready.items()]}
        return 200, {"items": []}


def _pod(name: str, ready: bool) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {"metadata": {"name": name, "labels": LABELS}, "spec": {}, "status": {"conditions": conditions}}


def _handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxied = _PROXY.fullmatch(self.path)
            path = proxied[3] if proxied else self.path
            cluster.asked.append((self.command, path, self.headers.get("X-Client-ID")))
            if cluster.dropping and path != "/healthz":
                self.close_connection = True
                return
            status, body = cluster.api(self.command, path) if proxied else cluster.kubernetes(self.path)
            data = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            if proxied:
                self.send_header("X-Space-Pod", proxied[2] if proxied[1] == "pods" else "space-api-a")
                for limiter in _decided(self.command, path):
                    said = f"accepted; reason={cluster.store}; would_reject=false"
                    self.send_header(f"X-Space-{limiter}-Decision", said)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = _answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _decided(method: str, path: str) -> list[str]:
    """Which limiters decide on a request."""
    if method != "POST":
        return []
    if path == "/v1/sandboxes":
        return ["Activation", "Concurrency"]
    return ["Concurrency"] if urlsplit(path).path.endswith("/connect") else []


@contextlib.contextmanager
def running() -> Iterator[Cluster]:
    cluster = Cluster()
    thread = threading.Thread(target=cluster.serve, daemon=True)
    thread.start()
    try:
        yield cluster
    finally:
        cluster.close()
        thread.join()
