"""The proxy passes requests on as they come, holds the one write that is asked for, and delivers it after its sender is gone."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from space_smoke import errors
from space_smoke.bench import holding_proxy, kube

PATCH = "/apis/apps/v1/namespaces/n/deployments/d?fieldManager=space-smoke-{}"


class Server:
    """An API server that keeps what it was asked and answers 422 to every patch."""

    def __init__(self) -> None:
        asked: list[tuple[str, str, bytes]] = []
        self.asked = asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked.append((self.command, self.path, body))
                content = json.dumps({"answered": self.command}).encode()
                self.send_response(422 if self.command == "PATCH" else 200)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PATCH = _answer

            def log_message(self, *_: Any) -> None: ...

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture
def proxy(server: Server, tmp_path: Path) -> Iterator[holding_proxy.Proxy]:
    config = tmp_path / "kubeconfig"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.http.server_address[1]}"}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    one = holding_proxy.Proxy(kube.Kube(config), tmp_path)
    yield one
    one.close()


def test_what_is_not_held_is_passed_on_with_its_body_and_its_answer(server: Server, proxy: holding_proxy.Proxy) -> None:
    proxy.hold("restore")
    through = kube.Kube(proxy.kubeconfig)
    assert through.send("GET", "/version") == (200, {"answered": "GET"})
    assert through.send("PATCH", PATCH.format("inject"), body=[{"op": "test"}])[0] == 422
    assert server.asked[-1] == ("PATCH", PATCH.format("inject"), b'[{"op": "test"}]')


def test_a_held_write_arrives_only_when_delivered_and_after_its_sender_gave_up(
    server: Server, proxy: holding_proxy.Proxy
) -> None:
    held = proxy.hold("inject")
    with pytest.raises(errors.ApiError) as caught:
        kube.Kube(proxy.kubeconfig).send("PATCH", PATCH.format("inject"), body=[1], timeout_s=0.2)
    assert caught.value.status == 0
    assert held.arrived.is_set()
    assert server.asked == []
    assert held.deliver() == 422
    assert server.asked == [("PATCH", PATCH.format("inject"), b"[1]")]


def test_only_one_write_is_held(server: Server, proxy: holding_proxy.Proxy) -> None:
    held = proxy.hold("inject")
    through = kube.Kube(proxy.kubeconfig)
    with pytest.raises(errors.ApiError):
        through.send("PATCH", PATCH.format("inject"), body=[1], timeout_s=0.2)
    assert through.send("PATCH", PATCH.format("inject"), body=[2])[0] == 422
    held.deliver()
    assert [body for _, _, body in server.asked] == [b"[2]", b"[1]"]


def test_a_request_without_the_secret_path_is_not_passed_on(server: Server, proxy: holding_proxy.Proxy) -> None:
    config = json.loads(proxy.kubeconfig.read_text())
    address, _, _secret = config["clusters"][0]["cluster"]["server"].rpartition("/")
    config["clusters"][0]["cluster"]["server"] = address
    proxy.kubeconfig.write_text(json.dumps(config))
    assert kube.Kube(proxy.kubeconfig).send("GET", "/version")[0] == 404
    assert server.asked == []


def test_a_delivery_without_an_answer_is_an_error(server: Server, proxy: holding_proxy.Proxy) -> None:
    held = proxy.hold("inject")
    with pytest.raises(errors.ApiError):
        kube.Kube(proxy.kubeconfig).send("PATCH", PATCH.format("inject"), body=[1], timeout_s=0.2)
    server.close()
    with pytest.raises(errors.BenchError, match="was not answered"):
        held.deliver()


def test_the_kubeconfig_is_for_its_owner_alone(proxy: holding_proxy.Proxy) -> None:
    assert proxy.kubeconfig.stat().st_mode & 0o077 == 0
