"""spend-replayed: each request that was acknowledged before is acknowledged again, as a repetition. That it added nothing is seen
in the sums, by spend-converges."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, of = check.arguments["load"], check.arguments["after"]
    if why := facts.unfinished(events, of, load):
        return say.unknown(check, why)
    taken = {
        facts.text(event, "request_id"): event for event in history.requests(events, of) if facts.status(event) == 200
    }
    again = [event for event in history.requests(events, load) if facts.text(event, "request_id") in taken]
    if not again:
        return say.unknown(check, f"load {load} repeated nothing that load {of} was acknowledged")
    for event in again:
        if facts.status(event) != 200 or event.data.get("replayed") is not True:
            expected = (
                f"request {facts.text(event, 'request_id')} of site {facts.text(event, 'site')} to be known already"
            )
            said = facts.text(event, "code") or facts.text(event, "error")
            seen = "it taken as a new one" if facts.status(event) == 200 else f"{facts.status(event)} {said}"
            return say.failed(check, expected, seen, [taken[facts.text(event, "request_id")].index, event.index])
    count = say.count(len(again), "request")
    return say.passed(check, f"{count} acknowledged before were known again", facts.indexes(again))


KIND = kinds.CheckKind(
    name="spend-replayed",
    summary="each request that was acknowledged before is acknowledged again, as a repetition",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "after"],
        "properties": {
            "load": {"type": "string", "description": "the grid-spend load that repeated"},
            "after": {"type": "string", "description": "the grid-spend load whose requests it repeated"},
        },
    },
    judge=judge,
    looks_at="load",
)
