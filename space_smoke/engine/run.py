"""A scenario's run, as one list: preflight, fit, gate, take, phases, look closer, put back, read again, judge.

Acting and judging are different code: phases append events, checks read them afterwards. Whatever happens in the phases,
what was raised is put back, and how that went is a result of its own.
"""

from __future__ import annotations

import threading
import traceback
from dataclasses import dataclass, field

from space_smoke import errors
from space_smoke.bench import collect
from space_smoke.checks import judge
from space_smoke.engine import beside, gate, preflight, provenance, scene, signals, tenure
from space_smoke.lease import view
from space_smoke.model import history, kinds, plan, run, scenario, verdict


@dataclass(slots=True)
class Course:
    """What becomes of one scenario while it runs."""

    injection: str = run.OK
    restore: str = run.OK
    harness: str = run.OK
    outcome: verdict.Outcome | None = None  # set when the verdicts must not decide
    codes: list[int] = field(default_factory=list)
    open_faults: int | None = None
    environment: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    beside: beside.Beside = field(default_factory=beside.Beside)


def run_scenario(
    the: scenario.Scenario, on: scene.Scene, leases: tenure.Tenure, past: history.History, quiet: gate.Gate
) -> run.Result:
    """One scenario, start to verdict. Raises Refused (nothing was done) and RestoreIncomplete from the preflight."""
    began_s = on.clock()
    on.emit(
        "scenario-started",
        scenario=the.id,
        claim=the.claim,
        phases=[phase.name for phase in the.phases],
        checks=[check.label for check in judge.every_check(the)],
        seed=on.seed,
        budget_s=the.budget_s,
    )
    course = Course()
    preflight.preflight(leases, on.emit)
    if mistakes := list(beside.misplaced(the)):
        raise errors.SpecError(mistakes)
    on.find_targets(the, leases.target)
    unfit = _unfit(the, on, quiet, course)
    if not unfit:
        on.settle(the)
        before = _provenance(on, "before")
        with signals.guarded(on.emit, the.budget_s) as shield:
            _act(the, on, leases, course)
            with shield.raised():
                if course.injection != run.OK or course.harness != run.OK or _looks_bad(the, past):
                    scene.everything(on, collect.gather, view.NAMESPACE)
                _put_back(leases, course)
                _still(course)
        _compare(the, on, leases, course, before)
        _read_again(on, leases, course)
    verdicts = () if unfit else _judged(the, on, past)
    result = run.Result(
        scenario=the.id,
        claim=the.claim,
        outcome=_outcome(course, verdicts),
        verdicts=verdicts,
        injection=course.injection,
        restore=course.restore,
        harness=course.harness,
        environment=tuple(course.environment),
        open_faults=course.open_faults,
        seconds=round(on.clock() - began_s, 3),
        codes=tuple(course.codes),
    )
    on.emit(
        "scenario-ended",
        scenario=the.id,
        outcome=str(result.outcome),
        injection=result.injection,
        restore=result.restore,
        harness=result.harness,
        environment=list(result.environment),
        seconds=result.seconds,
        exit_code=result.exit_code,
    )
    return result


def _unfit(the: scenario.Scenario, on: scene.Scene, quiet: gate.Gate, course: Course) -> bool:
    """Whether this bench cannot run the scenario, or has not come to rest; then `course` says why."""
    if blocked := on.fit(the):
        course.outcome, course.harness = verdict.Outcome.BLOCKED, blocked
        return True
    try:
        quiet.once()
    except errors.WaitFailed as error:
        course.outcome, course.harness = verdict.Outcome.ENVIRONMENTAL, gate.failed(error)
        return True
    return False


def _provenance(on: scene.Scene, when: str) -> provenance.Facts:
    facts = provenance.read(on.cluster, on.namespace)
    on.emit("provenance", when=when, facts=provenance.shown(facts))
    return facts


def _compare(
    the: scenario.Scenario, on: scene.Scene, leases: tenure.Tenure, course: Course, before: provenance.Facts
) -> None:
    """What the scenario ran on must be there still. That it could not be read is red, not silence."""
    try:
        after = _provenance(on, "after")
        explained = provenance.explained(the, leases.target)
    except errors.BenchError as error:
        sentence = f"what it ran on could not be read afterwards: {error.message}"
        course.harness = sentence if course.harness == run.OK else f"{course.harness}; {sentence}"
        course.codes.append(errors.UNFIT)
        course.outcome = course.outcome or verdict.Outcome.UNKNOWN
        return
    course.environment = provenance.differences(before, after, explained)
    if course.environment:
        on.emit("environment", scenario=the.id, differs=course.environment)


def _outcome(course: Course, verdicts: tuple[verdict.Verdict, ...]) -> verdict.Outcome:
    """A bench that changed under the run proves nothing, whatever the checks say; whoever interrupted it knows why."""
    if course.environment and not course.harness.startswith("interrupted"):
        return verdict.Outcome.ENVIRONMENTAL
    return course.outcome or verdict.outcome_of(verdicts)


def _act(the: scenario.Scenario, on: scene.Scene, leases: tenure.Tenure, course: Course) -> None:
    """Takes the domains and goes through the phases; every failure ends up in `course`, none goes past the restore."""
    try:
        leases.take(tenure.domains_of(the))
        for act in plan.acts(the):
            _do(act, the, on, leases, course)
        course.beside.end_all()
    except kinds.Unfit as error:
        course.injection = str(error)
        course.codes.append(errors.USAGE)
        course.outcome = verdict.Outcome.UNKNOWN
    except errors.RestoreIncomplete as error:
        course.restore = error.message
        course.outcome = verdict.Outcome.UNKNOWN
    except errors.SpaceSmokeError as error:
        course.harness = error.message
        course.codes.append(error.exit_code)
        course.outcome = verdict.Outcome.UNKNOWN
    except signals.Interrupted as error:
        course.harness = f"interrupted: {error}"
        course.outcome = verdict.Outcome.UNKNOWN
    except Exception as error:  # the harness's own defect; what is up must be put back all the same
        course.harness = f"{type(error).__name__}: {error}"
        course.codes.append(errors.BROKE)
        course.outcome = verdict.Outcome.UNKNOWN
        on.emit("diagnostics", what="traceback of the harness", text=traceback.format_exc())
    finally:
        course.stop.set()
        course.beside.stop_all()


def _still(course: Course) -> None:
    """No load outlives its scenario; a restore does not wait for one. What one raised matters only where nothing else
    went wrong before."""
    try:
        course.beside.end_all()
    except Exception as error:
        if course.harness == run.OK:
            course.harness = f"a load that went on beside the phases: {type(error).__name__}: {error}"
            course.outcome = verdict.Outcome.UNKNOWN


def _do(act: plan.Act, the: scenario.Scenario, on: scene.Scene, leases: tenure.Tenure, course: Course) -> None:
    leases.check()
    if act.fault is not None and act.do == "lower":
        leases.lower_fault(act.fault)
    elif act.fault is not None:
        _raise(act.fault, leases, course)
    elif act.load is not None:
        _load(act.load, act.phase, on, course)
    elif act.do == "enter":
        holding = [fault.name for fault in the.faults if act.phase in fault.phases]
        on.emit("phase-started", phase=act.phase, faults=holding)
    else:
        course.beside.end(act.phase)
        on.emit("phase-ended", phase=act.phase, ok=True)


def _load(load: scenario.Load, phase: str, on: scene.Scene, course: Course) -> None:
    if not beside.through(load):
        on.drive(on.prepared(load, course.stop), phase)
        return
    stop = threading.Event()  # its own: it ends before the run does
    flow = on.prepared(load, stop)
    course.beside.start(load, lambda: on.drive(flow, phase), stop)


def _raise(fault: scenario.Fault, leases: tenure.Tenure, course: Course) -> None:
    try:
        leases.raise_fault(fault)
    except errors.LeaseLost:
        raise
    except (errors.BenchError, errors.Refused) as error:
        course.injection = f"{fault.name}: {error.message}"
        raise


def _put_back(leases: tenure.Tenure, course: Course) -> None:
    try:
        kept = leases.give_back()
    except errors.SpaceSmokeError as error:
        course.restore = error.message
        course.codes.append(errors.LOST if isinstance(error, errors.LeaseLost) else errors.INCOMPLETE)
        return
    if kept:
        course.restore = "; ".join(f"{item.record.name} on {item.record.target}: {item.error}" for item in kept)
        course.codes.append(errors.INCOMPLETE)
    elif course.restore != run.OK:
        course.restore = f"{course.restore} (put back at the second try)"


def _read_again(on: scene.Scene, leases: tenure.Tenure, course: Course) -> None:
    """The end's fresh read. That it could not be had is red, not silence."""
    try:
        left = preflight.open_faults(leases)
    except errors.SpaceSmokeError as error:
        course.restore = f"{course.restore}; what is left could not be read: {error.message}"
        course.codes.append(errors.INCOMPLETE)
        return
    course.open_faults = len(left)
    on.emit("open-faults", count=len(left), faults=left)


def _looks_bad(the: scenario.Scenario, past: history.History) -> bool:
    """Whether the checks, as far as they can be judged before the restore, are not all green."""
    early = [item for item in judge.judge_all(the, past.events) if item.check not in ("nothing-left",)]
    return verdict.outcome_of(early) is not verdict.Outcome.PASS


def _judged(the: scenario.Scenario, on: scene.Scene, past: history.History) -> tuple[verdict.Verdict, ...]:
    verdicts = judge.judge_all(the, past.events)
    for item in verdicts:
        on.emit("verdict", check=item.check, judged=str(item.judged), sentence=item.sentence, proof=list(item.proof))
    return verdicts
