"""Puts the service together: limiters, records, runtime, routes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from limiters import activation, concurrency, store
from space_api import about, admission, config, facts, handlers, metrics, middleware, pods, records, refusals

SURFACES = ("public", "admin")


def service(settings: config.Config, runtime: pods.Runtime) -> handlers.Service:
    """Everything behind the routes; nothing is connected yet. Every surface has both limiters."""
    shared = store.Store(settings.redis_url, settings.mutations)
    activations = activation.Limiter(settings.activation, shared, settings.mutations)
    clients = concurrency.Limiter(settings.concurrency, shared, settings.mutations)
    meter = metrics.Metrics(lambda: clients.held)
    return handlers.Service(
        config=settings,
        store=shared,
        activations=activations,
        clients=clients,
        admission=admission.Admission(activations, clients, meter, settings.mutations),
        table=records.Records(settings.database_url, settings.database_pool, settings.pod),
        runtime=runtime,
        metrics=meter,
    )


def application(made: handlers.Service, surface: str) -> Starlette:
    """The ASGI application of one surface."""

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "malformed")
            error = refusals.Refusal(error.status_code, code, str(error.detail))
        assert isinstance(error, refusals.Refusal)
        known = facts.of(request.scope)
        known.code = error.code
        return refusals.response(error, known.trace_id, made.config.mutations)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await made.table.open()
        await made.store.warm()
        try:
            yield
        finally:
            await made.clients.settle()
            await made.store.close()
            await made.table.close()

    return Starlette(
        routes=[*_common(made), *(_public(made) if surface == "public" else _admin(made))],
        middleware=[Middleware(middleware.Telling, service=made)],
        exception_handlers={refusals.Refusal: refused, HTTPException: refused},
        lifespan=lifespan,
    )


def _common(made: handlers.Service) -> list[BaseRoute]:
    told = about.About(made)
    return [
        Route("/healthz", told.healthz),
        Route("/readyz", told.readyz),
        Route("/metrics", told.exposition),
        Route("/version", told.version),
        Route("/v1/state", told.state),
    ]


def _admin(made: handlers.Service) -> list[BaseRoute]:
    return [Route("/v1/sandboxes", made.list), Route("/v1/sandboxes/{sandbox}", made.info)]


def _public(made: handlers.Service) -> list[BaseRoute]:
    one = "/v1/sandboxes/{sandbox}"
    return [
        Route("/v1/sandboxes", made.create, methods=["POST"]),
        Route("/v1/sandboxes", made.list),
        Route(one, made.info),
        Route(one, made.delete, methods=["DELETE"]),
        Route(f"{one}/command", made.command, methods=["POST"]),
        Route(f"{one}/pause", made.pause, methods=["POST"]),
        Route(f"{one}/connect", handlers.Connect(made), methods=["POST"]),
    ]
