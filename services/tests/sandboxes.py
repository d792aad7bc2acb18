"""Sandbox servers as processes of their own, and a claim about their files."""

from __future__ import annotations

import base64
import concurrent.futures
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import urllib3

from sandbox import files
from tests import process, stores


class Sandbox:
    """One sandbox server in `folder`, with these settings."""

    def __init__(self, folder: Path, **settings: str) -> None:
        port = stores.free_port()
        command = [sys.executable, "-m", "sandbox", "--port", str(port)]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command, cwd=folder, env=process.environment(settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.http = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=4, retries=False, timeout=30)
        stores.wait_until("the sandbox answers", self._answers)
        self.ready_s = time.monotonic() - self.started

    def call(self, path: str, document: object = None) -> tuple[int, dict[str, Any]]:
        answer = self.http.request("POST", path, body=json.dumps(document or {}))
        return answer.status, answer.json()

    def run(self, *command: str, **more: object) -> dict[str, Any]:
        """The result of a command, its output decoded."""
        status, result = self.call("/command", {"command": command, **more})
        assert status == 200, result
        for stream in ("stdout", "stderr"):
            result[stream] = base64.b64decode(result.pop(f"{stream}_b64"))
        return result

    def stop(self) -> int:
        self.http.close()
        self.process.terminate()
        return self.process.wait(timeout=10)

    def _answers(self) -> bool:
        try:
            return self.http.request("GET", "/healthz").status == 200
        except urllib3.exceptions.HTTPError:
            return False


def readers_never_see_a_torn_file(room: Path, active: frozenset[str]) -> None:
    """While several write versions of one file, whoever reads sees one of them whole."""
    kept, size, stop = files.Files(room, active), 1 << 20, threading.Event()
    versions = [bytes([letter]) * size for letter in b"abcd"]
    kept.put("file", versions[0])

    def write(data: bytes) -> None:
        while not stop.is_set():
            kept.put("file", data)

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        writing = [threads.submit(write, data) for data in versions]
        try:
            torn = [data for data in (kept.get("file") for _ in range(200)) if len(data) != size or len(set(data)) > 1]
        finally:
            stop.set()
        for one in writing:
            one.result()
    assert not torn, f"{len(torn)} of 200 reads were torn"
