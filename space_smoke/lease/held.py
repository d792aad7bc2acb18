"""A Lease in our hands, and the one write that everything under it starts with: the guarded renewal.

The renewal is a single JSON Patch that tests uid, resourceVersion and holder, and may set or clear records in the same
call. 404, 409 and 422 all mean "not proven mine": stop, read again, and decide by the nonce of the attempt whether it was
our own write, somebody else's touch of the Lease (adopt and go on), or a successor (lost).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from space_smoke import errors
from space_smoke.lease import view
from space_smoke.model import effect, kinds, objects, record

_ATTEMPTS = 6
NOTHING: Mapping[str, str] = {}


@dataclass(slots=True)
class Held:
    """Our tenure of one domain. `renewed_at` is the boottime at the *start* of the last renewal that succeeded."""

    domain: str
    ref: objects.Ref
    version: str
    holder: str
    info: dict[str, Any]
    fence: int
    renewed_at: float
    kinds: Mapping[str, kinds.FaultKind]
    cluster: str
    notes: dict[str, str]
    finalizers: list[str]
    records: dict[str, record.Record] = field(default_factory=dict)
    unreadable: tuple[record.Unreadable, ...] = ()
    next_order: int = 0
    doomed: bool = False  # somebody deleted the Lease: it goes with its last record
    spare: str = ""  # the key of an unreadable record that is being abandoned: the others still end everything
    in_doubt: bool = False  # a target write of ours has an unknown end: raise the fence before relying on a read
    duration_s: float = float(view.DURATION_S)


def adopt(held: Held, thing: objects.Object, *, cleared: str = "") -> None:
    """Takes over what the Lease says now: version, records, and other people's annotations.

    A record of ours that somebody removed from the Lease is kept in hand, and the next renewal writes it again: only
    `cleared`, the one whose removal this write was, goes.
    """
    seen = view.parse(thing)
    held.version = seen.version
    held.notes = dict(objects.annotations_of(thing))
    held.finalizers = list(thing["metadata"].get("finalizers") or [])
    kept = {key: item for key, item in held.records.items() if key != cleared}
    held.records = kept | {item.fault_id: item for item in seen.records}
    held.unreadable = seen.unreadable
    held.fence = max(held.fence, seen.fence)
    held.duration_s = seen.duration_s  # a successor goes by what stands there, so we do too
    held.doomed = "deletionTimestamp" in thing["metadata"]
    held.next_order = max(held.next_order, *(item.order + 1 for item in seen.records), 0)


def renew(
    held: Held,
    purpose: str,
    *put: record.Record,
    clear: str = "",
    fence: int = 0,
    notes: Mapping[str, str] = NOTHING,
) -> view.Steps[None]:
    """One guarded renewal, which also writes the records `put`, removes the record of fault id `clear`, raises the fence to
    `fence`, and writes the annotations `notes`.

    Raises LeaseLost (a successor has it, or it was deleted), ApiError (it cannot be told), UsageError (too large).
    """
    last = ""
    for _ in range(_ATTEMPTS):
        now: effect.Instant = yield effect.Boottime()
        left_s = tenure_left(held, now.seconds)
        nonce: effect.Text = yield effect.Fresh()
        changes = _changes(held, now, nonce.value, put, clear, fence, notes)
        reply = yield effect.Patch(held.ref, changes, purpose, min(view.REQUEST_S, left_s))
        if isinstance(reply, effect.Done):
            held.renewed_at = now.seconds
            adopt(held, reply.thing, cleared=clear)
            return
        last = reply.message
        seen = yield from read_own(held)
        if seen.nonce == nonce.value:  # our own write, whose answer was lost or crossed
            held.renewed_at = now.seconds
            adopt(held, seen.thing, cleared=clear)
            return
        adopt(held, seen.thing)
    raise errors.ApiError(
        f"the Lease of {held.domain} could not be renewed in {_ATTEMPTS} tries for {purpose}: {last}",
        status=0,
        next_step="space_smoke status",
    )


def read_own(held: Held) -> view.Steps[view.View]:
    """The Lease as it is now, if it is still ours. Raises LeaseLost or ApiError."""
    last = ""
    for _ in range(_ATTEMPTS):
        reply = yield effect.Get(held.ref)
        if isinstance(reply, effect.Done):
            seen = view.parse(reply.thing)
            if seen.ref.uid == held.ref.uid and seen.holder == held.holder:
                return seen
            raise lost(held, f"it is held by {seen.holder or 'nobody'} now, with fence {seen.fence}")
        if isinstance(reply, effect.No) and reply.status == 404:
            raise lost(held, "it was deleted")
        last = reply.message
    raise errors.ApiError(
        f"the Lease of {held.domain} could not be read: {last}", status=0, next_step="space_smoke status"
    )


def tenure_left(held: Held, now_s: float) -> float:
    """Seconds for which a request may still be under way. Raises LeaseLost when the tenure is no longer certain."""
    left_s = held.duration_s - min(view.MARGIN_S, held.duration_s / 2) - (now_s - held.renewed_at)
    if left_s <= 0:
        raise lost(held, f"it was last renewed {now_s - held.renewed_at:.0f} s ago, so a successor may have it")
    return left_s


def lost(held: Held, why: str) -> errors.LeaseLost:
    return errors.LeaseLost(
        f"the Lease of {held.domain} (holder {held.holder}, fence {held.fence}) is no longer ours: {why}; "
        "nothing more was written",
        next_step="space_smoke status",
    )


def _changes(
    held: Held,
    now: effect.Instant,
    nonce: str,
    put: tuple[record.Record, ...],
    clear: str,
    fence: int,
    more: Mapping[str, str],
) -> objects.Patch:
    info = {**held.info, "boottime": round(now.seconds, 6), "nonce": nonce}
    notes: dict[str, str | None] = {
        view.HOLDER: json.dumps(info, sort_keys=True),
        view.FENCE: str(max(held.fence, fence)),
    }
    notes |= missing(held) | {item.key: record.encode(item) for item in put} | dict(more)
    if clear:
        notes[record.PREFIX + clear] = None
    after = {key: value for key, value in (held.notes | notes).items() if value is not None}
    recorded = any(key.startswith(record.PREFIX) for key in after)
    if any(item.stage == "planned" for item in put):
        _refuse_oversize(held, after)
    return (
        objects.test(held.ref.uid, "metadata", "uid"),
        objects.test(held.version, "metadata", "resourceVersion"),
        objects.test(held.holder, "spec", "holderIdentity"),
        objects.put(now.wall, "spec", "renewTime"),
        *objects.put_metadata({"metadata": {"annotations": held.notes}}, "annotations", notes),
        *(finalizer_change(held.finalizers, recorded) if recorded or clear else ()),
    )


def _refuse_oversize(held: Held, after: Mapping[str, str]) -> None:
    """Only a new record is refused for its size, with room kept for all to grow: what was planned can be carried on."""
    records = sum(key.startswith(record.PREFIX) for key in after)
    size = objects.size_of(after) + records * record.GROWTH_BYTES
    if size > view.ANNOTATION_BYTES:
        raise errors.UsageError(
            f"the record would make the annotations of Lease {held.domain} up to {size} bytes; Kubernetes allows "
            f"{view.ANNOTATION_BYTES}. Nothing was changed",
            next_step="split the fault, or clear other annotations from the Lease",
        )


def missing(held: Held) -> dict[str, str]:
    """Records in our hands that somebody removed from the Lease."""
    return {item.key: record.encode(item) for item in held.records.values() if item.key not in held.notes}


def finalizer_change(present: list[str], wanted: bool) -> list[objects.Operation]:
    """While records exist the Lease cannot be deleted unnoticed (break-glass: docs/fault-lease.md). It goes with the
    last record, or when the Lease is released without any; not before the targets were looked through."""
    if wanted == (view.FINALIZER in present):
        return []
    others = [name for name in present if name != view.FINALIZER]
    return [objects.put([*others, view.FINALIZER] if wanted else others, "metadata", "finalizers")]
