"""A scenario's run, as one list: preflight, fit, take, phases, look closer, put back, read again, judge.

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
from space_smoke.engine import preflight, scene, signals, tenure
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
    stop: threading.Event = field(default_factory=threading.Event)


def run_scenario(the: scenario.Scenario, on: scene.Scene, leases: tenure.Tenure, past: history.History) -> run.Result:
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
    on.find_targets(the, leases.target)
    blocked = on.fit(the)
    if blocked:
        course.outcome, course.harness = verdict.Outcome.BLOCKED, blocked
    else:
        on.settle(the)
        with signals.guarded(on.emit, the.budget_s) as shield:
            _act(the, on, leases, course)
            with shield.raised():
                if course.injection != run.OK or course.harness != run.OK or _looks_bad(the, past):
                    scene.everything(on, collect.gather, view.NAMESPACE)
                _put_back(leases, course)
        _read_again(on, leases, course)
    verdicts = () if blocked else _judged(the, on, past)
    outcome = course.outcome or verdict.outcome_of(verdicts)
    result = run.Result(
        scenario=the.id,
        claim=the.claim,
        outcome=outcome,
        verdicts=verdicts,
        injection=course.injection,
        restore=course.restore,
        harness=course.harness,
        open_faults=course.open_faults,
        seconds=round(on.clock() - began_s, 3),
        codes=tuple(course.codes),
    )
    on.emit(
        "scenario-ended",
        scenario=the.id,
        outcome=str(outcome),
        injection=result.injection,
        restore=result.restore,
        harness=result.harness,
        seconds=result.seconds,
        exit_code=result.exit_code,
    )
    return result


def _act(the: scenario.Scenario, on: scene.Scene, leases: tenure.Tenure, course: Course) -> None:
    """Takes the domains and goes through the phases; every failure ends up in `course`, none goes past the restore."""
    try:
        leases.take(tenure.domains_of(the))
        for act in plan.acts(the):
            _do(act, the, on, leases, course)
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


def _do(act: plan.Act, the: scenario.Scenario, on: scene.Scene, leases: tenure.Tenure, course: Course) -> None:
    leases.check()
    if act.fault is not None and act.do == "lower":
        leases.lower_fault(act.fault)
    elif act.fault is not None:
        _raise(act.fault, leases, course)
    elif act.load is not None:
        on.drive(act.load, act.phase, course.stop)
    elif act.do == "enter":
        holding = [fault.name for fault in the.faults if act.phase in fault.phases]
        on.emit("phase-started", phase=act.phase, faults=holding)
    else:
        on.emit("phase-ended", phase=act.phase, ok=True)


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
