"""A service's ASGI application: its routes behind the middleware that tells of each request, refusals in one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from common import facts, middleware, refusals, service

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]

_CODES = {404: "not_found", 405: "method_not_allowed"}


def application(base: service.Base, routes: Sequence[BaseRoute], lifespan: Lifespan) -> Starlette:
    """The application; `lifespan` opens and closes what the routes use."""

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            code = _CODES.get(error.status_code, "malformed")
            error = refusals.Refusal(error.status_code, code, str(error.detail))
        assert isinstance(error, refusals.Refusal)
        known = facts.of(request.scope)
        known.code = error.code
        return refusals.response(error, known.trace_id, base.own.mutations)

    return Starlette(
        routes=routes,
        middleware=[Middleware(middleware.Telling, base=base)],
        exception_handlers={refusals.Refusal: refused, HTTPException: refused},
        lifespan=lifespan,
    )
