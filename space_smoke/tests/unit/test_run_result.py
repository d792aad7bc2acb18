"""The exit code of one scenario says why it could not be judged, before it says that it could not."""

from __future__ import annotations

import pytest

from space_smoke import errors
from space_smoke.model import plan, run, scenario, verdict

PASS, FAIL, UNKNOWN, BLOCKED = (getattr(verdict.Outcome, name) for name in ("PASS", "FAIL", "UNKNOWN", "BLOCKED"))


@pytest.mark.parametrize(
    ("outcome", "codes", "expected"),
    [
        (PASS, (), 0),
        (FAIL, (), errors.FAILED),
        (UNKNOWN, (), errors.FAILED),
        (BLOCKED, (), errors.UNFIT),
        (UNKNOWN, (errors.USAGE,), errors.USAGE),
        (UNKNOWN, (errors.UNFIT,), errors.UNFIT),
        (UNKNOWN, (errors.UNFIT, errors.INCOMPLETE), errors.INCOMPLETE),
        (PASS, (errors.INCOMPLETE,), errors.INCOMPLETE),
        (FAIL, (errors.UNFIT,), errors.FAILED),
    ],
)
def test_a_scenarios_exit_code(outcome: verdict.Outcome, codes: tuple[int, ...], expected: int) -> None:
    assert run.Result("a.b", "claim", outcome, codes=codes).exit_code == expected


def fault(name: str, *phases: str) -> scenario.Fault:
    return scenario.Fault(name, "scale", scenario.Target("deployment", name), {"replicas": 0}, phases)


def test_a_plan_lowers_before_it_raises_and_lowers_the_last_raised_first() -> None:
    the = scenario.Scenario(
        "area",
        "name",
        "claim",
        (),
        60.0,
        scenario.BenchNeeds(),
        (fault("a", "one", "two", "three"), fault("b", "two"), fault("c", "two"), fault("d", "three")),
        tuple(scenario.Phase(name) for name in ("one", "two", "three")),
        (),
    )
    done = [(act.phase, act.do, act.fault.name) for act in plan.acts(the) if act.fault is not None]
    assert done == [
        ("one", "raise", "a"),
        ("two", "raise", "b"),
        ("two", "raise", "c"),
        ("three", "lower", "c"),
        ("three", "lower", "b"),
        ("three", "raise", "d"),
        ("", "lower", "d"),
        ("", "lower", "a"),
    ]
