"""A journal as text, for `report RUN`: the lines of the run, and for a killed one what was going on when it died."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from space_smoke.model import history
from space_smoke.report import console, ending, gathering, lines, outcome, words


def write(stream: TextIO, events: Sequence[history.Event], *, colour: bool = False, quiet: bool = False) -> None:
    """The same lines that the run printed, as on no terminal; then, if it never ended, its last state."""
    replay = console.Console(stream, colour=colour, quiet=quiet, ticking=False, announcing=False)
    for event in events:
        replay(event)
    replay.close()
    run = gathering.run_of(events)
    if run.killed:
        for line in last_state(run, replay.style):
            stream.write(line.rstrip() + "\n")
        stream.flush()


def last_state(run: outcome.Run, style: lines.Style) -> Iterator[str]:
    """What a journal without an end says of the moment it stopped. The journal is not the cluster: `status` asks that."""
    yield ""
    yield style.paint(f"KILLED: the journal stops {words.seconds(run.end_s) or '0 s'} into the run", "bad")
    for what in going_on(run):
        yield style.spell(f"   {what}")
    up = faults_up(run)
    for fault in up:
        yield style.spell(f"   fault {fault.name} up by the journal: {fault.kind} on {fault.target}, {fault.value}")
    if not up:
        yield "   no fault up by the journal"
    yield from ending.table(run, style)
    yield f"next: {words.NEXT_STATUS}   (reads the Leases; the next run, or {words.NEXT_REPAIR}, puts the bench back)"


def going_on(run: outcome.Run) -> Iterator[str]:
    """Whatever had begun and not ended, the widest first."""
    for step in run.steps:
        if step.to_s is None:
            yield f"in step: {step.name}, since {words.seconds(run.end_s - step.from_s)}"
    the = run.scenarios[-1] if run.scenarios and run.scenarios[-1].to_s is None else None
    waits = [*run.waits, *(the.waits if the else ())]
    if the:
        yield f"in scenario: {the.id}"
        yield from (f"in phase: {phase.name}" for phase in the.phases if phase.to_s is None)
        yield from (f"in load: {load.name}, {words.count(len(load.dots), 'request')} so far" for load in _open(the))
    for wait in waits:
        if wait.to_s is None:
            yield f"waiting for {wait.name}, since {words.seconds(run.end_s - wait.from_s)}"


def _open(the: outcome.Scenario) -> list[outcome.Load]:
    return [load for load in the.loads if load.to_s is None and load.kind]


def faults_up(run: outcome.Run) -> list[outcome.Fault]:
    """Faults that were planned or up and not told restored. A record is written before the act, so a planned one counts."""
    return [fault for the in run.scenarios for fault in the.faults if fault.restored_s is None]
