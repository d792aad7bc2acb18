"""The ECW routes. Bad input is refused before anything is decided; then come admission, the act, the record."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from common import bodies, database, kube, mutations, refusals, service
from fleet import faults, guest, manifest, operations, pods, records, tokens
from limiters import activation, concurrency, store
from space_api import admission, config, connection, facts

_MORE_TRIES = 12  # of a create that the database leaves unanswered, with the mutation that repeats it
ID = records.ID


@dataclass(slots=True)
class Service:
    """All that handlers need."""

    base: service.Base
    config: config.Config
    database: database.Database
    store: store.Store
    activations: activation.Limiter
    clients: concurrency.Limiter
    admission: admission.Admission
    table: records.Records
    tokens: tokens.Tokens
    operations: operations.Operations
    runtime: pods.Runtime

    async def create(self, request: Request) -> Response:
        await bodies.document(request)
        known = facts.of(request.scope)
        async with self.admission.client(known, _client_ids(request), activates=True), faults.refused():
            await self.admission.activation(known)
            more_tries = _MORE_TRIES if mutations.WRITE_TWICE in self.base.own.mutations else 0
            return JSONResponse((await self._created(known, more_tries)).public(), 201)

    async def list(self, _: Request) -> Response:
        async with faults.refused():
            return JSONResponse({"sandboxes": [record.public() for record in await self.table.list(records.NOBODY)]})

    async def info(self, request: Request) -> Response:
        async with faults.refused():
            return JSONResponse((await self.record(request)).public())

    async def command(self, request: Request) -> Response:
        body = await bodies.document(request, "command", "stdin_b64", "timeout_s")
        timeout_s = bodies.seconds(body, "timeout_s", bodies.DEFAULT_TIMEOUT_S, 0.001, bodies.MAX_TIMEOUT_S)
        order = {"command": bodies.argv(body), "stdin_b64": bodies.base64_text(body, "stdin_b64")}
        async with faults.refused():
            record = usable(await self.record(request), records.RUNNING)
            trace_id = facts.of(request.scope).trace_id
            return JSONResponse(
                await guest.command(record.address, {**order, "timeout_s": timeout_s}, timeout_s, trace_id)
            )

    async def pause(self, request: Request) -> Response:
        await bodies.document(request)
        async with faults.refused():
            record = usable(await self.record(request), records.RUNNING, records.PAUSED)
            await guest.freeze(record.address, facts.of(request.scope).trace_id)
            moved = await self._moved(record.id, records.PAUSED, (records.RUNNING, records.PAUSED))
            return JSONResponse(moved.public())

    async def delete(self, request: Request) -> Response:
        async with faults.refused():
            record = await self.record(request)
            await self.runtime.stop(record.id)
            await self.table.move(record.id, records.DELETED, origins=records.STATES[:-1])
            return Response(status_code=204)

    async def connect(self, request: Request, receive: Receive, send: Send) -> None:
        """Stream for `hold_s` with the client's lease held all the while; a paused sandbox is woken first.

        The query string may say it as well: proxies made of Go's ReverseProxy may cut a stream that answers a request with
        a body (golang/go#40747)."""
        asked = {**bodies.queried(request, "hold_s"), **await bodies.document(request, "hold_s")}
        hold_s = bodies.seconds(asked, "hold_s", 0, 0, bodies.MAX_HOLD_S)
        known = facts.of(request.scope)
        async with self.admission.client(known, _client_ids(request), activates=False):
            async with faults.refused():
                record = usable(await self.record(request), records.RUNNING, records.PAUSED)
                if record.state == records.PAUSED:
                    await self.admission.activation(known)
                    await guest.thaw(record.address, known.trace_id)
                    record = await self._moved(record.id, records.RUNNING, (records.RUNNING, records.PAUSED))
            first = {"event": "connected", "id": record.id, "state": record.state, "hold_s": hold_s}
            await connection.stream(first, hold_s, self.base.life.closing, receive, send)

    async def record(self, request: Request) -> records.Record:
        """The record of the sandbox in the path, one made without a token; raises Refusal 404."""
        sandbox = request.path_params["sandbox"]
        record = await self.table.get(sandbox, records.NOBODY) if ID.fullmatch(sandbox) else None
        if record is None:
            raise refusals.Refusal(404, "not_found", "no such sandbox")
        facts.of(request.scope).sandbox = record.id
        return record

    async def _created(self, known: facts.Facts, more_tries: int) -> records.Record:
        """A new sandbox that runs. An answer that did not come is not asked for again, for the first write may have been
        done: there are no `more_tries`, unless they are switched on."""
        known.sandbox = sandbox = str(uuid.uuid4())
        client = known.concurrency.client if known.concurrency else concurrency.UNSPECIFIED
        try:
            await self.table.add(sandbox, client, manifest.name(sandbox))
            try:
                address = await self.runtime.start(sandbox)
            except (pods.StartFailed, kube.KubeError):
                await self.table.move(sandbox, records.FAILED, origins=(records.STARTING,))
                raise
            return await self._moved(sandbox, records.RUNNING, (records.STARTING,), address)
        except database.Unavailable:
            if more_tries == 0:
                raise
            return await self._created(known, more_tries - 1)

    async def _moved(
        self, sandbox: str, state: str, origins: tuple[str, ...], address: str | None = None
    ) -> records.Record:
        record = await self.table.move(sandbox, state, origins=origins, address=address)
        if record is None:
            raise refusals.Refusal(409, "sandbox_changed", "another request ended the sandbox meanwhile")
        return record


class Connect:
    """The connect route as an ASGI application, because it answers while its lease is held."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._service.connect(Request(scope, receive), receive, send)


def usable(record: records.Record, *states: str) -> records.Record:
    """The record when its state is one of `states`; raises Refusal 409."""
    if record.state in states:
        return record
    code = f"sandbox_{record.state}"
    raise refusals.Refusal(409, code, f"the sandbox is {record.state}; this needs {' or '.join(states)}")


def _client_ids(request: Request) -> list[str]:
    return request.headers.getlist("x-client-id")
