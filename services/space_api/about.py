"""What a pod tells about itself: how its limiters are set, whether it lives, is ready, counts, and its version."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from space_api import handlers, refusals


class About:
    """The routes of every surface."""

    def __init__(self, service: handlers.Service) -> None:
        self._service = service

    async def state(self, _: Request) -> Response:
        """How this pod's limiters are set and what it mutates; never the store's URL, which may hold a password."""
        bucket, clients = self._service.activations.settings, self._service.clients.settings
        limiters = {
            "activation": {
                "enabled": bucket.enabled,
                "store": self._service.store.status,
                "burst": bucket.burst,
                "refill_per_second": bucket.refill_per_second,
            },
            "client_concurrency": {
                "mode": clients.mode,
                "limit": clients.limit,
                "known_clients": len(clients.known_clients),
                "lease_s": clients.lease_s,
                "store": self._service.store.status,
            },
        }
        told = {"pod": self._service.config.pod, "version": self._service.config.version, "limiters": limiters}
        return JSONResponse({**told, "mutations": sorted(self._service.config.mutations)})

    async def healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def readyz(self, _: Request) -> Response:
        """Ready when the database answers and the pod is not stopping; the limiter store does not matter: it fails open."""
        if self._service.stopping:
            raise refusals.unavailable("stopping", "this pod is shutting down")
        async with handlers.dependencies():
            await self._service.table.check()
        return JSONResponse({"status": "ready"})

    async def exposition(self, _: Request) -> Response:
        return Response(self._service.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def version(self, _: Request) -> Response:
        image_id = await self._service.runtime.image_id()
        return JSONResponse(
            {"version": self._service.config.version, "image_id": image_id, "pod": self._service.config.pod}
        )
