"""Targets under the fence. Each write to one tests, inside that same write, that the fence on it is ours.

The first thing after an acquisition is to stamp every target that a record or a label names. A write of an earlier holder
lands either before the stamp, and then the stamp's reply shows it, or after it, and then the API server refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from space_smoke import errors
from space_smoke.lease import acquire, view
from space_smoke.lease import held as holding
from space_smoke.model import effect, kinds, objects, record

_ATTEMPTS = 8


def stamp_all(held: holding.Held, kinds_to_sweep: Iterable[tuple[str, str]]) -> view.Steps[None]:
    """Stamps the targets of all records and all targets that ever carried this domain's fence; adopts records that are
    found on a target but not on the Lease (the Lease was deleted and made anew under a fault).

    A Lease that somebody made by hand may count lower than its targets: then our fence is raised above them first. The
    renewal that does it is guarded, so it fails if what was seen there is a successor's.
    """
    found = yield from acquire.swept(kinds_to_sweep)
    stamped = [thing for thing in found if view.fence_on(thing, held.domain) is not None]
    highest = view.highest_fence(stamped, held.domain)
    if highest >= held.fence:
        yield from holding.renew(held, "raise-fence", fence=highest + 1)
    for thing in stamped:
        fresh = yield from stamp(held, objects.ref_of(thing))
        if fresh is not None:
            yield from _adopt_records(held, fresh)
    done = {objects.ref_of(thing).where() for thing in stamped}
    for item in list(held.records.values()):
        if item.target.where() not in done:
            fresh = yield from stamp(held, item.target)
            if fresh is not None:
                yield from _adopt_records(held, fresh)


def stamped(held: holding.Held, ref: objects.Ref) -> view.Steps[objects.Object]:
    """See stamp; a target that is gone is an ApiError."""
    thing = yield from stamp(held, ref)
    if thing is None:
        raise errors.ApiError(f"{ref} in namespace {ref.namespace} is not there", status=404)
    return thing


def stamp(held: holding.Held, ref: objects.Ref) -> view.Steps[objects.Object | None]:
    """Sets our fence on whatever bears this name now and returns it as it was after the write; None when it is gone."""
    last = ""
    for _ in range(_ATTEMPTS):
        reply = yield effect.Get(objects.Ref(*ref.where()))
        if isinstance(reply, effect.No) and reply.status == 404:
            return None
        if not isinstance(reply, effect.Done):
            last = reply.message
            continue
        thing = reply.thing
        fence = view.fence_on(thing, held.domain)
        if fence == held.fence:
            return thing
        if fence == view.BEYOND:
            raise errors.BenchError(
                f"{ref} in namespace {ref.namespace} carries a fence that is not a number under "
                f"{view.target_fence(held.domain)}, so nothing on it can be guarded",
                next_step="look who wrote it, then remove that annotation",
            )
        if fence is not None and fence > held.fence:
            raise holding.lost(held, f"{ref} carries fence {fence}")
        now: effect.Instant = yield effect.Boottime()
        left_s = holding.tenure_left(held, now.seconds)
        answer = yield effect.Patch(
            objects.ref_of(thing), _stamp(held, thing, fence), "stamp", min(view.REQUEST_S, left_s)
        )
        if isinstance(answer, effect.Done):
            return answer.thing
        last = answer.message
    raise errors.ApiError(f"{ref} could not be stamped with fence {held.fence}: {last}", status=0)


def write(
    held: holding.Held, thing: objects.Object, operations: Iterable[objects.Operation], purpose: str
) -> view.Steps[effect.Done | effect.No | effect.Lost]:
    """One write to a stamped target, guarded by its uid and our fence, and bounded by what is left of our tenure."""
    now: effect.Instant = yield effect.Boottime()
    left_s = holding.tenure_left(held, now.seconds)
    # In doubt from before it is sent: a signal may end this very step, and then nobody reads the answer.
    doubt_before, held.in_doubt = held.in_doubt, True
    reply: effect.Done | effect.No | effect.Lost = yield effect.Patch(
        objects.ref_of(thing),
        (
            objects.test(objects.ref_of(thing).uid, "metadata", "uid"),
            objects.test(str(held.fence), "metadata", "annotations", view.target_fence(held.domain)),
            *operations,
        ),
        purpose,
        min(view.REQUEST_S, left_s),
    )
    held.in_doubt = doubt_before or isinstance(reply, effect.Lost)
    return reply


def certain(held: holding.Held) -> view.Steps[None]:
    """After a write whose end is unknown: raises our own fence. The stamp that comes before any further look at a target
    then sees to it that the write can no longer land late."""
    if held.in_doubt:
        yield from holding.renew(held, "raise-fence", fence=held.fence + 1)
        held.in_doubt = False


def _stamp(held: holding.Held, thing: objects.Object, fence: int | None) -> objects.Patch:
    key = view.target_fence(held.domain)
    guards = [objects.test(objects.ref_of(thing).uid, "metadata", "uid")]
    if fence is not None:
        guards.append(objects.test(str(fence), "metadata", "annotations", key))
    if fence is None or not objects.labels_of(thing):
        # A first stamp has no older one to test, so it is tied to the version that was read: a late one cannot land
        # after a successor came and went. So is one that makes a whole map, which another may make at the same time.
        guards.append(objects.test(thing["metadata"]["resourceVersion"], "metadata", "resourceVersion"))
    return (
        *guards,
        *objects.put_metadata(thing, "annotations", {key: str(held.fence)}),
        *objects.put_metadata(thing, "labels", {view.FENCED: "true"}),
    )


def _adopt_records(held: holding.Held, thing: objects.Object) -> view.Steps[None]:
    """Of this domain or of a kind that is not known, which must not be passed over; and about this very object: a copy
    of the target has a copy of the record."""
    found, unreadable = record.read_all(objects.annotations_of(thing))
    acquire.refuse_unreadable(held.domain, unreadable, str(objects.ref_of(thing)), held.spare)
    for item in found:
        ours = belongs(item, held.domain, held.kinds)
        if ours and item.fault_id not in held.records and item.target.where() == objects.ref_of(thing).where():
            yield from holding.renew(held, "adopt", item)


def belongs(item: record.Record, domain: str, known: Mapping[str, kinds.FaultKind]) -> bool:
    """Whether a record that was found on a target is one of this domain. One of a kind that is not known is of each."""
    kind = known.get(item.kind)
    return kind is None or kind.under(item.target.namespace, item.field) == domain
