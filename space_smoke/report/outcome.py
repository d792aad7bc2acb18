"""The read model of a run: what its events say, gathered once, for every renderer. Pure; takes any history, also one
that was cut at any point: what has not ended has `to_s` None, and a run without its last event is `killed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from space_smoke.model import history, verdict
from space_smoke.report import words

Data = Mapping[str, Any]


@dataclass(slots=True)
class Stretch:
    """Something with a beginning and an end: a step, a wait, a phase. `ok` None: it has not ended."""

    name: str
    from_s: float
    to_s: float | None = None
    ok: bool | None = None
    seconds: float | None = None
    detail: str = ""
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class Fault:
    """Where one fault is up. `restored_s` None: it is not known to be standing again."""

    name: str
    kind: str
    target: str
    domain: str
    value: str
    standing: str
    planned_s: float | None = None
    up_s: float | None = None
    restored_s: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """One request. `looks` is admitted, refused, open (let through without the store), failed or plain."""

    index: int
    sent_s: float
    took_s: float | None
    ended_s: float | None
    status: int | None
    looks: str
    pod: str


@dataclass(slots=True)
class Load:
    name: str
    kind: str
    phase: str
    from_s: float
    to_s: float | None = None
    dots: list[Dot] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    decisions: dict[str, int] = field(default_factory=dict)

    def latencies_s(self) -> tuple[float, float, float] | None:
        """50th and 99th percentile (nearest rank) and maximum of sent-to-headers; None without answers."""
        took = sorted(dot.took_s for dot in self.dots if dot.took_s is not None)
        if not took:
            return None
        rank = [took[max(0, -(-len(took) * percent // 100) - 1)] for percent in (50, 99)]
        return rank[0], rank[1], took[-1]


@dataclass(slots=True)
class Pods:
    at_s: float
    target: str
    load: str
    pods: tuple[Data, ...]


@dataclass(slots=True)
class Scenario:
    """`outcome` is "" while it has not ended. The four results stay apart: `outcome` is the hypothesis'."""

    id: str
    claim: str
    from_s: float
    seed: Any = None
    to_s: float | None = None
    seconds: float | None = None
    outcome: str = ""
    injection: str = ""
    restore: str = ""
    harness: str = ""
    exit_code: int | None = None
    phases: list[Stretch] = field(default_factory=list)
    waits: list[Stretch] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    pods: list[Pods] = field(default_factory=list)
    verdicts: list[verdict.Verdict] = field(default_factory=list)
    diagnostics: list[tuple[str, str]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Green in every respect: what counts as a success in JUnit and in the summary."""
        results = (self.injection, self.restore, self.harness)
        return self.outcome == "PASS" and all(result in ("", "ok") for result in results) and not self.exit_code

    @property
    def result(self) -> str:
        """The one word for tables: the outcome, or UNFINISHED."""
        return self.outcome or "UNFINISHED"

    def judged(self, what: verdict.Judged) -> list[verdict.Verdict]:
        return [one for one in self.verdicts if one.judged == what]


@dataclass(slots=True)
class Run:
    started: Data = field(default_factory=dict)
    events: Sequence[history.Event] = ()
    end_s: float = 0.0
    exit_code: int | None = None
    killed: bool = True
    open_faults: int | None = None
    open_names: tuple[str, ...] = ()
    steps: list[Stretch] = field(default_factory=list)
    waits: list[Stretch] = field(default_factory=list)
    repaired: list[Data] = field(default_factory=list)
    refused: list[Data] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scenarios: list[Scenario] = field(default_factory=list)

    @property
    def id(self) -> str:
        return words.one_line(self.started.get("run") or "run")

    def by_index(self) -> dict[int, history.Event]:
        return {event.index: event for event in self.events}


def gather(events: Iterable[history.Event]) -> Run:
    """Folds the events, in order. Events of unknown kinds are kept but not interpreted."""
    run = Run(events=tuple(events))
    for event in run.events:
        run.end_s = max(run.end_s, event.at_s)
        taker = _TAKERS.get(event.kind)
        if taker:
            taker(run, event, event.data)
    return run


def scenario_of(run: Run, event: history.Event) -> Scenario:
    """The scenario that is going on; a nameless one for events that came before any was started."""
    if not run.scenarios:
        run.scenarios.append(Scenario("(no scenario)", "", event.at_s))
    return run.scenarios[-1]


def _say(data: Data, key: str) -> str:
    found = data.get(key)
    return "" if found is None else words.one_line(found)


def _number(data: Data, key: str) -> float | None:
    found = data.get(key)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _whole(data: Data, key: str) -> int | None:
    found = data.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _run_started(run: Run, event: history.Event, data: Data) -> None:
    run.started = data


def _run_ended(run: Run, event: history.Event, data: Data) -> None:
    run.killed, run.exit_code = False, _whole(data, "exit_code")


def _begin(stretches: list[Stretch], event: history.Event, name: str) -> None:
    stretches.append(Stretch(name, event.at_s))


def _end(stretches: list[Stretch], event: history.Event, name: str, detail: str, ok: bool) -> None:
    """Ends the newest open stretch of that name; one that never began is taken to have begun `seconds` before."""
    seconds = _number(event.data, "seconds")
    found = next((one for one in reversed(stretches) if one.name == name and one.to_s is None), None)
    if found is None:
        found = Stretch(name, event.at_s - (seconds or 0.0))
        stretches.append(found)
    found.to_s, found.ok, found.detail = event.at_s, ok, detail
    found.seconds = event.at_s - found.from_s if seconds is None else seconds


def step_name(data: Data) -> str:
    return _say(data, "saying") or _say(data, "step") or "step"


def _step_started(run: Run, event: history.Event, data: Data) -> None:
    _begin(run.steps, event, step_name(data))


def _step_ended(run: Run, event: history.Event, data: Data) -> None:
    _end(run.steps, event, step_name(data), _say(data, "detail"), data.get("ok") is True)


def _waits(run: Run) -> list[Stretch]:
    going_on = run.scenarios and run.scenarios[-1].to_s is None
    return run.scenarios[-1].waits if going_on else run.waits


def _wait_started(run: Run, event: history.Event, data: Data) -> None:
    _begin(_waits(run), event, _say(data, "saying"))


def _wait_ended(run: Run, event: history.Event, data: Data) -> None:
    _end(_waits(run), event, _say(data, "saying"), _say(data, "last"), data.get("ok") is True)


def _scenario_started(run: Run, event: history.Event, data: Data) -> None:
    seed = data.get("seed", run.started.get("seed"))
    run.scenarios.append(Scenario(_say(data, "scenario"), _say(data, "claim"), event.at_s, seed))


def _scenario_ended(run: Run, event: history.Event, data: Data) -> None:
    named = _say(data, "scenario")
    the = next((one for one in reversed(run.scenarios) if one.id == named), None)
    if the is None:  # refused or blocked before it could begin
        the = Scenario(named, _say(data, "claim"), event.at_s, run.started.get("seed"))
        run.scenarios.append(the)
    the.to_s, the.outcome = event.at_s, _say(data, "outcome") or "UNKNOWN"
    the.injection, the.restore, the.harness = (_say(data, key) for key in ("injection", "restore", "harness"))
    the.seconds, the.exit_code = _number(data, "seconds"), _whole(data, "exit_code")
    for phase in the.phases:
        phase.to_s = event.at_s if phase.to_s is None else phase.to_s


def _phase_started(run: Run, event: history.Event, data: Data) -> None:
    phases = scenario_of(run, event).phases
    if phases and phases[-1].to_s is None:  # a phase ends where the next one begins
        phases[-1].to_s = event.at_s
    phases.append(Stretch(_say(data, "phase"), event.at_s, faults=tuple(words.faults(data.get("faults")))))


def _phase_ended(run: Run, event: history.Event, data: Data) -> None:
    _end(scenario_of(run, event).phases, event, _say(data, "phase"), "", data.get("ok", True) is True)


def _fault(run: Run, event: history.Event, data: Data) -> Fault:
    """The newest window of that fault which is still open, or a new one."""
    faults = scenario_of(run, event).faults
    named = _say(data, "fault")
    found = next((one for one in reversed(faults) if one.name == named and one.restored_s is None), None)
    if found is None:
        told = (_say(data, "kind"), _say(data, "target"), _say(data, "domain"))
        found = Fault(named, *told, words.value(data.get("value")), words.value(data.get("standing")))
        faults.append(found)
    return found


def _fault_planned(run: Run, event: history.Event, data: Data) -> None:
    _fault(run, event, data).planned_s = event.at_s


def _fault_up(run: Run, event: history.Event, data: Data) -> None:
    _fault(run, event, data).up_s = event.at_s


def _fault_restored(run: Run, event: history.Event, data: Data) -> None:
    _fault(run, event, data).restored_s = event.at_s


def _fault_kept(run: Run, event: history.Event, data: Data) -> None:
    _fault(run, event, data).error = _say(data, "error") or "kept"


def _pods(run: Run, event: history.Event, data: Data) -> None:
    listed = data.get("pods")
    pods = tuple(pod for pod in listed if isinstance(pod, Mapping)) if isinstance(listed, list | tuple) else ()
    scenario_of(run, event).pods.append(Pods(event.at_s, _say(data, "target"), _say(data, "load"), pods))


def _load_started(run: Run, event: history.Event, data: Data) -> None:
    loads = scenario_of(run, event).loads
    loads.append(Load(_say(data, "load"), _say(data, "kind"), _say(data, "phase"), event.at_s))


def _load(run: Run, event: history.Event, data: Data) -> Load:
    """The load of a request; requests of `<load>.setup` and the like make a load of their own."""
    loads, named = scenario_of(run, event).loads, _say(data, "load")
    found = next((one for one in reversed(loads) if one.name == named), None)
    if found is None:
        found = Load(named, "", "", event.at_s)
        loads.append(found)
    return found


def _load_ended(run: Run, event: history.Event, data: Data) -> None:
    _load(run, event, data).to_s = event.at_s


def _request(run: Run, event: history.Event, data: Data) -> None:
    load = _load(run, event, data)
    sent, answered, status = _number(data, "sent_s"), _number(data, "answered_s"), _whole(data, "status")
    took = None if sent is None or answered is None else answered - sent
    begun = event.at_s if sent is None else sent
    ended = _number(data, "ended_s")
    load.dots.append(Dot(event.index, begun, took, ended, status, _looks(status, data), _say(data, "pod")))
    name = "no answer" if status is None else str(status)
    load.statuses[name] = load.statuses.get(name, 0) + 1
    made = words.decisions(data)
    if made:
        load.decisions[made] = load.decisions.get(made, 0) + 1


def _looks(status: int | None, data: Data) -> str:
    if status is None or status >= 500:
        return "failed"
    if status == 429:
        return "refused"
    made = [data[key] for key in ("activation", "concurrency") if isinstance(data.get(key), Mapping)]
    if any(one.get("reason") not in (None, "none") for one in made):
        return "open"
    return "admitted" if made else "plain"


def _verdict(run: Run, event: history.Event, data: Data) -> None:
    said = _say(data, "judged")
    judged = verdict.Judged(said) if said in set(verdict.Judged) else verdict.Judged.UNKNOWN
    proof = data.get("proof")
    indexes = tuple(i for i in proof if isinstance(i, int)) if isinstance(proof, list | tuple) else ()
    one = verdict.Verdict(_say(data, "check"), judged, _say(data, "sentence"), indexes)
    scenario_of(run, event).verdicts.append(one)


def _open_faults(run: Run, event: history.Event, data: Data) -> None:
    run.open_faults, run.open_names = _whole(data, "count"), tuple(words.faults(data.get("faults")))


def _diagnostics(run: Run, event: history.Event, data: Data) -> None:
    scenario_of(run, event).diagnostics.append((_say(data, "what"), words.clean(data.get("text") or "")))


def _repaired(run: Run, event: history.Event, data: Data) -> None:
    run.repaired.append(data)


def _refused(run: Run, event: history.Event, data: Data) -> None:
    run.refused.append(data)


def _note(run: Run, event: history.Event, data: Data) -> None:
    run.notes.append(_say(data, "sentence"))


_TAKERS = {
    "run-started": _run_started,
    "run-ended": _run_ended,
    "step-started": _step_started,
    "step-ended": _step_ended,
    "wait-started": _wait_started,
    "wait-ended": _wait_ended,
    "scenario-started": _scenario_started,
    "scenario-ended": _scenario_ended,
    "phase-started": _phase_started,
    "phase-ended": _phase_ended,
    "fault-planned": _fault_planned,
    "fault-up": _fault_up,
    "fault-restored": _fault_restored,
    "fault-kept": _fault_kept,
    "pods": _pods,
    "load-started": _load_started,
    "load-ended": _load_ended,
    "request": _request,
    "verdict": _verdict,
    "open-faults": _open_faults,
    "diagnostics": _diagnostics,
    "repaired": _repaired,
    "refused": _refused,
    "note": _note,
}
