"""Runs the HTTP server and drains it: unready first, serve on for `drain_s`, then finish what is in work and exit.

Meanwhile the Service's endpoints lose this pod, so by the time the socket closes nobody is sent here any more. The
whole takes `drain_s` when nothing is in work and at most `FINISH_S` longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from common import logs, otlp, service

PORT = 8080
FINISH_S = 4  # then what is still in work is cancelled; drain and this together stay under Kubernetes' grace period

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn with our own meaning of SIGTERM."""

    def __init__(self, app: ASGIApp, base: service.Base, host: str, port: int) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=75,  # longer than clients keep idle connections, so that they close them first
                timeout_graceful_shutdown=FINISH_S,
            )
        )
        self._drain_s, self._life = base.own.drain_s, base.life
        self._draining: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        if self._draining is None:
            _log.info("draining", extra={"facts": {"drain_s": self._drain_s}})
            self._life.stopping.set()
            self._draining = asyncio.create_task(self._drain(), name="drain")

    async def _drain(self) -> None:
        # Endpoints are removed by others, elsewhere; nothing here could be waited for instead.
        await asyncio.sleep(self._drain_s)
        self._life.closing.set()
        self.should_exit = True


def run(app: ASGIApp, base: service.Base, host: str = "0.0.0.0", port: int = PORT) -> None:  # noqa: S104
    """Serve until told to stop; the pod's network decides who may connect."""
    own = base.own
    exporter = otlp.start(own.otlp_endpoint, logs.service(), own.version, own.pod)
    if exporter is not None:
        base.requests.lines(exporter.counts)
    try:
        Server(app, base, host, port).run()
    finally:
        if exporter is not None:
            exporter.drain()
