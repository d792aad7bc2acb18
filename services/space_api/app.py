"""Puts the service together: limiters, tables, runtime, routes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping

import prometheus_client as prometheus
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from common import about, database, metrics, web
from common import service as services
from fleet import faults, operations, pods, records, tokens
from limiters import activation, concurrency, store
from limiters import metrics as limiter_metrics
from space_api import administration, admission, authentication, config, facts, files, handlers, native

SURFACES = ("public", "admin")


def service(settings: config.Config, runtime: pods.Runtime) -> handlers.Service:
    """Everything behind the routes; nothing is connected yet. Every surface has both limiters."""
    active = settings.own.mutations
    base = services.Base(settings.own, metrics.Requests(), facts.Facts)
    shared = store.Store(settings.redis_url, active)
    activations = activation.Limiter(settings.activation, shared, active)
    clients = concurrency.Limiter(settings.concurrency, shared, active)
    decisions = limiter_metrics.Decisions(base.requests.registry)
    leases = prometheus.Gauge("space_limiter_leases", "Leases held by this process", registry=base.requests.registry)
    leases.set_function(lambda: clients.held)
    tables = database.Database(settings.database, settings.own.pod, active)
    return handlers.Service(
        base=base,
        config=settings,
        database=tables,
        store=shared,
        activations=activations,
        clients=clients,
        admission=admission.Admission(activations, clients, decisions, active),
        table=records.Records(tables, active),
        tokens=tokens.Tokens(tables, active),
        operations=operations.Operations(tables, active),
        runtime=runtime,
    )


def application(made: handlers.Service, surface: str) -> Starlette:
    """The ASGI application of one surface."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await made.database.open()
        await made.store.warm()
        try:
            yield
        finally:
            await made.clients.settle()
            await made.store.close()
            await made.database.close()

    async def ready() -> None:
        """The limiter store does not matter here: it fails open."""
        async with faults.refused():
            await made.table.check()

    told = about.About(made.base, ready=ready, image_id=made.runtime.image_id, state=lambda: _state(made))
    own = _public(made) if surface == "public" else administration.Administration(made.table, made.tokens).routes()
    return web.application(made.base, [*told.routes(), *own], lifespan)


def _state(made: handlers.Service) -> Mapping[str, object]:
    """How this pod's limiters are set."""
    bucket, clients = made.activations.settings, made.clients.settings
    limiters = {
        "activation": {
            "enabled": bucket.enabled,
            "store": made.store.status,
            "burst": bucket.burst,
            "refill_per_second": bucket.refill_per_second,
        },
        "client_concurrency": {
            "mode": clients.mode,
            "limit": clients.limit,
            "known_clients": len(clients.known_clients),
            "lease_s": clients.lease_s,
            "store": made.store.status,
        },
    }
    return {"limiters": limiters}


def _public(made: handlers.Service) -> list[BaseRoute]:
    one = "/v1/sandboxes/{sandbox}"
    door = authentication.Authentication(made.tokens, made.config.own.mutations)
    return [
        Route("/v1/sandboxes", made.create, methods=["POST"]),
        Route("/v1/sandboxes", made.list),
        Route(one, made.info),
        Route(one, made.delete, methods=["DELETE"]),
        Route(f"{one}/command", made.command, methods=["POST"]),
        Route(f"{one}/pause", made.pause, methods=["POST"]),
        Route(f"{one}/connect", handlers.Connect(made), methods=["POST"]),
        *files.Files(made).routes(),
        *native.Native(made.operations, door).routes(),
    ]
