"""Around every request: its facts, the headers that tell them, one log line, one count; and no exception past here."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from common import facts, refusals, service

_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})  # asked every few seconds; logged only when they fail

_log = logging.getLogger("common.request")


class Telling:
    """ASGI middleware. Once the service is stopping each answer closes its connection: clients move to another pod."""

    def __init__(self, app: ASGIApp, base: service.Base) -> None:
        self._app, self._base = app, base
        self._pod = base.own.pod.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        known, started, status = facts.begin(scope, self._base.make_facts), time.monotonic(), 0

        async def telling(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(b"x-space-pod", self._pod), *known.headers()]
                if self._base.life.stopping.is_set():
                    extra.append((b"connection", b"close"))
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        try:
            await self._app(scope, receive, telling)
        except Exception:
            _log.exception("request failed", extra={"facts": known.log()})
            if status:
                raise  # the answer has begun: all that is left is to break it off
            failed = refusals.Refusal(500, "internal", "the service failed; its log has the reason under this trace id")
            known.code = failed.code
            await refusals.response(failed, known.trace_id, self._base.own.mutations)(scope, receive, telling)
        finally:
            self._tell(scope, known, status, time.monotonic() - started)

    def _tell(self, scope: Scope, known: facts.Facts, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self._base.requests.request(route, status)
        if scope["path"] in _QUIET and status < 400:
            return
        told = {"method": scope["method"], "path": scope["path"][:200], "status": status}
        told["ms"] = round(seconds * 1000, 3)
        _log.info("request", extra={"facts": told | known.log()})
