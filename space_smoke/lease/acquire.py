"""Taking the Lease of one domain: create it, or take it over from nobody, from an expired holder or from a dead one.

Every acquisition grows the fence by one. A Lease that is missing is made anew above the highest fence found on any
target that was ever stamped, so that deleting a Lease never lets an old writer back in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from space_smoke import errors
from space_smoke.lease import held as holding
from space_smoke.lease import view
from space_smoke.model import effect, kinds, life, objects, record

_ATTEMPTS = 6
CLUSTER = objects.Ref("v1", "Namespace", "", "kube-system")


def acquire(
    domain: str,
    identity: Mapping[str, Any],
    table: Mapping[str, kinds.FaultKind],
    targets: Iterable[tuple[str, str]],
    spare: str = "",
) -> view.Steps[holding.Held]:
    """`identity` is what the run says of itself (run, host, boot, pid, ...); `targets` the API kinds to sweep for stamps;
    `spare` the key of a record that may be unreadable, since it is about to be abandoned.

    Raises Refused (held by someone not provably dead; nothing was written) or ApiError.
    """
    cluster = yield from cluster_uid()
    holder: effect.Text = yield effect.Fresh()
    mine = f"{identity.get('host', 'unknown')}-{holder.value}"
    last = ""
    began: effect.Instant = yield effect.Boottime()  # whichever attempt lands, the tenure counts from here
    for _ in range(_ATTEMPTS):
        now: effect.Instant = yield effect.Boottime()
        nonce: effect.Text = yield effect.Fresh()
        info = {**identity, "boottime": round(now.seconds, 6), "nonce": nonce.value}
        reply = yield effect.Get(view.ref(domain))
        how = "it was free"
        if isinstance(reply, effect.Done):
            seen = view.parse(reply.thing)
            refuse_unreadable(seen.domain, seen.unreadable, spare=spare)
            if seen.holder == mine:  # an earlier attempt landed after all
                answer = reply
            else:
                how = yield from may_take(seen)
                answer = yield effect.Patch(seen.ref, _take(seen, mine, info, now), "acquire")
        elif isinstance(reply, effect.No) and reply.status == 404:
            how = "it was made anew"
            fence = 1 + view.highest_fence((yield from swept(targets)), domain)
            answer = yield effect.Create(_new(domain, mine, info, now, fence))
        else:
            last = reply.message
            continue
        if not isinstance(answer, effect.Done):
            last = answer.message
            continue
        held = _held(answer.thing, mine, info, began.seconds, table, cluster)
        yield effect.Tell("lease-acquired", {"domain": domain, "fence": held.fence, "how": how, "holder": mine})
        return held
    raise errors.ApiError(
        f"the Lease of {domain} could not be taken in {_ATTEMPTS} tries: {last}",
        status=0,
        next_step="space_smoke status",
    )


def may_take(seen: view.View) -> view.Steps[str]:
    """Why the Lease may be taken now, in words; raises Refused when it may not."""
    if not seen.holder:
        return "it was released"
    judged = yield from life_of(seen)
    if judged.life == "dead":
        return judged.reason
    if judged.life == "expired":
        return judged.reason
    names = ", ".join(item.name for item in seen.records) or "no fault"
    raise errors.Refused(
        f"the Lease of {seen.domain} is held by {described(seen)} with {names} up: {judged.reason}. Nothing was written",
        next_step="wait for that run to end, or look at it with: space_smoke status",
    )


def life_of(seen: view.View) -> view.Steps[Life]:
    """What can be said of the holder's life: dead or alive by proof, expired by the clock, else unknown."""
    facts = yield effect.Examine(seen.info)
    judged = life.judge(facts)
    now: effect.Instant = yield effect.Boottime()
    if judged.life == "dead":
        return Life("dead", judged.reason)
    stamp = seen.info.get("boottime")
    if facts.same_boot and isinstance(stamp, int | float) and now.seconds - stamp > seen.duration_s:
        return Life("expired", f"its last renewal was {now.seconds - stamp:.0f} s ago by this machine's own clock")
    first_seen: effect.Instant = yield effect.FirstSeen(seen.ref.uid, seen.version)
    if now.seconds - first_seen.seconds > seen.duration_s:
        return Life("expired", f"it was seen unchanged for {now.seconds - first_seen.seconds:.0f} s")
    return Life(judged.life, judged.reason)


class Life:
    """`life` is dead, expired, alive or unknown; `reason` one clause for people."""

    __slots__ = ("life", "reason")

    def __init__(self, life: str, reason: str) -> None:
        self.life = life
        self.reason = reason


def described(seen: view.View) -> str:
    run, host, pid = (seen.info.get(key, "?") for key in ("run", "host", "pid"))
    return f"run {run} (pid {pid} on {host}, holder {seen.holder})"


def cluster_uid() -> view.Steps[str]:
    """The identity of a cluster: names and resourceVersions start again with a new one, this does not."""
    reply = yield from asked(effect.Get(CLUSTER))
    if not isinstance(reply, effect.Done):
        raise errors.ApiError(f"the cluster's identity could not be read: {reply.message}", status=0)
    return str(reply.thing["metadata"]["uid"])


def asked(read: effect.Get | effect.ListKind) -> view.Steps[Any]:
    """One read, asked again while no answer comes or the API server is busy: asking changes nothing."""
    reply = yield read
    for _ in range(_ATTEMPTS - 1):
        if not (isinstance(reply, effect.Lost) or (isinstance(reply, effect.No) and reply.status == 429)):
            break
        reply = yield read
    return reply


def swept(targets: Iterable[tuple[str, str]]) -> view.Steps[list[objects.Object]]:
    """Every object that was ever stamped, by label, whatever any Lease says. Of a kind that the cluster does not know there is
    none."""
    found: list[objects.Object] = []
    for api_version, kind in targets:
        reply = yield from asked(effect.ListKind(api_version, kind, "", f"{view.FENCED}=true"))
        if isinstance(reply, effect.No) and reply.status == 404:
            continue
        if not isinstance(reply, effect.Found):
            raise errors.ApiError(f"objects of kind {kind} could not be listed: {reply.message}", status=0)
        found += reply.things
    return found


def refuse_unreadable(domain: str, unreadable: tuple[record.Unreadable, ...], where: str = "", spare: str = "") -> None:
    """A record that this version cannot read is never cleared and never worked around. `where` it stands, if that is
    not the Lease; `spare` is the key of the one that a person gave up by name."""
    unreadable = tuple(item for item in unreadable if item.key != spare)
    if unreadable:
        what = "; ".join(f"{item.key}: {item.reason}" for item in unreadable)
        raise errors.Refused(
            f"{where or f'Lease {view.NAMESPACE}/{domain}'} carries what this version cannot read, and it was left untouched: {what}",
            next_step="use the version that wrote it, or give the record up by name: space_smoke repair --abandon ID",
        )


def _take(seen: view.View, mine: str, info: Mapping[str, Any], now: effect.Instant) -> objects.Patch:
    notes: dict[str, str | None] = {view.HOLDER: json.dumps(info, sort_keys=True), view.FENCE: str(seen.fence + 1)}
    return (
        objects.test(seen.ref.uid, "metadata", "uid"),
        objects.test(seen.version, "metadata", "resourceVersion"),
        *([objects.test(seen.holder, "spec", "holderIdentity")] if seen.holder else []),
        *_spec(mine, now, seen.transitions + 1),
        *objects.put_metadata(seen.thing, "annotations", notes),
        *objects.put_metadata(seen.thing, "labels", {view.LABEL: "true"}),
    )


def _spec(mine: str, now: effect.Instant, transitions: int) -> tuple[objects.Operation, ...]:
    return (
        objects.put(mine, "spec", "holderIdentity"),
        objects.put(view.DURATION_S, "spec", "leaseDurationSeconds"),
        objects.put(now.wall, "spec", "acquireTime"),
        objects.put(now.wall, "spec", "renewTime"),
        objects.put(transitions, "spec", "leaseTransitions"),
    )


def _new(domain: str, mine: str, info: Mapping[str, Any], now: effect.Instant, fence: int) -> dict[str, Any]:
    return {
        "apiVersion": view.API_VERSION,
        "kind": "Lease",
        "metadata": {
            "name": domain,
            "namespace": view.NAMESPACE,
            "labels": {view.LABEL: "true"},
            "annotations": {view.HOLDER: json.dumps(info, sort_keys=True), view.FENCE: str(fence)},
        },
        "spec": {
            "holderIdentity": mine,
            "leaseDurationSeconds": view.DURATION_S,
            "acquireTime": now.wall,
            "renewTime": now.wall,
            "leaseTransitions": 0,
        },
    }


def _held(
    thing: objects.Object,
    mine: str,
    info: dict[str, Any],
    started_s: float,
    table: Mapping[str, kinds.FaultKind],
    cluster: str,
) -> holding.Held:
    held = holding.Held(
        domain=thing["metadata"]["name"],
        ref=objects.ref_of(thing),
        version="",
        holder=mine,
        info=dict(info),
        fence=view.parse(thing).fence,
        renewed_at=started_s,
        kinds=table,
        cluster=cluster,
        notes={},
        finalizers=[],
    )
    holding.adopt(held, thing)
    return held
