"""A Lease object as the protocol reads it, and the names it uses on the Lease and on targets."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from space_smoke.model import effect, fence, objects, record

T = TypeVar("T")
Steps = Generator[effect.Effect, Any, T]

NAMESPACE = "space-smoke"
API_VERSION = "coordination.k8s.io/v1"
LABEL = "space-smoke.dev/fault-lease"  # on every Lease of ours, so that one list finds them all
HOLDER = "space-smoke.dev/holder"
FENCE = fence.NAME
NEEDS_REPAIR = "space-smoke.dev/needs-repair"
FINALIZER = "space-smoke.dev/open-faults"
FENCED = "space-smoke.dev/fenced"  # label on every target that ever carried a fault

DURATION_S = 3600
# A write may still be on its way when the holder stops believing in its tenure: requests end before this margin begins.
MARGIN_S = 60.0
REQUEST_S = 10.0
BEYOND = fence.BEYOND
ANNOTATION_BYTES = 262_144  # Kubernetes: apimachinery's limit for all annotations of one object together


def ref(domain: str) -> objects.Ref:
    return objects.Ref(API_VERSION, "Lease", NAMESPACE, domain)


target_fence = fence.key
fence_on = fence.on


@dataclass(frozen=True, slots=True)
class View:
    """One Lease as read. `holder` is "" when released; `info` is what the holder wrote of itself, empty if unreadable."""

    domain: str
    ref: objects.Ref
    version: str
    holder: str
    info: Mapping[str, Any]
    fence: int
    duration_s: float
    transitions: int
    records: tuple[record.Record, ...]
    unreadable: tuple[record.Unreadable, ...]
    thing: objects.Object

    @property
    def nonce(self) -> str:
        return str(self.info.get("nonce", ""))


def parse(thing: objects.Object) -> View:
    """Never raises: what cannot be read is shown as such, so that nobody clears it."""
    notes = objects.annotations_of(thing)
    spec = thing.get("spec") or {}
    records, unreadable = record.read_all(notes)
    fence = notes.get(FENCE, "0")
    if not fence.isdecimal():
        unreadable = (*unreadable, record.Unreadable(FENCE, f"it is {fence!r}, not a whole number"))
    info = _json_object(notes.get(HOLDER, "{}"))
    return View(
        domain=thing["metadata"]["name"],
        ref=objects.ref_of(thing),
        version=thing["metadata"].get("resourceVersion", ""),
        holder=spec.get("holderIdentity") or "",
        info=info,
        fence=int(fence) if fence.isdecimal() else 0,
        # Clamped to what the protocol allows: a holder cannot pin the Lease for ever, nor let it lapse at once.
        duration_s=min(max(float(spec.get("leaseDurationSeconds") or DURATION_S), 1.0), float(DURATION_S)),
        transitions=int(spec.get("leaseTransitions") or 0),
        records=records,
        unreadable=unreadable,
        thing=thing,
    )


def highest_fence(targets: Iterable[objects.Object], domain: str) -> int:
    """The highest fence on any of these targets; 0 when there is none."""
    fences = (fence_on(thing, domain) or 0 for thing in targets)
    return max((fence for fence in fences if fence < BEYOND), default=0)


def _json_object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
