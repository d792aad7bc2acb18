"""The ECW routes for files of a running sandbox; the sandbox itself judges the path."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from common import bodies, facts, refusals
from fleet import faults, guest, records
from space_api import handlers

SIZE_LIMIT = 4 << 20  # bytes, as in the sandbox
_TRANSFERS = 8  # at once; each holds a whole file, and memory is small


class Files:
    """Routes beside those of the service."""

    def __init__(self, made: handlers.Service) -> None:
        self._made, self._transfers = made, asyncio.Semaphore(_TRANSFERS)

    def routes(self) -> list[BaseRoute]:
        path = "/v1/sandboxes/{sandbox}/files"
        return [Route(path, self.put, methods=["PUT"]), Route(path, self.get)]

    async def put(self, request: Request) -> Response:
        path = _query(request, "path")["path"]
        async with self._transfers, faults.refused():
            data = await bodies.raw(request, SIZE_LIMIT)
            address, trace_id = await self._guest(request)
            return JSONResponse(await guest.put(address, path, data, trace_id))

    async def get(self, request: Request) -> Response:
        query = _query(request, "path", "list")
        async with self._transfers, faults.refused():
            address, trace_id = await self._guest(request)
            if "list" in query:
                return JSONResponse(await guest.listing(address, query["list"], trace_id))
            return Response(await guest.get(address, query["path"], trace_id), media_type="application/octet-stream")

    async def _guest(self, request: Request) -> tuple[str, str]:
        """The address of the running sandbox, and the request's trace id; raises Refusal."""
        record = handlers.usable(await self._made.record(request), records.RUNNING)
        return record.address, facts.of(request.scope).trace_id


def _query(request: Request, *names: str) -> dict[str, str]:
    """The one query parameter, which must be among `names`; raises Refusal."""
    found = request.query_params.multi_items()
    if len(found) != 1 or found[0][0] not in names:
        raise refusals.malformed(f"a file call has one parameter: {' or '.join(names)}")
    name, value = found[0]
    # What was no UTF-8 arrives as the replacement character, and would name another file than was meant.
    if "\0" in value or "\N{REPLACEMENT CHARACTER}" in value:
        raise refusals.malformed(f"{name} must be UTF-8 without NUL")
    return {name: value}
