"""Service processes for tests: the API with local processes as sandboxes, and the migration."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import urllib3

from tests import stores

FOLDER = Path(__file__).parents[1]

Start = Callable[..., "Api"]

PUBLIC, ADMIN = ("tests.local_api", "{port}"), ("tests.local_api", "{port}", "admin")
CONTROLLER = ("tests.local_controller", "{port}")
INTERNAL = ("space_internal_api", "--host", "127.0.0.1", "--port", "{port}")


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a service: nothing of the caller's SPACE_* settings, and `settings`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SPACE_")}
    return {**inherited, "PYTHONPATH": str(FOLDER), "SPACE_SANDBOX_IMAGE": "none", **settings}


def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m arguments` to its end."""
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, env=environment(settings), cwd=FOLDER, capture_output=True, text=True, timeout=60)


def migrate(url: str, app_role: str = "") -> subprocess.CompletedProcess[str]:
    done = run("space_api.migrate", SPACE_DATABASE_URL=url, SPACE_APP_ROLE=app_role)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


class Api:
    """One service process, an API unless told otherwise; `call` talks to it, `lines` are its log once it has ended."""

    def __init__(self, settings: Mapping[str, str], command: Sequence[str] = PUBLIC) -> None:
        self.port = stores.free_port()
        command = [sys.executable, "-m", *(part.format(port=self.port) for part in command)]
        self._folder = tempfile.TemporaryDirectory(
            prefix="space-api-",
            ignore_cleanup_errors=True,  # what a command left running ends a moment after its sandbox
        )
        self._log = Path(self._folder.name, "log").open("w+")  # noqa: SIM115 - closed by stop
        self.process = subprocess.Popen(
            command,
            env=environment({**settings, "SPACE_TEST_FOLDER": self._folder.name}),
            cwd=FOLDER,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # its sandboxes are in the group and end with it
        )
        self.http = urllib3.HTTPConnectionPool("127.0.0.1", self.port, maxsize=300, retries=False, timeout=30)
        self.lines: list[dict[str, Any]] = []
        self.ended = False

    def wait_ready(self) -> None:
        stores.wait_until("the API is ready", self._ready)

    def call(self, method: str, path: str, document: object = None, **options: Any) -> urllib3.BaseHTTPResponse:
        body = options.pop("body", None if document is None else json.dumps(document).encode())
        return self.http.request(method, path, body=body, **options)

    def create(self, client: str | None = None) -> urllib3.BaseHTTPResponse:
        return self.call("POST", "/v1/sandboxes", {}, headers={"X-Client-ID": client} if client else {})

    def metric(self, name: str, **labels: str) -> float:
        """The value of one sample, 0 when it does not exist yet."""
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        for line in self.call("GET", "/metrics").data.decode().splitlines():
            head, _, value = line.rpartition(" ")
            if head.partition("{")[0] == name and wanted <= set(head.partition("{")[2].rstrip("}").split(",")):
                return float(value)
        return 0.0

    def stop(self, number: signal.Signals | None = signal.SIGTERM) -> int:
        """Signal, wait for the end, keep the log; returns the exit code. None: it was told already, as a kubelet does once."""
        self.http.close()
        if number is not None and self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return int(self.process.wait(timeout=20))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)
            self._log.seek(0)
            self.lines = [json.loads(line) for line in self._log if line.startswith("{")]
            self._log.close()
            self._folder.cleanup()
            self.ended = True

    def _ready(self) -> bool:
        assert self.process.poll() is None, "the API ended while it started"
        try:
            return self.call("GET", "/readyz").status == 200
        except urllib3.exceptions.HTTPError:
            return False


@contextlib.contextmanager
def starter(base: Mapping[str, str]) -> Iterator[Start]:
    """Yields a function that starts an API with `base` and its keyword arguments as settings."""
    started: list[Api] = []

    def start(command: Sequence[str] = PUBLIC, **settings: str) -> Api:
        # Kind's profile, so that mutations may be named; no drain, so that tests stop quickly.
        api = Api({"SPACE_PROFILE": "kind", "SPACE_DRAIN_S": "0", **base, **settings}, command)
        started.append(api)
        api.wait_ready()
        return api

    try:
        yield start
    finally:
        for api in started:
            if not api.ended:
                api.stop(signal.SIGKILL)
