"""Raising one fault: record, stamp, renew, change, verify, mark.

The record is durable before anything of the target changes. The change is one patch that tests uid and fence, sets the
field and leaves a copy of the record on the target, so that a deleted Lease loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.lease import acquire, outside, targets, view
from space_smoke.lease import held as holding
from space_smoke.model import effect, kinds, objects, record

_ATTEMPTS = 6
SETTLE_S = 90.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A fault to be raised, its target already looked up by name."""

    name: str
    kind: kinds.FaultKind
    target: objects.Ref
    arguments: Mapping[str, Any]
    run: str


def inject(held: holding.Held, wanted: Wanted) -> view.Steps[record.Record]:
    """Raises Unfit (the target cannot carry it), Refused (a fault is up on that field), LeaseLost, BenchError."""
    started: effect.Instant = yield effect.Boottime()
    try:
        item = yield from _planned(held, wanted)
    except (kinds.Unfit, errors.Refused):
        yield from holding.renew(held, "renew")  # what was read may be a successor's fault: then the Lease is lost
        raise
    yield from holding.renew(held, "record", item)
    yield effect.Tell("fault-planned", described(held, wanted.kind, item))
    thing = yield from targets.stamped(held, item.target)
    item = item.at("injecting")
    yield from holding.renew(held, "renew", item)
    yield from (outside.change if wanted.kind.outside else _change)(held, wanted.kind, item, thing)
    yield from _settle(wanted.kind, item)
    item = item.at("up")
    yield from holding.renew(held, "mark-up", item)
    ended: effect.Instant = yield effect.Boottime()
    seconds = round(ended.seconds - started.seconds, 3)
    yield effect.Tell("fault-up", {**described(held, wanted.kind, item), "seconds": seconds})
    return item


def described(held: holding.Held, kind: kinds.FaultKind, item: record.Record) -> dict[str, Any]:
    return {
        "fault": item.name,
        "kind": item.kind,
        "target": str(item.target),
        "domain": held.domain,
        "standing": kind.describe(item.standing),
        "value": kind.describe(item.fault),
    }


def _planned(held: holding.Held, wanted: Wanted) -> view.Steps[record.Record]:
    """The record of the fault, from one consistent read of the target."""
    reply = yield from acquire.asked(effect.Get(wanted.target))
    if not isinstance(reply, effect.Done):
        raise errors.ApiError(f"fault {wanted.name}: {wanted.target} could not be read: {reply.message}", status=0)
    field, thing = yield from outside.sensed(
        wanted.kind, wanted.kind.address(wanted.arguments, reply.thing), reply.thing, wanted.name
    )
    standing = wanted.kind.read(thing, field)
    value = wanted.kind.wanted(wanted.arguments, field)
    if standing == value:
        raise kinds.Unfit(
            f"fault {wanted.name} would change nothing: {wanted.target} already has {wanted.kind.describe(value)}"
        )
    fresh: effect.Text = yield effect.Fresh()
    item = record.Record(
        fault_id=fresh.value,
        name=wanted.name,
        run=wanted.run,
        kind=wanted.kind.name,
        target=objects.ref_of(reply.thing),
        field=field,
        standing=standing,
        fault=value,
        fence=held.fence,
        order=held.next_order,
        cluster=held.cluster,
    )
    _refuse_double(held, item)
    size = objects.size_of({**objects.annotations_of(reply.thing), item.key: record.encode(item.at("injecting"))})
    if size + record.GROWTH_BYTES > view.ANNOTATION_BYTES:
        raise kinds.Unfit(f"fault {wanted.name}: the annotations of {wanted.target} would be {size} bytes, too many")
    return item


def _refuse_double(held: holding.Held, item: record.Record) -> None:
    """A second fault on a field would record the first one's value as standing."""
    for other in held.records.values():
        if other.kind == item.kind and other.target.where() == item.target.where():
            raise errors.Refused(
                f"fault {item.name} was not raised: {other.name} (run {other.run}) is already up on {item.target}",
                next_step="space_smoke repair",
            )


def _change(held: holding.Held, kind: kinds.FaultKind, item: record.Record, thing: objects.Object) -> view.Steps[None]:
    """`thing` is the target as stamped, after which the Lease was renewed: so it is at each attempt, because a fence
    number alone does not tell our Lease from one that was made anew."""
    last = ""
    for _ in range(_ATTEMPTS):
        if objects.ref_of(thing).uid != item.target.uid:
            raise errors.BenchError(f"fault {item.name}: {item.target} was replaced while the fault was being raised")
        if kind.read(thing, item.field) != item.standing:
            yield from holding.renew(held, "clear", clear=item.fault_id)  # nothing of ours is there, nor can it come
            raise errors.BenchError(f"fault {item.name}: {item.target} changed while the fault was being raised")
        copy = objects.put_metadata(thing, "annotations", {item.key: record.encode(item)})
        operations = [*kind.write(thing, item.field, item.fault), *copy]
        reply = yield from targets.write(held, thing, operations, "inject")
        if isinstance(reply, effect.Done):
            if kind.read(reply.thing, item.field) != item.fault:
                raise errors.BenchError(f"fault {item.name}: the API server accepted it but {item.target} is unchanged")
            return
        last = reply.message
        # Not done, or not known: make sure that this attempt can no longer land, then look what is there.
        yield from targets.certain(held)
        thing = yield from targets.stamped(held, item.target)
        if item.key in objects.annotations_of(thing):
            return
        yield from holding.renew(held, "renew")
    raise errors.ApiError(f"fault {item.name} could not be raised on {item.target}: {last}", status=0)


def _settle(kind: kinds.FaultKind, item: record.Record) -> view.Steps[None]:
    reply = yield effect.Settle(item.target, item.kind, item.field, item.fault, SETTLE_S)
    if isinstance(reply, effect.Late):
        raise errors.WaitFailed(
            f"fault {item.name} had not taken effect on {item.target} after {SETTLE_S:.0f} s: {reply.last}",
            last=reply.last,
        )
    if kind.read(reply.thing, item.field) != item.fault:
        raise errors.BenchError(f"fault {item.name} is gone from {item.target}: somebody else changed it meanwhile")
