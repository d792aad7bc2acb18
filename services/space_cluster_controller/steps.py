"""What each kind of operation does. Every kind but a command may be begun again by the next worker and ends the same.

A command may be run once only: that it may have run is recorded before it is sent, and a worker that finds the record
of another does not send it again.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common import kube, mutations, refusals
from fleet import claims, guest, operations, pods, records
from limiters import activation, metrics, store

UNKNOWN = "outcome_unknown"
FILE_LIMIT = 1 << 20  # bytes of a file in a result


@dataclass(frozen=True, slots=True)
class Done:
    """What an operation came to: its result, and the sandbox's new state."""

    result: Mapping[str, Any]
    move: records.Move | None = None


class NotAdmitted(Exception):
    """The activation limiter refuses for `retry_after_ms`."""

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(retry_after_ms)
        self.retry_after_ms = retry_after_ms


@dataclass(slots=True)
class Work:
    """A claimed operation in work. `bound` ends when the claim may be another's; `sent`: its command may have run."""

    operation: operations.Operation
    bound: asyncio.Timeout
    sent: bool = False

    def hold_until(self, moment: float) -> None:
        """The claim was renewed: the work may go on until then, on the loop's clock."""
        if not self.bound.expired():
            self.bound.reschedule(moment)

    def guard(self) -> None:
        """Raise ClaimLost when the claim may be another's by now; for the moment before something is done outside.

        A process that was stopped for a while goes on where it was, before any timer of its own.
        """
        until = self.bound.when()
        if until is not None and asyncio.get_running_loop().time() >= until:
            raise claims.ClaimLost


class Steps:
    """Performs operations. Raises Refusal, StartFailed, KubeError, Unavailable, ClaimLost, NotAdmitted."""

    def __init__(
        self,
        queue: claims.Claims,
        table: records.Records,
        runtime: pods.Runtime,
        limiter: activation.Limiter,
        decisions: metrics.Decisions,
        active: frozenset[str] = frozenset(),
    ) -> None:
        self._claims, self._records, self._runtime = queue, table, runtime
        self._limiter, self._decisions = limiter, decisions
        self._free_resume = mutations.RESUME_DRAWS_NOTHING in active
        self._kinds = {
            operations.CREATE: self._create,
            operations.COMMAND: self._command,
            operations.PAUSE: self._pause,
            operations.RESUME: self._resume,
            operations.DELETE: self._delete,
            operations.FILES_PUT: self._put,
            operations.FILES_GET: self._get,
        }

    async def perform(self, work: Work) -> Done:
        if work.operation.sent and self._claims.fenced:
            raise refusals.Refusal(409, UNKNOWN, "its worker ended after the command was sent; it may have run")
        record = await self._records.get(work.operation.sandbox, work.operation.tenant)
        if record is None:
            raise refusals.Refusal(404, "not_found", "no such sandbox")
        return await self._kinds[work.operation.kind](work, record)

    async def abandon(self, work: Work) -> None:
        """Remove what a failed create may have made, as far as that is possible now."""
        if work.operation.kind == operations.CREATE:
            with contextlib.suppress(kube.KubeError):
                await self._runtime.stop(work.operation.sandbox)

    async def _create(self, work: Work, record: records.Record) -> Done:
        if record.state == records.RUNNING:
            return Done(_state(record, records.RUNNING))
        _usable(record, records.STARTING)
        await self._activate(work)
        work.guard()
        address = await self._runtime.start(record.id)
        move = records.Move(records.RUNNING, (records.STARTING,), address)
        return Done(_state(record, records.RUNNING), move)

    async def _command(self, work: Work, record: records.Record) -> Done:
        _usable(record, records.RUNNING)
        await self._claims.sent(work.operation)
        work.guard()
        work.sent = True
        order = work.operation.request
        timeout_s = float(order["timeout_s"])
        return Done(await guest.command(record.address, dict(order), timeout_s, work.operation.trace_id))

    async def _pause(self, work: Work, record: records.Record) -> Done:
        _usable(record, records.RUNNING, records.PAUSED)
        work.guard()
        await guest.freeze(record.address, work.operation.trace_id)
        return Done(_state(record, records.PAUSED), records.Move(records.PAUSED, (records.RUNNING, records.PAUSED)))

    async def _resume(self, work: Work, record: records.Record) -> Done:
        _usable(record, records.RUNNING, records.PAUSED)
        if record.state == records.PAUSED:
            if not self._free_resume:
                await self._activate(work)
            work.guard()
            await guest.thaw(record.address, work.operation.trace_id)
        return Done(_state(record, records.RUNNING), records.Move(records.RUNNING, (records.RUNNING, records.PAUSED)))

    async def _delete(self, work: Work, record: records.Record) -> Done:
        work.guard()
        await self._runtime.stop(record.id)
        return Done(_state(record, records.DELETED), records.Move(records.DELETED, records.STATES))

    async def _put(self, work: Work, record: records.Record) -> Done:
        _usable(record, records.RUNNING)
        data = base64.b64decode(work.operation.request["content_b64"])
        work.guard()
        return Done(await guest.put(record.address, work.operation.request["path"], data, work.operation.trace_id))

    async def _get(self, work: Work, record: records.Record) -> Done:
        _usable(record, records.RUNNING)
        path = work.operation.request["path"]
        data = await guest.get(record.address, path, work.operation.trace_id)
        if len(data) > FILE_LIMIT:
            raise refusals.Refusal(413, "too_large", f"a file in a result has at most {FILE_LIMIT} bytes")
        return Done({"path": path, "size": len(data), "content_b64": base64.b64encode(data).decode()})

    async def _activate(self, work: Work) -> None:
        """Take a token for this operation, unless it has had one."""
        if work.operation.activated:
            return
        started = time.monotonic()
        made = await self._limiter.decide(store.Budget())
        self._decisions.activation(made, time.monotonic() - started)
        told = {"outcome": made.outcome, "reason": made.reason, "retry_after_ms": made.retry_after_ms}
        await self._claims.decided(work.operation, made.admitted, told)
        if not made.admitted:
            raise NotAdmitted(made.retry_after_ms)


def _state(record: records.Record, state: str) -> dict[str, str]:
    return {"id": record.id, "state": state}


def _usable(record: records.Record, *states: str) -> None:
    """Raise Refusal 409 unless the record's state is one of `states`."""
    if record.state not in states:
        message = f"the sandbox is {record.state}; this needs {' or '.join(states)}"
        raise refusals.Refusal(409, f"sandbox_{record.state}", message)
