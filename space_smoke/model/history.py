"""The append-only events of a run. Doing appends here; judging reads from here and from nothing else.

An event has a kind (one of `KINDS`), the seconds since the run began, and flat JSON data. The journal on disk is the
same events, one JSON object a line, in the same order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KINDS: Mapping[str, str] = {
    "run-started": "the command, versions, bench, seed and scenario of this run",
    "step-started": "a step of bring-up began",
    "step-ended": "a step of bring-up ended: seconds, ok, detail",
    "progress": "a line of a step that goes on for long",
    "finding": "something about this machine that is advice, not an obstacle",
    "image-choice": "an image is pulled or built, and why",
    "tool": "a program was found, unpacked or compiled: where it came from",
    "engine-starting": "the Docker engine is being started",
    "engine-configured": "the Docker engine was configured for this machine",
    "orphans-ended": "processes that a dead run left were ended",
    "waiting": "another command works on the same thing, and this one waits",
    "release-recovered": "a release that a dead run left pending was rolled back or removed",
    "release-changed": "a release differs from what was installed last, and is upgraded",
    "image-load": "how an image came onto the nodes",
    "left-over": "a bench was left half made by a dead run, and is made again",
    "reaped": "a bench that a dead run left was removed",
    "remade": "a bench is made again, and why",
    "node-started": "a node's container runs",
    "up": "the bench is up: its name, kubeconfig, the next command",
    "down": "the bench is gone",
    "note": "a sentence for the reader",
    "gate": "the bench was found quiet before the run's first scenario: what was looked at, seconds",
    "scenario-started": "a scenario began: id, claim, phases, checks",
    "provenance": "what a scenario runs on, read before or after it: versions, image ids, chart digests, restarts",
    "environment": "what differs between both and is not the scenario's own doing",
    "phase-started": "a phase began: name, the faults that hold in it",
    "phase-ended": "a phase ended: name, ok",
    "wait-started": "a wait began: what it waits for",
    "wait-ended": "a wait ended: seconds, ok, the last state seen",
    "fault-planned": "a record was written: fault, kind, target, standing and fault value",
    "fault-up": "a fault is in place and verified",
    "fault-restored": "a target is standing again, verified, and its record cleared",
    "fault-kept": "a restore did not succeed; the record stays",
    "repaired": "a fault that another run left was put back: holder, age, proof",
    "refused": "the run was refused: holder, fault, age",
    "lease-acquired": "the Lease of a domain was taken: fence, from whom, by what proof",
    "lease-released": "the Lease of a domain was released: records left on it",
    "lease-lost": "the Lease of a domain is somebody else's now",
    "pods": "the pods of a target, fresh from the API: names, node, whether terminating",
    "load-started": "a load began: its arguments",
    "request": "one request of a load and its answer",
    "operation": "what became of an operation of the native API: its last state, seconds, result",
    "records": "what one side, the API or the database, holds of the sandboxes a load made: id and state of each",
    "placed": "where the pods of sandboxes and services are, or why the scheduler found no node",
    "attempt": "something was tried once: its name, whether it was accepted, the reason given",
    "database": "what a running Postgres is and what its clients may take of it, beside what is declared",
    "listed": "which objects there are in the cluster, by uid",
    "telemetry": "what a telemetry backend holds under a trace id, and how long after the answer it had it",
    "sample": "what a site of the grid shows at a moment, in its GridNetwork and its metrics, or why that could not be read",
    "read-back": "a definition or an object as the API server has it: where it differs from what it was given",
    "load-ended": "a load ended: how many requests",
    "diagnostics": "what was gathered for the reader before anything was put back",
    "drill-started": "a drill began: its claim",
    "drill-ended": "a drill ended: cycles, points reached, problems",
    "verdict": "a check's judgement",
    "open-faults": "a fresh read at the end: how many records are on the Leases",
    "scenario-ended": "a scenario ended: outcome, injection, restore, harness",
    "run-ended": "the exit code of this run",
}


@dataclass(frozen=True, slots=True)
class Event:
    """`at_s`: seconds since the run began, by a clock that never goes back."""

    index: int
    at_s: float
    kind: str
    data: Mapping[str, Any]


@dataclass(slots=True)
class History:
    """Grows only. `clock` gives seconds since the run began; each listener sees each event once, in order."""

    clock: Callable[[], float]
    listeners: Sequence[Callable[[Event], None]] = ()
    events: list[Event] = field(default_factory=list)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def emit(self, kind: str, /, **data: Any) -> Event:
        """Appends one event. An unknown kind is a defect of the harness, so it raises KeyError."""
        KINDS[kind]
        with self._turn:  # an event's index is its place: proof refers to it
            event = Event(len(self.events), round(self.clock(), 6), kind, data)
            self.events.append(event)
            for listener in self.listeners:
                listener(event)
        return event

    def tell(self, kind: str, /, **data: Any) -> None:
        """`emit` for those who have no use for the event."""
        self.emit(kind, **data)


def of_kind(events: Iterable[Event], kind: str) -> Iterator[Event]:
    return (event for event in events if event.kind == kind)


def requests(events: Iterable[Event], load: str) -> list[Event]:
    """The requests of one load by their name, in the order they were answered."""
    return [event for event in of_kind(events, "request") if event.data.get("load") == load]


def of_scenario(events: Sequence[Event], scenario: str | None = None) -> Sequence[Event]:
    """The events of one scenario, from its last start to the next scenario's; of the last one when none is named.

    A run holds several, and names of loads are their own in each. Everything, where the scenario never started."""
    starts = [at for at, event in enumerate(events) if event.kind == "scenario-started"]
    own = [at for at in starts if scenario in (None, events[at].data.get("scenario"))]
    if not own:
        return events
    following = [at for at in starts if at > own[-1]]
    return events[own[-1] : following[0] if following else len(events)]
