"""What a pod tells about itself: whether it lives, is ready, counts, its version, and what its service adds to that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from common import mutations, refusals, service

Image = Callable[[], Awaitable[str]]


class About:
    """The routes of every service."""

    def __init__(
        self,
        base: service.Base,
        *,
        ready: Callable[[], Awaitable[None]],
        image_id: Image,
        state: Callable[[], Mapping[str, object]] = dict,
    ) -> None:
        """`ready` raises Refusal while something the service needs is missing; `state` is told beside the frame."""
        self._base, self._ready, self._image_id, self._state = base, ready, image_id, state

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/metrics", self.exposition),
            Route("/version", self.version),
            Route("/v1/state", self.state),
        ]

    async def state(self, _: Request) -> Response:
        """How this pod is set and what it mutates; never a URL, which may hold a password."""
        own = self._base.own
        told = {"pod": own.pod, "version": own.version, **self._state()}
        return JSONResponse({**told, "mutations": sorted(own.mutations)})

    async def healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def readyz(self, _: Request) -> Response:
        if self._base.life.stopping.is_set():
            raise refusals.unavailable("stopping", "this pod is shutting down")
        if mutations.READY_WITHOUT_DATABASE not in self._base.own.mutations:
            await self._ready()
        return JSONResponse({"status": "ready"})

    async def exposition(self, _: Request) -> Response:
        return Response(self._base.requests.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def version(self, _: Request) -> Response:
        own = self._base.own
        return JSONResponse({"version": own.version, "image_id": await self._image_id(), "pod": own.pod})
