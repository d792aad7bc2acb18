"""Putting one fault back: restore, verify, clear; and all of them, last raised first.

The recorded value is written, never the current one or a chart's default, and only while the field holds our fault
value. Already standing: verify and clear. Anything else is somebody else's change: reported as drifted, not overwritten.
One failure never stops the others.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.lease import held as holding
from space_smoke.lease import outside, targets, view
from space_smoke.model import effect, kinds, objects, record

_ATTEMPTS = 6
SETTLE_S = 90.0
# What a kind may stumble over in a record that is well-formed and means nothing: one fault's trouble, not the others'.
_NONSENSE = (LookupError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True)
class Restored:
    """`ok`: standing, verified and cleared. Otherwise `error` says what stands in the way; the record is kept."""

    record: record.Record
    ok: bool
    error: str = ""


def restore(held: holding.Held, fault_id: str, told: str, **more: Any) -> view.Steps[Restored]:
    """One fault. `told` names the event to tell on success (fault-restored, repaired), `more` goes into it.

    Raises LeaseLost. Every other failure is returned, with the record kept on the Lease at stage failed or drifted.
    """
    item = held.records[fault_id]
    started: effect.Instant = yield effect.Boottime()
    try:
        kind = _kind(held, item)
        item = item.at("restoring", tried=True)
        yield from targets.certain(held)
        gone = yield from _write_back(held, kind, item)
        if not gone:
            yield from _settled(kind, item)
        yield from holding.renew(held, "clear", clear=fault_id)
    except (errors.BenchError, kinds.Unfit, Drifted, *_NONSENSE) as error:
        stage: record.Stage = "drifted" if isinstance(error, Drifted) else "failed"
        sentence = str(error).splitlines()[0] if str(error) else type(error).__name__
        if isinstance(error, _NONSENSE):
            sentence = f"its record makes no sense to kind {item.kind}: {type(error).__name__}: {sentence}"
        yield from _keep(held, item.at(stage, error=sentence))
        return Restored(item, False, sentence)
    ended: effect.Instant = yield effect.Boottime()
    yield effect.Tell(
        told,
        {
            "fault": item.name,
            "kind": item.kind,
            "target": str(item.target),
            "domain": held.domain,
            "value": kind.describe(item.fault),
            "standing": "target gone" if gone else kind.describe(item.standing) if kind.reversible else kind.waits_for,
            "seconds": round(ended.seconds - started.seconds, 3),
            **more,
        },
    )
    return Restored(item, True)


def restore_all(held: holding.Held, told: str, **more: Any) -> view.Steps[list[Restored]]:
    """Every open fault, the last raised first. Raises LeaseLost; other failures are in the result."""
    results = []
    for item in sorted(held.records.values(), key=lambda r: (r.order, r.fault_id), reverse=True):
        results.append((yield from restore(held, item.fault_id, told, **more)))
    return results


class Drifted(Exception):
    """The field holds neither the fault value nor the standing one."""


def _write_back(held: holding.Held, kind: kinds.FaultKind, item: record.Record) -> view.Steps[bool]:
    """Writes the standing value where the field holds our fault value. True: the target is gone, and the fault with it;
    what bears its name now is another object, whose values are its own unless they are our fault's.

    The Lease is renewed between stamp and write: a fence number alone does not tell our Lease from one made anew.
    """
    last = ""
    for _ in range(_ATTEMPTS):
        thing = yield from targets.stamp(held, item.target)
        if thing is None:
            return True
        thing = yield from outside.claimed(held, kind, item.field, thing)
        now = kind.read(thing, item.field)
        marked = item.key in objects.annotations_of(thing)
        replaced = objects.ref_of(thing).uid != item.target.uid
        other = now not in (item.fault, item.standing)
        if other and not replaced and kind.reversible:
            raise Drifted(
                f"{item.target} holds {kind.describe(now)}, neither the fault's {kind.describe(item.fault)} nor the "
                f"standing {kind.describe(item.standing)}: somebody else changed it, so it was not overwritten"
            )
        if kind.outside and kind.reversible and now == item.fault:
            yield from holding.renew(held, "restoring", item)
            reply = yield from outside.alter(held, kind, item, now, item.standing, "restore")
            if not isinstance(reply, effect.Done):
                last = reply.message
                yield from targets.certain(held)
                continue
        operations = list(kind.write(thing, item.field, item.standing)) if now == item.fault else []
        if marked:
            operations.append(objects.drop("metadata", "annotations", item.key))
        if not operations:
            return other and replaced
        yield from holding.renew(held, "restoring", item)
        reply = yield from targets.write(held, thing, operations, "restore")
        if isinstance(reply, effect.Done):
            return other and replaced
        last = reply.message
        yield from targets.certain(held)
    raise errors.ApiError(f"{item.target} could not be restored in {_ATTEMPTS} tries: {last}", status=0)


def _settled(kind: kinds.FaultKind, item: record.Record) -> view.Steps[None]:
    ref = objects.Ref(*item.target.where())
    reply = yield effect.Settle(ref, item.kind, item.field, item.standing, SETTLE_S)
    if isinstance(reply, effect.Late):
        raise errors.WaitFailed(f"{item.target} did not come back in {SETTLE_S:.0f} s: {reply.last}", last=reply.last)
    back = kind.read(reply.thing, item.field)
    if back != item.standing and kind.reversible:
        raise Drifted(f"{item.target} settled at {kind.describe(back)}, not at {kind.describe(item.standing)}")


def _kind(held: holding.Held, item: record.Record) -> kinds.FaultKind:
    if item.cluster and item.cluster != held.cluster:
        raise errors.BenchError(f"the record of {item.name} belongs to another cluster ({item.cluster})")
    if item.kind not in held.kinds:
        raise errors.BenchError(f"the record of {item.name} is of kind {item.kind!r}, which this version does not know")
    return held.kinds[item.kind]


def _keep(held: holding.Held, item: record.Record) -> view.Steps[None]:
    with contextlib.suppress(errors.ApiError):  # the record is on the Lease already; only this note would be missing
        yield from holding.renew(held, "keep", item)
    yield effect.Tell("fault-kept", {"fault": item.name, "domain": held.domain, "error": item.last_error})
