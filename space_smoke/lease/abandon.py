"""Giving up one record, by its id and on purpose: the one way out for a fault that cannot be put back.

The domain is taken and everything in it repaired first, so a record that can be put back is put back. Only then is it taken
off its targets and the Lease, in this order: a copy on a target would bring it back. What stood there, what the field holds
now and who gave it up stays on the Lease (annotation space-smoke.dev/abandoned.<id>), and as an Event for as long as the
cluster keeps those. No field of a target is changed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.lease import acquire, outside, protocol, restore, targets, view
from space_smoke.lease import held as holding
from space_smoke.model import effect, kinds, objects, record

ABANDONED = "space-smoke.dev/abandoned."
_ATTEMPTS = 6
# What a kind may stumble over in a record that means nothing to it.
_NONSENSE = (LookupError, TypeError, ValueError, AttributeError)
_TEXT = 4096  # how much is kept of a record that cannot be read


@dataclass(frozen=True, slots=True)
class Ended:
    """`abandoned` is false when it could be put back after all; `failed` are other records that could not."""

    fault_id: str
    domain: str
    abandoned: bool
    failed: tuple[protocol.Restored, ...]


def abandon(fault_id: str, domains: Iterable[str], setting: protocol.Setting) -> view.Steps[Ended]:
    """Raises UsageError (no such record; nothing was written), Refused (a live holder, or another record that cannot be
    read), ApiError, LeaseLost."""
    standings = yield from protocol.look(domains, setting, sweep=True)
    domain = _domain_of(fault_id, standings)
    key = record.PREFIX + fault_id
    held = yield from acquire.acquire(domain, setting.identity, setting.kinds, setting.targets, key)
    held.spare = key
    try:
        yield from targets.stamp_all(held, setting.targets)
        known = fault_id in held.records
        results = yield from restore.restore_all(held, "repaired")
        ended = Ended(fault_id, domain, not known or fault_id in held.records, _failed(results, fault_id))
        if ended.abandoned:
            yield from _give_up(held, fault_id, setting)
    except errors.LeaseLost:
        raise
    except errors.SpaceSmokeError:
        with contextlib.suppress(errors.SpaceSmokeError):  # what went wrong first is what is told
            yield from protocol.release(held)
        raise
    yield from protocol.release(held)
    return ended


def _domain_of(fault_id: str, standings: Iterable[protocol.Standing]) -> str:
    there: dict[str, str] = {}
    for standing in standings:
        keys = [item.key for item in standing.view.records] + [item.key for item in standing.view.unreadable]
        there |= {
            key.removeprefix(record.PREFIX): standing.view.domain for key in keys if key.startswith(record.PREFIX)
        }
    if fault_id not in there:
        raise errors.UsageError(
            f"no record has the id {fault_id!r}; there are {', '.join(sorted(there)) or 'none'}",
            next_step="space_smoke status --json shows them with their ids",
        )
    return there[fault_id]


def _failed(results: Iterable[protocol.Restored], fault_id: str) -> tuple[protocol.Restored, ...]:
    return tuple(result for result in results if not result.ok and result.record.fault_id != fault_id)


def _give_up(held: holding.Held, fault_id: str, setting: protocol.Setting) -> view.Steps[None]:
    item = held.records.get(fault_id)
    now: effect.Instant = yield effect.Boottime()
    note: dict[str, Any] = {
        "by": {key: setting.identity.get(key) for key in ("user", "host", "run", "command")},
        "at": now.wall,
    }
    if item is not None:
        note |= {
            "fault": item.name,
            "kind": item.kind,
            "target": item.target.as_json(),
            "standing": item.standing,
            "value": item.fault,
            "holds": (yield from _held_now(held, item)),
            "error": item.last_error,
        }
    copies = yield from _take_off_targets(held, record.PREFIX + fault_id, setting)
    if item is None:
        text = held.notes.get(record.PREFIX + fault_id, copies)
        note |= {"unreadable": text[:_TEXT]}
    noted = {ABANDONED + fault_id: json.dumps(note, sort_keys=True)}
    yield from holding.renew(held, "abandon", clear=fault_id, notes=noted)
    sentence = f"record {fault_id} of {held.domain} was given up by {note['by']['user']} on {note['by']['host']}"
    yield effect.Create(_event(held, fault_id, now, f"{sentence}: {json.dumps(note, sort_keys=True)}"[:1024]))
    yield effect.Tell("note", {"sentence": f"ABANDONED: {sentence}; what stood there is on the Lease"})


def _held_now(held: holding.Held, item: record.Record) -> view.Steps[str]:
    """What the field holds, in words; why not, where that cannot be told."""
    reply = yield from acquire.asked(effect.Get(objects.Ref(*item.target.where())))
    if not isinstance(reply, effect.Done):
        return f"not to be read: {reply.message}"
    kind = held.kinds.get(item.kind)
    if kind is None:
        return "not known to this version"
    try:
        _, thing = yield from outside.sensed(kind, item.field, reply.thing, item.name)
        return kind.describe(kind.read(thing, item.field))
    except (errors.BenchError, kinds.Unfit, *_NONSENSE) as error:
        return f"not to be read: {error}"


def _take_off_targets(held: holding.Held, key: str, setting: protocol.Setting) -> view.Steps[str]:
    """Removes the record's copies, each by a write under our fence; returns the text of the last."""
    text = ""
    for thing in (yield from acquire.swept(setting.targets)):
        if key in objects.annotations_of(thing):
            text = objects.annotations_of(thing)[key]
            yield from _take_off(held, key, objects.ref_of(thing))
    return text


def _take_off(held: holding.Held, key: str, ref: objects.Ref) -> view.Steps[None]:
    last = ""
    for _ in range(_ATTEMPTS):
        thing = yield from targets.stamp(held, ref)
        if thing is None or key not in objects.annotations_of(thing):
            return
        yield from holding.renew(held, "renew")
        reply = yield from targets.write(held, thing, [objects.drop("metadata", "annotations", key)], "abandon")
        if isinstance(reply, effect.Done):
            return
        last = reply.message
        yield from targets.certain(held)
    raise errors.ApiError(f"the copy of {key} on {ref} could not be removed: {last}", status=0)


def _event(held: holding.Held, fault_id: str, now: effect.Instant, message: str) -> Mapping[str, Any]:
    when = f"{now.wall[:19]}Z"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"abandoned-{fault_id.lower()[:40]}-{held.fence}", "namespace": view.NAMESPACE},
        "involvedObject": held.ref.as_json(),
        "type": "Warning",
        "reason": "FaultAbandoned",
        "message": message,
        "source": {"component": "space-smoke"},
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }
