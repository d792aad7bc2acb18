"""Judges a scenario from the events of its run. Called by the engine after the restore, and again by `report RUN`.

A check that crashes is `unknown` with the exception's name: a defect in a judge must never read as a pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import kinds, say
from space_smoke.model import history, scenario, verdict


def judge_all(the: scenario.Scenario, events: Sequence[history.Event]) -> tuple[verdict.Verdict, ...]:
    """One verdict per check, in the scenario's order, then those of `kinds.ALWAYS` that it does not name itself."""
    own = history.of_scenario(events, the.id)
    return tuple(_judge(check, own, the) for check in every_check(the))


def every_check(the: scenario.Scenario) -> tuple[scenario.Check, ...]:
    named = {check.kind for check in the.checks}
    added = (scenario.Check(kind, {}, kind) for kind in kinds.ALWAYS if kind not in named)
    return (*the.checks, *added)


def _judge(check: scenario.Check, events: Sequence[history.Event], the: scenario.Scenario) -> verdict.Verdict:
    try:
        return kinds.KINDS[check.kind].judge(check, events, the)
    except Exception as error:  # not knowing is unknown, whatever the reason
        return say.unknown(check, f"the check itself failed: {type(error).__name__}: {error}")
