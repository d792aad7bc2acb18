"""The door to the protocol: take a domain and put it right, raise and lower faults, release, look.

Called by the engine with a runner that performs the effects; the simulation calls the same functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.lease import acquire, inject, restore, targets, view
from space_smoke.lease import held as holding
from space_smoke.model import effect, kinds, objects, record

Held = holding.Held
Wanted = inject.Wanted
Restored = restore.Restored


@dataclass(frozen=True, slots=True)
class Setting:
    """What does not change during a command: who we are, which kinds there are, which API kinds carry targets."""

    identity: Mapping[str, Any]
    kinds: Mapping[str, kinds.FaultKind]
    targets: tuple[tuple[str, str], ...]


def take(domain: str, setting: Setting) -> view.Steps[Held]:
    """Acquires a domain and repairs whatever is recorded on it before anything else.

    Raises Refused, ApiError, LeaseLost; RestoreIncomplete when a record could not be put back: then the Lease is
    released again with that record on it, because no new fault may be raised over an old one.
    """
    held = yield from _taken(domain, setting)
    if held.doomed:  # somebody deleted it, and it went with its last record: the run needs one that stays
        yield from release(held)
        held = yield from _taken(domain, setting)
    return held


def _taken(domain: str, setting: Setting) -> view.Steps[Held]:
    before = yield from acquire.asked(effect.Get(view.ref(domain)))
    earlier = view.parse(before.thing) if isinstance(before, effect.Done) else None
    held = yield from acquire.acquire(domain, setting.identity, setting.kinds, setting.targets)
    try:
        yield from targets.stamp_all(held, setting.targets)
        failed = [result for result in (yield from _repair(held, earlier)) if not result.ok]
        if failed:
            raise incomplete(domain, failed)
    except errors.LeaseLost:
        raise
    except errors.SpaceSmokeError:
        with contextlib.suppress(errors.SpaceSmokeError):  # what went wrong first is what is told
            yield from release(held)
        raise
    return held


def _repair(held: Held, earlier: view.View | None) -> view.Steps[list[Restored]]:
    if not held.records:
        return []
    info = earlier.info if earlier else {}
    now: effect.Instant = yield effect.Boottime()
    stamp = info.get("boottime")
    results = []
    for item in sorted(held.records.values(), key=lambda r: (r.order, r.fault_id), reverse=True):
        age_s = round(now.seconds - stamp, 1) if isinstance(stamp, int | float) and now.seconds >= stamp else None
        more = {
            "run": item.run,
            "holder": earlier.holder if earlier and earlier.holder else "released",
            "pid": info.get("pid"),
            "age_s": age_s,
        }
        results.append((yield from restore.restore(held, item.fault_id, "repaired", **more)))
    return results


def raise_fault(held: Held, wanted: Wanted) -> view.Steps[record.Record]:
    """See inject.inject."""
    return (yield from inject.inject(held, wanted))


def lower_fault(held: Held, name: str) -> view.Steps[Restored | None]:
    """Restores the open fault of this name; None when no fault of that name is open."""
    for item in held.records.values():
        if item.name == name:
            return (yield from restore.restore(held, item.fault_id, "fault-restored"))
    return None


def lower_all(held: Held) -> view.Steps[list[Restored]]:
    """Restores every open fault, the last raised first; a failed one is tried once more after the others."""
    results = yield from restore.restore_all(held, "fault-restored")
    if all(result.ok for result in results):
        return results
    again = yield from restore.restore_all(held, "fault-restored")
    return [result for result in results if result.ok] + again


def keep_alive(held: Held) -> view.Steps[None]:
    """A renewal and nothing else: a long phase calls it every so often."""
    yield from holding.renew(held, "renew")


def release(held: Held) -> view.Steps[None]:
    """Gives the Lease back; records that are left stay on it, marked, so that the next one repairs without waiting."""
    last = ""
    for _ in range(6):
        now: effect.Instant = yield effect.Boottime()
        left_s = holding.tenure_left(held, now.seconds)
        reply = yield effect.Patch(held.ref, _release(held), "release", min(view.REQUEST_S, left_s))
        if isinstance(reply, effect.Done):
            yield effect.Tell("lease-released", {"domain": held.domain, "records": len(held.records)})
            return
        last = reply.message
        seen = yield effect.Get(held.ref)
        if isinstance(seen, effect.No) and seen.status == 404:
            return
        if isinstance(seen, effect.Done):
            now_view = view.parse(seen.thing)
            if now_view.holder != held.holder:  # it went through, or a successor has it: either way it is not ours
                yield effect.Tell("lease-released", {"domain": held.domain, "records": len(held.records)})
                return
            holding.adopt(held, seen.thing)
    raise errors.ApiError(f"the Lease of {held.domain} could not be released: {last}", status=0)


def _release(held: Held) -> objects.Patch:
    notes: dict[str, str | None] = {view.NEEDS_REPAIR: "true" if held.records else None, **holding.missing(held)}
    recorded = any(key.startswith(record.PREFIX) for key in (*held.notes, *notes))
    return (
        objects.test(held.ref.uid, "metadata", "uid"),
        objects.test(held.version, "metadata", "resourceVersion"),
        objects.test(held.holder, "spec", "holderIdentity"),
        objects.drop("spec", "holderIdentity"),
        *objects.put_metadata({"metadata": {"annotations": held.notes}}, "annotations", notes),
        *holding.finalizer_change(held.finalizers, recorded),
    )


def incomplete(domain: str, failed: Iterable[Restored]) -> errors.RestoreIncomplete:
    what = "; ".join(f"{result.record.name} on {result.record.target}: {result.error}" for result in failed)
    return errors.RestoreIncomplete(
        f"not everything under {domain} could be put back, and its record is kept: {what}",
        next_step="mend what stands in the way, then: space_smoke repair",
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """What one read says of a domain. `life` of the holder: dead, expired, alive, unknown, or none when released."""

    view: view.View
    life: str
    reason: str


def look(domains: Iterable[str], setting: Setting, *, sweep: bool = False) -> view.Steps[list[Standing]]:
    """Read-only: every Lease of ours by a single list call, its records, and what is known of its holder.

    A domain whose Lease is missing is swept for by label, so that a deleted Lease hides no fault: what is found is shown
    as a released Lease with those records. With `sweep` the targets are looked through also where the Lease is there, and
    copies of records that somebody removed from it are shown with the others: one list call for each kind of target more.
    """
    reply = yield from acquire.asked(effect.ListKind(view.API_VERSION, "Lease", view.NAMESPACE, f"{view.LABEL}=true"))
    if not isinstance(reply, effect.Found):
        raise errors.ApiError(f"the Leases could not be listed: {reply.message}", status=0)
    views = [view.parse(thing) for thing in reply.things]
    missing = [domain for domain in domains if domain not in {seen.domain for seen in views}]
    if missing or (sweep and views):
        found = yield from acquire.swept(setting.targets)
        views = [_with_copies(seen, found, setting) for seen in views] if sweep else views
        views += _orphaned(missing, found, setting)
    standings = []
    for seen in sorted(views, key=lambda v: v.domain):
        if not seen.holder:
            standings.append(Standing(seen, "none", "released"))
            continue
        judged = yield from acquire.life_of(seen)
        standings.append(Standing(seen, judged.life, judged.reason))
    return standings


def _with_copies(seen: view.View, found: Iterable[objects.Object], setting: Setting) -> view.View:
    """The Lease as if it still had every record of which one of its targets has the copy."""
    notes = objects.annotations_of(seen.thing)
    copies = _copies(seen.domain, found, setting)
    if copies.keys() <= notes.keys():
        return seen
    return view.parse({**seen.thing, "metadata": {**seen.thing["metadata"], "annotations": {**copies, **notes}}})


def _orphaned(missing: list[str], found: Iterable[objects.Object], setting: Setting) -> list[view.View]:
    views = []
    for domain in missing:
        notes = _copies(domain, found, setting)
        if notes:
            body = {"apiVersion": view.API_VERSION, "kind": "Lease", "metadata": {"name": domain, "annotations": notes}}
            views.append(view.parse(body))
    return views


def _copies(domain: str, found: Iterable[objects.Object], setting: Setting) -> dict[str, str]:
    """The records on targets that bear this domain's fence, as adopted by an acquisition: those of its own kinds, of kinds
    that are not known, and those that cannot be read."""
    notes: dict[str, str] = {}
    for thing in found:
        if view.fence_on(thing, domain) is None:
            continue
        items, unreadable = record.read_all(objects.annotations_of(thing))
        own = [
            item.key
            for item in items
            if item.target.where() == objects.ref_of(thing).where() and targets.belongs(item, domain, setting.kinds)
        ]
        notes |= {key: objects.annotations_of(thing)[key] for key in (*own, *(item.key for item in unreadable))}
    return notes
