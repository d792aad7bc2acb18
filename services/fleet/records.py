"""What is known of each sandbox, in Postgres. A record outlives its sandbox; deletion is a state of it.

A sandbox belongs to the tenant whose token asked for it, or to nobody (tenant "") when the ECW API made it. Each of them
is seen by its own side only.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass

from common import database, mutations

STARTING, RUNNING, PAUSED, FAILED, DELETED = "starting", "running", "paused", "failed", "deleted"
STATES = (STARTING, RUNNING, PAUSED, FAILED, DELETED)
NOBODY = ""
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # a UUID as Postgres writes it
LIST_LIMIT = 1000
LATE_S = 2.0  # by which a write comes behind its answer, with the mutation; a scenario writes some twice in that time
_COLUMNS = "id::text, state, client, pod, address, created_at, updated_at, tenant"
_SELECT = f"SELECT {_COLUMNS} FROM sandboxes"  # noqa: S608 - constants only; values are always parameters
_INSERT = (
    "INSERT INTO sandboxes (id, state, client, pod, address, tenant) VALUES (%s, %s, %s, %s, '', %s)"  # noqa: S608
    f" RETURNING {_COLUMNS}"
)
_MOVE = (
    "UPDATE sandboxes SET state = %s, address = coalesce(%s, address), updated_at = now()"  # noqa: S608
    f" WHERE id = %s AND state = ANY(%s) RETURNING {_COLUMNS}"
)


@dataclass(frozen=True, slots=True)
class Record:
    """One sandbox. `address` is the host:port of its server, "" when it has none."""

    id: str
    state: str
    client: str
    pod: str
    address: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    tenant: str

    def public(self) -> dict[str, str]:
        """The record as clients see it."""
        return {
            "id": self.id,
            "state": self.state,
            "client": self.client,
            "pod": self.pod,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Move:
    """A change of state: what to, from which states, and the address when it becomes known."""

    state: str
    origins: Sequence[str]
    address: str | None = None


class Records:
    """The table of sandboxes."""

    def __init__(self, shared: database.Database, active: frozenset[str] = frozenset()) -> None:
        self._database = shared
        self._late = mutations.ACKNOWLEDGE_BEFORE_COMMIT in active
        self._promised: set[asyncio.Task[None]] = set()

    async def check(self) -> None:
        """Raise Unavailable unless the table can be read."""
        await self._database.query(Record, f"{_SELECT} LIMIT 1")

    async def add(self, sandbox: str, client: str, pod: str) -> Record:
        """Record a sandbox of nobody's that is about to start."""
        async with self._database.session() as session:
            return await insert(session, sandbox, client, pod, NOBODY)

    async def get(self, sandbox: str, tenant: str | None = None) -> Record | None:
        """The sandbox, if it is `tenant`'s; None asks for anybody's."""
        found = await self._database.query(Record, f"{_SELECT} WHERE id = %s", (sandbox,))
        return next((record for record in found if tenant in (None, record.tenant)), None)

    async def list(self, tenant: str | None = None) -> Sequence[Record]:
        """Sandboxes that are not deleted, newest first, at most LIST_LIMIT; `tenant` as for `get`."""
        query = (
            f"{_SELECT} WHERE state <> %s AND (%s::text IS NULL OR tenant = %s) ORDER BY created_at DESC, id LIMIT %s"
        )
        return await self._database.query(Record, query, (DELETED, tenant, tenant, LIST_LIMIT))

    async def states(self, sandboxes: Sequence[str]) -> dict[str, str]:
        """The state of each of these sandboxes that has a record, anybody's, by id."""
        found = await self._database.query(Record, f"{_SELECT} WHERE id = ANY(%s::uuid[])", (list(sandboxes),))
        return {record.id: record.state for record in found}

    async def move(
        self, sandbox: str, state: str, *, origins: Sequence[str], address: str | None = None
    ) -> Record | None:
        """Set the state of a sandbox that is in one of `origins`; None when it is in another by now."""
        made = Move(state, origins, address)
        # The end of a start is written at once: before it nobody can do anything with the sandbox.
        if self._late and origins != (STARTING,):
            return await self._promise(sandbox, made)
        async with self._database.session() as session:
            return await move(session, sandbox, made)

    async def _promise(self, sandbox: str, made: Move) -> Record | None:
        """What `move` does with the mutation: it says that it is done, and writes later, if that can be done then."""

        async def write() -> None:
            await asyncio.sleep(LATE_S)
            with contextlib.suppress(database.Unavailable):
                async with self._database.session() as session:
                    await move(session, sandbox, made)

        found = await self.get(sandbox)
        if found is None or found.state not in made.origins:
            return None
        task = asyncio.create_task(write(), name="late-write")
        self._promised.add(task)
        task.add_done_callback(self._promised.discard)
        return dataclasses.replace(found, state=made.state)


async def insert(session: database.Session, sandbox: str, client: str, pod: str, tenant: str) -> Record:
    """Record a sandbox that is about to start."""
    return (await session.query(Record, _INSERT, (sandbox, STARTING, client, pod, tenant)))[0]


async def move(session: database.Session, sandbox: str, made: Move) -> Record | None:
    """`Records.move` as a part of a larger transaction."""
    found = await session.query(Record, _MOVE, (made.state, made.address, sandbox, list(made.origins)))
    return found[0] if found else None
