"""The routes of the internal API and what they need."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from common import about, bodies, database, facts, metrics, refusals, service, web
from fleet import faults, records, tokens
from space_internal_api import config


class Lookup:
    """Answers questions out of the tables; changes nothing."""

    def __init__(self, table: records.Records, kept: tokens.Tokens) -> None:
        self._records, self._tokens = table, kept

    async def introspect(self, request: Request) -> Response:
        """Whether a token is good, and for what; nothing but that when it is not (the shape of RFC 7662)."""
        body = await bodies.document(request, "token")
        secret = bodies.text(body, "token", 4096)
        async with faults.refused():
            found = await self._tokens.find(secret)
        if found is None:
            return JSONResponse({"active": False})
        told = {key: value for key, value in found.public().items() if key not in ("created_at", "revoked_at")}
        return JSONResponse({"active": True, **told})

    async def sandbox(self, request: Request) -> Response:
        named = request.path_params["sandbox"]
        async with faults.refused():
            found = await self._records.get(named) if records.ID.fullmatch(named) else None
        if found is None:
            raise refusals.Refusal(404, "not_found", "no such sandbox")
        facts.of(request.scope).sandbox = found.id
        return JSONResponse({**found.public(), "tenant": found.tenant, "address": found.address})

    async def ready(self) -> None:
        async with faults.refused():
            await self._records.check()


def application(settings: config.Config) -> tuple[Starlette, service.Base]:
    """The ASGI application, and what serves it needs to know."""
    base = service.Base(settings.own, metrics.Requests())
    tables = database.Database(settings.database, settings.own.pod, settings.own.mutations)
    lookup = Lookup(records.Records(tables), tokens.Tokens(tables, settings.own.mutations))

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await tables.open()
        try:
            yield
        finally:
            await tables.close()

    async def image_id() -> str:
        return settings.image

    routes = [
        *about.About(base, ready=lookup.ready, image_id=image_id).routes(),
        Route("/v1/tokens/introspect", lookup.introspect, methods=["POST"]),
        Route("/v1/sandboxes/{sandbox}", lookup.sandbox),
    ]
    return web.application(base, routes, lifespan), base
