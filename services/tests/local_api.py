"""`python -m tests.local_api PORT`: the API with real sandbox servers as local processes in place of pods."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile

from common import logs, serve, settings, wire
from fleet import pods
from space_api import app, config
from tests import stores


class LocalRuntime:
    """Runs each sandbox as a process of this machine, in a folder of its own."""

    def __init__(self) -> None:
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    async def start(self, sandbox: str) -> str:
        if os.environ.get("SPACE_TEST_START_FAILS"):
            raise pods.StartFailed("it was told to fail")
        port = stores.free_port()
        command = (sys.executable, "-m", "sandbox", "--port", str(port))
        folder = tempfile.mkdtemp(prefix="sandbox-", dir=os.environ["SPACE_TEST_FOLDER"])
        self._processes[sandbox] = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        while True:
            try:
                await wire.call(wire.Peer("127.0.0.1", port), "GET", "/healthz", timeout_s=5)
            except wire.WireError:
                await asyncio.sleep(0.02)
            else:
                return f"127.0.0.1:{port}"

    async def stop(self, sandbox: str) -> None:
        if process := self._processes.pop(sandbox, None):
            process.terminate()
            await process.wait()

    async def image_id(self) -> str:
        return "sha256:local"


def main() -> int:
    logs.configure("space-api-test")
    read = settings.or_exit(lambda: config.read(os.environ))
    made = app.service(read, LocalRuntime())
    surface = sys.argv[2] if len(sys.argv) > 2 else "public"
    serve.run(app.application(made, surface), made.base, host="127.0.0.1", port=int(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
