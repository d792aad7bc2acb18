"""Faults whose value lies outside of the API server: in Redis, in Postgres, in a node, in Helm's own store.

The target is the Kubernetes object that they belong to: it carries the record and the fence, as for every other fault.
The place outside keeps a fence of its own, raised by a claim after the target was stamped, and each change there tests it
in the same step: what a successor has claimed, a stale runner cannot change. A change that was sent has a record, so
whoever comes next claims that place before it looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke import errors
from space_smoke.lease import held as holding
from space_smoke.lease import targets, view
from space_smoke.model import effect, kinds, objects, record

_ATTEMPTS = 6


def sensed(
    kind: kinds.FaultKind, field: Mapping[str, Any], thing: objects.Object, name: str
) -> view.Steps[tuple[Mapping[str, Any], objects.Object]]:
    """The field's address, completed, and the target with the value outside; both as they are for any other kind.

    Raises Unfit (this target cannot carry the fault) or ApiError.
    """
    if not kind.outside:
        return field, thing
    last = ""
    for _ in range(_ATTEMPTS):
        reply = yield effect.Sense(kind.name, objects.ref_of(thing), field)
        if isinstance(reply, effect.Done):
            return reply.thing["field"], {**thing, kinds.OUTSIDE: reply.thing["value"]}
        if isinstance(reply, effect.No) and reply.status == 422:
            raise kinds.Unfit(f"fault {name}: {reply.message}")
        last = reply.message
    raise errors.ApiError(
        f"fault {name}: what it changes on {objects.ref_of(thing)} could not be read: {last}", status=0
    )


def claimed(
    held: holding.Held, kind: kinds.FaultKind, field: Mapping[str, Any], thing: objects.Object
) -> view.Steps[objects.Object]:
    """The stamped target with the value outside, read after our fence was put there; the target itself for other kinds.

    A claim without an answer is in doubt like any write: it could bring our number back to a place that has lost its
    fence by a restart. So the next one bears a higher number, and what changes the value bears that of a claim which was
    answered. A higher fence there is no successor's if the Lease can still be renewed (an older Lease was deleted
    together with its targets' stamps): then our own is raised above it.
    """
    if not kind.outside:
        return thing
    last = ""
    for _ in range(_ATTEMPTS):
        now: effect.Instant = yield effect.Boottime()
        left_s = holding.tenure_left(held, now.seconds)
        doubt_before, held.in_doubt = held.in_doubt, True  # as in targets.write
        reply = yield effect.Claim(
            kind.name, objects.ref_of(thing), field, held.domain, held.fence, min(view.REQUEST_S, left_s)
        )
        held.in_doubt = doubt_before or isinstance(reply, effect.Lost)
        if isinstance(reply, effect.Done):
            return {**thing, kinds.OUTSIDE: reply.thing["value"]}
        if isinstance(reply, effect.No) and reply.status == 409:
            above = int(reply.message) if reply.message.isdecimal() else held.fence
            yield from holding.renew(held, "raise-fence", fence=above + 1)
        last = reply.message
        yield from targets.certain(held)
        thing = yield from targets.stamped(held, objects.ref_of(thing))
        yield from holding.renew(held, "renew")  # what is written next relies on this stamp
    raise errors.ApiError(f"what {kind.name} changes on {objects.ref_of(thing)} cannot be reached: {last}", status=0)


def alter(
    held: holding.Held,
    kind: kinds.FaultKind,
    item: record.Record,
    before: objects.Json,
    after: objects.Json,
    purpose: str,
) -> view.Steps[effect.Done | effect.No | effect.Lost]:
    """One change of the value outside, guarded by our fence there and bounded by what is left of our tenure."""
    now: effect.Instant = yield effect.Boottime()
    left_s = holding.tenure_left(held, now.seconds)
    doubt_before, held.in_doubt = held.in_doubt, True  # as in targets.write
    reply: effect.Done | effect.No | effect.Lost = yield effect.Alter(
        kind.name,
        objects.Ref(*item.target.where()),
        item.field,
        held.domain,
        held.fence,
        before,
        after,
        purpose,
        min(kind.takes_s or view.REQUEST_S, left_s),
    )
    held.in_doubt = doubt_before or isinstance(reply, effect.Lost)
    return reply


def change(held: holding.Held, kind: kinds.FaultKind, item: record.Record, thing: objects.Object) -> view.Steps[None]:
    """Raises the fault: claim, a copy of the record on the target, then the value outside. `thing` is the target as
    stamped, after which the Lease was renewed: so it is at each attempt (see inject)."""
    last = ""
    for _ in range(_ATTEMPTS):
        thing = yield from claimed(held, kind, item.field, thing)
        if objects.ref_of(thing).uid != item.target.uid:
            raise errors.BenchError(f"fault {item.name}: {item.target} was replaced while the fault was being raised")
        value = kind.read(thing, item.field)
        noted = item.key in objects.annotations_of(thing)
        if noted and value == item.fault:
            return
        if value != item.standing:
            if not noted:  # nothing of ours is there, nor can it come
                yield from holding.renew(held, "clear", clear=item.fault_id)
            raise errors.BenchError(f"fault {item.name}: {item.target} changed while the fault was being raised")
        reply: effect.Done | effect.No | effect.Lost = effect.Done(thing)
        if not noted:
            copy = objects.put_metadata(thing, "annotations", {item.key: record.encode(item)})
            reply = yield from targets.write(held, thing, copy, "inject")
        if isinstance(reply, effect.Done):
            yield from holding.renew(held, "renew")
            reply = yield from alter(held, kind, item, value, item.fault, "act")
            if isinstance(reply, effect.Done):
                return
        last = reply.message
        yield from targets.certain(held)
        thing = yield from targets.stamped(held, item.target)
        yield from holding.renew(held, "renew")
    raise errors.ApiError(f"fault {item.name} could not be raised on {item.target}: {last}", status=0)
