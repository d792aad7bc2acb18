"""The admin routes: every tenant's sandboxes, and tokens. Who may reach this surface is the network's business."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from common import bodies, refusals
from fleet import faults, records, tokens
from space_api import handlers

NAME_LIMIT = 100
MAX_EXPIRES_S = 366 * 86400.0


class Administration:
    """Routes over the tables of sandboxes and tokens."""

    def __init__(self, table: records.Records, kept: tokens.Tokens) -> None:
        self._records, self._tokens = table, kept

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/sandboxes", self.sandboxes),
            Route("/v1/sandboxes/{sandbox}", self.sandbox),
            Route("/v1/tokens", self.add, methods=["POST"]),
            Route("/v1/tokens", self.tokens),
            Route("/v1/tokens/{token}", self.revoke, methods=["DELETE"]),
        ]

    async def sandboxes(self, _: Request) -> Response:
        async with faults.refused():
            return JSONResponse({"sandboxes": [_told(record) for record in await self._records.list()]})

    async def sandbox(self, request: Request) -> Response:
        async with faults.refused():
            named = request.path_params["sandbox"]
            found = await self._records.get(named) if handlers.ID.fullmatch(named) else None
            if found is None:
                raise refusals.Refusal(404, "not_found", "no such sandbox")
            return JSONResponse(_told(found))

    async def add(self, request: Request) -> Response:
        body = await bodies.document(request, "tenant", "scopes", "name", "expires_s")
        tenant, name = bodies.text(body, "tenant", NAME_LIMIT), bodies.text(body, "name", NAME_LIMIT, "")
        expires_s = bodies.seconds(body, "expires_s", 0, 1, MAX_EXPIRES_S) if "expires_s" in body else None
        async with faults.refused():
            made, secret = await self._tokens.add(tenant, name, _scopes(body), expires_s)
            return JSONResponse({**made.public(), "token": secret}, 201, {"Cache-Control": "no-store"})

    async def tokens(self, _: Request) -> Response:
        async with faults.refused():
            return JSONResponse({"tokens": [token.public() for token in await self._tokens.list()]})

    async def revoke(self, request: Request) -> Response:
        async with faults.refused():
            named = request.path_params["token"]
            if not handlers.ID.fullmatch(named) or not await self._tokens.revoke(named):
                raise refusals.Refusal(404, "not_found", "no such token")
            return Response(status_code=204)


def _told(record: records.Record) -> dict[str, str]:
    return {**record.public(), "tenant": record.tenant}


def _scopes(body: dict[str, Any]) -> list[str]:
    """The scopes of a new token, each once, at least one; raises Refusal."""
    given = body.get("scopes")
    if not isinstance(given, list) or not given or any(scope not in tokens.SCOPES for scope in given):
        raise refusals.malformed(f"scopes must be a list of at least one of {', '.join(tokens.SCOPES)}")
    return [scope for scope in tokens.SCOPES if scope in given]
