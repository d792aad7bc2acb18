"""The native routes: an operation is queued for the controller, and asked after. A tenant sees its own only."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from common import bodies, facts, refusals
from fleet import faults, operations, tokens
from space_api import authentication, handlers, orders


class Native:
    """Routes on a queue."""

    def __init__(self, queue: operations.Operations, door: authentication.Authentication) -> None:
        self._queue, self._door = queue, door

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/operations", self.put, methods=["POST"]),
            Route("/v1/operations/{operation}", self.get),
        ]

    async def put(self, request: Request) -> Response:
        async with faults.refused():
            token = await self._door.holder(request)
            body = await bodies.anything(request)
            self._door.require(token, orders.SCOPES[orders.kind(body)])
            order = orders.order(body)
            if order.sandbox and not handlers.ID.fullmatch(order.sandbox):
                raise _unknown("sandbox")
            known = facts.of(request.scope)
            try:
                made = await self._queue.put(token.tenant, order, known.trace_id)
            except operations.UnknownSandbox:
                raise _unknown("sandbox") from None
            except operations.KeyReused:
                message = "this idempotency_key stands for another operation; take a new one"
                raise refusals.Refusal(409, "idempotency_key_reused", message) from None
            known.sandbox = made.sandbox
            return JSONResponse(made.accepted(), 202)

    async def get(self, request: Request) -> Response:
        async with faults.refused():
            token = await self._door.holder(request)
            self._door.require(token, tokens.READ)
            named = request.path_params["operation"]
            found = await self._queue.get(named, token.tenant) if handlers.ID.fullmatch(named) else None
            if found is None:
                raise _unknown("operation")
            facts.of(request.scope).sandbox = found.sandbox
            return JSONResponse(found.public())


def _unknown(what: str) -> refusals.Refusal:
    return refusals.Refusal(404, "not_found", f"no such {what}")
