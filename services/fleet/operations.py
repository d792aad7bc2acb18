"""The queue of native operations as its clients see it: put in once per idempotency key, looked up by id.

An acknowledged operation is committed. Whoever did not get the answer asks again with the same key and gets the same
operation; workers are woken by NOTIFY in the same transaction.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common import database, mutations
from fleet import manifest, records

CREATE, COMMAND, PAUSE, RESUME, DELETE = "create", "command", "pause", "resume", "delete"
FILES_PUT, FILES_GET = "files.put", "files.get"
KINDS = (CREATE, COMMAND, PAUSE, RESUME, DELETE, FILES_PUT, FILES_GET)
QUEUED, RUNNING, SUCCEEDED, FAILED = "queued", "running", "succeeded", "failed"
CHANNEL = "space_operations"
CLIENT = "native"  # what stands in a record where ECW has the client's name

COLUMNS = (
    "id::text, tenant, kind, sandbox::text, request, trace_id, state, attempt, sent, activated, activation, refusals,"
    " returns, not_before, result, error, created_at, updated_at"
)
_INSERT = (
    "INSERT INTO operations (id, tenant, idempotency_key, kind, sandbox, request, trace_id)"  # noqa: S608 - constants only
    f" VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, idempotency_key) DO NOTHING RETURNING {COLUMNS}"
)
_BY_KEY = f"SELECT {COLUMNS} FROM operations WHERE tenant = %s AND idempotency_key = %s"  # noqa: S608 - constants only
_BY_ID = f"SELECT {COLUMNS} FROM operations WHERE id = %s AND "  # noqa: S608 - constants only
_KNOWN = "SELECT id::text FROM sandboxes WHERE id = %s AND "
_OWN, _ANYBODYS = "tenant = %s", "%s::text <> ''"


class KeyReused(Exception):
    """The tenant's idempotency key stands for another request."""


class UnknownSandbox(Exception):
    """The tenant has no such sandbox."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `attempt` counts claims and fences them; `sent`: its command may have run; `activated`: its
    activation was admitted; `refusals` and `returns` count how often it was put back for want of one, or of an answer."""

    id: str
    tenant: str
    kind: str
    sandbox: str
    request: Mapping[str, Any]
    trace_id: str
    state: str
    attempt: int
    sent: bool
    activated: bool
    activation: Mapping[str, Any] | None
    refusals: int
    returns: int
    not_before: datetime.datetime
    result: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    created_at: datetime.datetime
    updated_at: datetime.datetime

    def accepted(self) -> dict[str, str]:
        """What the one who puts it in is told."""
        return {"id": self.id, "kind": self.kind, "sandbox": self.sandbox, "state": self.state}

    def public(self) -> dict[str, object]:
        return {
            **self.accepted(),
            "attempt": self.attempt,
            "refusals": self.refusals,
            "not_before": self.not_before.isoformat(),
            "activation": self.activation,
            "result": self.result,
            "error": self.error,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Order:
    """What a client asks for. `sandbox` is "" for a create; `key` "" for an order that is never asked again."""

    kind: str
    sandbox: str
    request: Mapping[str, Any]
    key: str = ""


class Operations:
    """The queue's front."""

    def __init__(self, shared: database.Database, active: frozenset[str] = frozenset()) -> None:
        self._database = shared
        self._keyed = mutations.IDEMPOTENCY_IGNORED not in active
        self._owner = _ANYBODYS if mutations.TENANT_NOT_CHECKED in active else _OWN

    async def put(self, tenant: str, order: Order, trace_id: str) -> Operation:
        """Queue the order, or find the operation that it is by its key. Raises KeyReused, UnknownSandbox, Unavailable."""
        created = order.kind == CREATE
        sandbox = str(uuid.uuid4()) if created else order.sandbox
        values = (
            str(uuid.uuid4()),
            tenant,
            (order.key or None) if self._keyed else None,
            order.kind,
            sandbox,
            json.dumps(order.request),
            trace_id,
        )
        async with self._database.transaction() as session:
            if not created and not await session.query(_Id, _KNOWN + self._owner, (sandbox, tenant)):
                raise UnknownSandbox
            while not (made := await session.query(Operation, _INSERT, values)):
                # None here: the one whose key it was finished long ago and has been removed just now.
                if earlier := await session.query(Operation, _BY_KEY, (tenant, order.key)):
                    return _repeated(earlier[0], order)
            if created:
                await records.insert(session, sandbox, CLIENT, manifest.name(sandbox), tenant)
            await session.execute("SELECT pg_notify(%s, '')", (CHANNEL,))
            return made[0]

    async def get(self, operation: str, tenant: str) -> Operation | None:
        found = await self._database.query(Operation, _BY_ID + self._owner, (operation, tenant))
        return found[0] if found else None


def _repeated(earlier: Operation, order: Order) -> Operation:
    """The operation that this order is, by its key; raises KeyReused."""
    same = (earlier.kind, earlier.request) == (order.kind, order.request)
    if not same or (order.kind != CREATE and earlier.sandbox != order.sandbox):
        raise KeyReused
    return earlier


@dataclass(frozen=True, slots=True)
class _Id:
    id: str
