"""Folds the events of a run into the read model of `outcome`. Pure; any history will do, also one cut at any point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from space_smoke.model import history, verdict
from space_smoke.report import outcome, words


def run_of(events: Iterable[history.Event]) -> outcome.Run:
    """Folds the events, in order. Events of unknown kinds are kept but not interpreted."""
    run = outcome.Run(events=tuple(events))
    for event in run.events:
        run.end_s = max(run.end_s, event.at_s)
        taker = _TAKERS.get(event.kind)
        if taker:
            taker(run, event, event.data)
    return run


def scenario_of(run: outcome.Run, event: history.Event) -> outcome.Scenario:
    """The scenario that is going on; a nameless one for events that came before any was started."""
    if not run.scenarios:
        run.scenarios.append(outcome.Scenario("(no scenario)", "", event.at_s))
    return run.scenarios[-1]


def _say(data: outcome.Data, key: str) -> str:
    found = data.get(key)
    return "" if found is None else words.one_line(found)


def _number(data: outcome.Data, key: str) -> float | None:
    found = data.get(key)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _whole(data: outcome.Data, key: str) -> int | None:
    found = data.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _run_started(run: outcome.Run, _event: history.Event, data: outcome.Data) -> None:
    run.started = data


def _run_ended(run: outcome.Run, _event: history.Event, data: outcome.Data) -> None:
    run.killed, run.exit_code = False, _whole(data, "exit_code")


def _end(stretches: list[outcome.Stretch], event: history.Event, key: str, detail: str, ok: bool) -> None:
    """Ends the newest open stretch of that key; one that never began is taken to have begun `seconds` before."""
    seconds = _number(event.data, "seconds")
    found = next((one for one in reversed(stretches) if one.key == key and one.to_s is None), None)
    if found is None:
        found = outcome.Stretch(key, key, event.at_s - (seconds or 0.0))
        stretches.append(found)
    found.to_s, found.ok, found.detail = event.at_s, ok, detail
    found.seconds = event.at_s - found.from_s if seconds is None else seconds


def _step_started(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    run.steps.append(outcome.Stretch(_say(data, "step"), _say(data, "saying") or _say(data, "step"), event.at_s))


def _step_ended(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _end(run.steps, event, _say(data, "step"), _say(data, "detail"), data.get("ok") is True)


def _waits(run: outcome.Run) -> list[outcome.Stretch]:
    going_on = run.scenarios and run.scenarios[-1].to_s is None
    return run.scenarios[-1].waits if going_on else run.waits


def _wait_started(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _waits(run).append(outcome.Stretch(_say(data, "saying"), _say(data, "saying"), event.at_s))


def _wait_ended(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _end(_waits(run), event, _say(data, "saying"), _say(data, "last"), data.get("ok") is True)


def _scenario_started(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    seed = data.get("seed", run.started.get("seed"))
    run.scenarios.append(outcome.Scenario(_say(data, "scenario"), _say(data, "claim"), event.at_s, seed))


def _scenario_ended(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    named = _say(data, "scenario")
    the = next((one for one in reversed(run.scenarios) if one.id == named), None)
    if the is None:  # refused or blocked before it could begin
        the = outcome.Scenario(named, _say(data, "claim"), event.at_s, run.started.get("seed"))
        run.scenarios.append(the)
    the.to_s, the.outcome = event.at_s, _say(data, "outcome") or "UNKNOWN"
    the.injection, the.restore, the.harness = (_say(data, key) for key in ("injection", "restore", "harness"))
    the.environment = tuple(words.one_line(one) for one in _listed(data.get("environment")))
    the.seconds, the.exit_code = _number(data, "seconds"), _whole(data, "exit_code")
    for phase in the.phases:
        phase.to_s = event.at_s if phase.to_s is None else phase.to_s


def _phase_started(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    phases = scenario_of(run, event).phases
    if phases and phases[-1].to_s is None:  # a phase ends where the next one begins
        phases[-1].to_s = event.at_s
    named = _say(data, "phase")
    phases.append(outcome.Stretch(named, named, event.at_s, faults=tuple(words.faults(data.get("faults")))))


def _phase_ended(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _end(scenario_of(run, event).phases, event, _say(data, "phase"), "", data.get("ok", True) is True)


def _fault(run: outcome.Run, event: history.Event, data: outcome.Data) -> outcome.Fault:
    """The newest window of that fault which is still open, or a new one."""
    faults = scenario_of(run, event).faults
    named = _say(data, "fault")
    found = next((one for one in reversed(faults) if one.name == named and one.restored_s is None), None)
    if found is None:
        told = (_say(data, "kind"), _say(data, "target"), _say(data, "domain"))
        found = outcome.Fault(named, *told, words.value(data.get("value")), words.value(data.get("standing")))
        faults.append(found)
    return found


def _fault_planned(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _fault(run, event, data).planned_s = event.at_s


def _fault_up(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _fault(run, event, data).up_s = event.at_s


def _fault_restored(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _fault(run, event, data).restored_s = event.at_s


def _fault_kept(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _fault(run, event, data).error = _say(data, "error") or "kept"


def _pods(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    listed = data.get("pods")
    pods = tuple(pod for pod in listed if isinstance(pod, Mapping)) if isinstance(listed, list | tuple) else ()
    scenario_of(run, event).pods.append(outcome.Pods(event.at_s, _say(data, "target"), _say(data, "load"), pods))


def _load_started(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    loads = scenario_of(run, event).loads
    loads.append(outcome.Load(_say(data, "load"), _say(data, "kind"), _say(data, "phase"), event.at_s))


def _load(run: outcome.Run, event: history.Event, data: outcome.Data) -> outcome.Load:
    """The load of a request; requests of `<load>.setup` and the like make a load of their own."""
    loads, named = scenario_of(run, event).loads, _say(data, "load")
    found = next((one for one in reversed(loads) if one.name == named), None)
    if found is None:
        found = outcome.Load(named, "", "", event.at_s)
        loads.append(found)
    return found


def _load_ended(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    _load(run, event, data).to_s = event.at_s


def _request(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    load = _load(run, event, data)
    sent, answered, status = _number(data, "sent_s"), _number(data, "answered_s"), _whole(data, "status")
    took = None if sent is None or answered is None else answered - sent
    begun = event.at_s if sent is None else sent
    ended = _number(data, "ended_s")
    load.dots.append(outcome.Dot(event.index, begun, took, ended, status, _looks(status, data), _say(data, "pod")))
    name = "no answer" if status is None else str(status)
    load.statuses[name] = load.statuses.get(name, 0) + 1
    made = words.decisions(data)
    if made:
        load.decisions[made] = load.decisions.get(made, 0) + 1


def _looks(status: int | None, data: outcome.Data) -> str:
    if status is None or status >= 500:
        return "failed"
    if status == 429:
        return "refused"
    made = [data[key] for key in ("activation", "concurrency") if isinstance(data.get(key), Mapping)]
    if any(one.get("reason") not in (None, "none") for one in made):
        return "open"
    return "admitted" if made else "plain"


def _verdict(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    said = _say(data, "judged")
    judged = verdict.Judged(said) if said in set(verdict.Judged) else verdict.Judged.UNKNOWN
    proof = data.get("proof")
    indexes = tuple(i for i in proof if isinstance(i, int)) if isinstance(proof, list | tuple) else ()
    one = verdict.Verdict(_say(data, "check"), judged, _say(data, "sentence"), indexes)
    scenario_of(run, event).verdicts.append(one)


def _open_faults(run: outcome.Run, _event: history.Event, data: outcome.Data) -> None:
    run.open_faults, run.open_names = _whole(data, "count"), tuple(words.faults(data.get("faults")))


def _diagnostics(run: outcome.Run, event: history.Event, data: outcome.Data) -> None:
    scenario_of(run, event).diagnostics.append((_say(data, "what"), words.clean(data.get("text") or "")))


def _repaired(run: outcome.Run, _event: history.Event, data: outcome.Data) -> None:
    run.repaired.append(data)


def _refused(run: outcome.Run, _event: history.Event, data: outcome.Data) -> None:
    run.refused.append(data)


def _note(run: outcome.Run, _event: history.Event, data: outcome.Data) -> None:
    run.notes.append(_say(data, "sentence"))


_TAKERS: Mapping[str, Callable[[outcome.Run, history.Event, outcome.Data], None]] = {
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
