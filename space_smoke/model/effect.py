"""What the fault-Lease protocol asks of the outside, as values, and what the outside may answer.

The protocol (space_smoke.lease) is made of generators that yield these and are sent a reply; one runner performs them on
a real API server (bench), another in a simulation (tests/sim). Each effect is at most one request to the API server.

A write has three possible ends and all three must be told apart: `Done` (the object as it is after the write), `No`
(the API server refused: nothing was changed by this request) and `Lost` (no answer came: it may or may not have been,
or may yet be, carried out).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.model import objects


@dataclass(frozen=True, slots=True)
class Get:
    """A consistent read (quorum, not from a cache). Reply: Done | No(404) | Lost."""

    ref: objects.Ref


@dataclass(frozen=True, slots=True)
class ListKind:
    """All objects of a kind, everywhere or in one namespace, by label selector. Reply: Found | No | Lost."""

    api_version: str
    kind: str
    namespace: str = ""
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Create:
    """Reply: Done | No(409 already there) | Lost."""

    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Patch:
    """One JSON Patch. `timeout_s` bounds the request on the client's side; `purpose` names the step for logs, drills and
    the audit (it is sent as the field manager). Reply: Done | No(404, 409, 422, ...) | Lost."""

    ref: objects.Ref
    operations: objects.Patch
    purpose: str
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Sense:
    """Reads what a fault's kind changes outside of the API server (a setting in Redis, a rule in a node) and completes the
    field's address (which pod, which addresses). Changes nothing. Reply: Done({"field": ..., "value": ...}) | No(422 the
    target cannot carry it) | Lost."""

    kind: str
    ref: objects.Ref
    field: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """In one step there, outside of the API server: raises the domain's fence to `fence` unless it is higher, and reads the
    value. Reply: Done({"value": ...}) | No(409 a higher fence, whose number is in `message`) | Lost."""

    kind: str
    ref: objects.Ref
    field: Mapping[str, Any]
    domain: str
    fence: int
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Alter:
    """In one step there: sets the value to `after` if the domain's fence is exactly `fence` and the value is `before`.
    Reply: Done({"value": ...}) | No(409 another fence, 412 another value) | Lost."""

    kind: str
    ref: objects.Ref
    field: Mapping[str, Any]
    domain: str
    fence: int
    before: objects.Json
    after: objects.Json
    purpose: str
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Boottime:
    """Seconds of CLOCK_BOOTTIME on this machine: it counts suspend and is never set. Reply: Instant."""


@dataclass(frozen=True, slots=True)
class FirstSeen:
    """When this machine first saw a Lease at this version, on its own clock; now, if never before. Reply: Instant."""

    uid: str
    version: str


@dataclass(frozen=True, slots=True)
class Fresh:
    """A random identity that was never used before. Reply: Text."""


@dataclass(frozen=True, slots=True)
class Examine:
    """What this machine knows of the process that a Lease names as its holder. Reply: model.life.Facts."""

    holder: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settle:
    """Waits until a target is what its spec says (rolled out, old pods gone, endpoints drained) and the kind's own probe
    finds `expect` in effect. Reply: Done(the target, with what is outside of it under kinds.OUTSIDE) | Late(last seen)."""

    ref: objects.Ref
    kind: str
    field: Mapping[str, Any]
    expect: objects.Json
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Tell:
    """An event for the History; no effect on the cluster. Reply: None."""

    kind: str
    data: Mapping[str, Any]


Effect = (
    Get | ListKind | Create | Patch | Sense | Claim | Alter | Boottime | FirstSeen | Fresh | Examine | Settle | Tell
)


@dataclass(frozen=True, slots=True)
class Done:
    thing: objects.Object


@dataclass(frozen=True, slots=True)
class Found:
    things: tuple[objects.Object, ...]


@dataclass(frozen=True, slots=True)
class No:
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    message: str


@dataclass(frozen=True, slots=True)
class Late:
    last: str


@dataclass(frozen=True, slots=True)
class Instant:
    """`wall` is the time of day as Kubernetes writes it, with a microsecond that is never zero; for display only."""

    seconds: float
    wall: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    value: str
