"""The queue of native operations as its workers see it.

A worker claims one operation at a time for a while and renews the claim while it works. Each claim has the operation's
next attempt number, and every later write names it: once another worker has taken an expired claim over, whatever the
first still writes is refused. Time is the database's, which all workers share.

An operation waits for every earlier unfinished one of its sandbox, except commands that already run: these may take
minutes, and a pause is there to stop them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common import database, mutations
from fleet import operations, records

_CLAIM = (
    "UPDATE operations SET state = 'running', attempt = attempt + 1, worker = %(worker)s, updated_at = now(),"  # noqa: S608
    " claimed_until = now() + make_interval(secs => %(lease_s)s)"
    " WHERE id = (SELECT due.id FROM operations AS due WHERE due.kind = ANY(%(kinds)s)"
    "  AND (due.state = 'queued' AND due.not_before <= now() OR due.state = 'running' AND due.claimed_until <= now())"
    "  AND NOT EXISTS (SELECT FROM operations AS earlier WHERE earlier.sandbox = due.sandbox AND earlier.seq < due.seq"
    "   AND (earlier.state = 'queued' OR earlier.state = 'running' AND earlier.kind <> 'command'))"
    "  ORDER BY due.seq LIMIT 1 FOR UPDATE OF due SKIP LOCKED)"
    f" RETURNING {operations.COLUMNS}"
)
_OURS = " WHERE id = %(id)s AND attempt = %(attempt)s AND state = 'running' RETURNING id::text"
_ANYBODYS = " WHERE id = %(id)s AND %(attempt)s > 0 RETURNING id::text"
_RENEW = "UPDATE operations SET claimed_until = now() + make_interval(secs => %(lease_s)s)"
_SENT = "UPDATE operations SET sent = true, updated_at = now()"
_DECIDED = "UPDATE operations SET activated = %(admitted)s, activation = %(activation)s, updated_at = now()"
_BACK = (
    "UPDATE operations SET state = 'queued', claimed_until = NULL, updated_at = now(),"
    " not_before = now() + make_interval(secs => %(delay_s)s),"
    " refusals = refusals + %(refused)s, returns = returns + %(returned)s"
)
_FINISH = (
    "UPDATE operations SET state = %(state)s, result = %(result)s, error = %(error)s, claimed_until = NULL,"
    " updated_at = now()"
)
# Materialized: as a plain subquery the choice may be made anew for each row, and more than `limit` rows be removed.
_PRUNE = (
    "WITH old AS MATERIALIZED (SELECT id FROM operations WHERE state IN ('succeeded', 'failed')"
    "  AND updated_at < now() - make_interval(secs => %(keep_s)s)"
    "  ORDER BY updated_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)"
    " DELETE FROM operations USING old WHERE operations.id = old.id RETURNING operations.id::text"
)


class ClaimLost(Exception):
    """The operation is another worker's, or finished; nothing was written."""


class SandboxChanged(Exception):
    """The sandbox is in none of the states that the result speaks of; nothing was written."""


@dataclass(frozen=True, slots=True)
class _Id:
    id: str


class Claims:
    """The queue's back. Every write on a claim raises ClaimLost when the claim is not the newest, and Unavailable."""

    def __init__(
        self, shared: database.Database, worker: str, lease_s: float, active: frozenset[str] = frozenset()
    ) -> None:
        self._database, self._worker, self.lease_s = shared, worker, lease_s
        self.fenced = mutations.OPERATION_RUN_TWICE not in active
        self._where = _OURS if self.fenced else _ANYBODYS

    async def claim(self, kinds: Sequence[str] = operations.KINDS) -> operations.Operation | None:
        """The oldest operation that may run now, claimed for `lease_s` seconds; None when there is none."""
        values = {"worker": self._worker, "lease_s": self.lease_s, "kinds": list(kinds)}
        found = await self._database.query(operations.Operation, _CLAIM, values)
        return found[0] if found else None

    async def renew(self, claimed: operations.Operation) -> None:
        """Hold the claim for `lease_s` seconds from now."""
        await self._write(claimed, _RENEW, lease_s=self.lease_s)

    async def sent(self, claimed: operations.Operation) -> None:
        """Note that from now on the command may have run."""
        await self._write(claimed, _SENT)

    async def decided(self, claimed: operations.Operation, admitted: bool, activation: Mapping[str, Any]) -> None:
        """Note the activation decision; one that admitted is not asked for again."""
        await self._write(claimed, _DECIDED, admitted=admitted, activation=json.dumps(activation))

    async def back(
        self, claimed: operations.Operation, delay_s: float, *, refused: bool = False, returned: bool = False
    ) -> None:
        """Put it back into the queue, to be claimed in `delay_s` seconds or later."""
        await self._write(claimed, _BACK, delay_s=delay_s, refused=int(refused), returned=int(returned))

    async def succeed(
        self, claimed: operations.Operation, result: Mapping[str, Any], move: records.Move | None = None
    ) -> None:
        """Record the result, and the sandbox's new state with it or not at all. Raises SandboxChanged too."""
        await self._finish(claimed, operations.SUCCEEDED, move, result=json.dumps(result), error=None)

    async def fail(
        self, claimed: operations.Operation, code: str, message: str, move: records.Move | None = None
    ) -> None:
        """Record the failure, with a machine code."""
        # JSON in Postgres cannot hold NUL, and a message may quote what somebody sent.
        error = json.dumps({"code": code, "message": message.replace("\0", "")[:2000]})
        await self._finish(claimed, operations.FAILED, move, result=None, error=error)

    async def prune(self, keep_s: float, limit: int) -> int:
        """Remove up to `limit` operations that finished more than `keep_s` seconds ago, the oldest first; how many went.

        Once it is gone an operation's idempotency key stands for nothing any more. Again, or twice at once, is harmless.
        """
        return len(await self._database.query(_Id, _PRUNE, {"keep_s": keep_s, "limit": limit}))

    async def _finish(
        self, claimed: operations.Operation, state: str, move: records.Move | None, **values: str | None
    ) -> None:
        async with self._database.transaction() as session:
            await self._written(session, claimed, _FINISH, {"state": state, **values})
            moved = await records.move(session, claimed.sandbox, move) if move else None
            if move and not moved and state == operations.SUCCEEDED:
                raise SandboxChanged

    async def _write(self, claimed: operations.Operation, statement: str, **values: object) -> None:
        async with self._database.session() as session:
            await self._written(session, claimed, statement, values)

    async def _written(
        self, session: database.Session, claimed: operations.Operation, statement: str, values: Mapping[str, object]
    ) -> None:
        named = {"id": claimed.id, "attempt": claimed.attempt, **values}
        if not await session.query(_Id, statement + self._where, named):
            raise ClaimLost
