"""decisions-add-up: each limited request carries exactly one decision per limiter that applies to it.

Create: one by concurrency, and one by activation unless concurrency refused first (a request that one limiter refused
must not draw the other's token). Connect: one by concurrency; activation only when it wakes a sandbox. No decision is
misconfigured; store_unavailable only where the phase holds a fault on the store (a `scale` of deployment/space-redis,
or one named in `store_faults`), while such a fault goes up or is put back, and for `recovery` after that: a store that is ready is reachable
only when each node's kube-proxy has heard of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from space_smoke.checks import facts, outages, say
from space_smoke.model import history, kinds, scenario, verdict

STORE = "deployment/space-redis"


def judge(check: scenario.Check, events: Sequence[history.Event], the: scenario.Scenario) -> verdict.Verdict:
    loads = facts.loads_of(the, check.arguments.get("phases", "all"))
    if not loads:
        return say.unknown(check, "the phases it looks at have no load")
    taking = _store_faults(the, check.arguments.get("store_faults", ()))
    may_lack_store = {
        load.name
        for phase in the.phases
        if taking & {fault.name for fault in the.holding(phase)}
        for load in phase.loads
    }
    away = _away(events, taking, float(check.arguments.get("recovery_s", 0.0)))
    limited = [
        event
        for event in history.of_kind(events, "request")
        if event.data.get("do") in facts.LIMITED and _owner(event, loads)
    ]
    answered = [event for event in limited if facts.status(event) is not None]
    wrong = [
        (event, words)
        for event in answered
        if (words := _wrong(event, _owner(event, loads) in may_lack_store or away(event)))
    ]
    if wrong:
        return say.failed(
            check,
            "one decision per limiter on every create and connect",
            f"{len(wrong)} of {len(answered)} wrong: {say.some(dict.fromkeys(words for _, words in wrong))}",
            facts.indexes(event for event, _ in wrong),
        )
    if incomplete := [why for load in loads if (why := facts.unfinished(events, load))]:
        return say.unknown(check, say.some(incomplete))
    silent = [event for event in limited if facts.status(event) is None]
    if silent:
        why = f"{say.count(len(silent), 'limited request')} got no answer"
        return say.unknown(check, f"{why} ({facts.text(silent[0], 'error')})", facts.indexes(silent))
    if not limited:
        return say.unknown(check, "no create or connect was made in these phases")
    made = sum(len(facts.decisions(event)) for event in limited)
    sentence = f"{say.count(len(limited), 'limited request')} carried {say.count(made, 'decision')}, as they should"
    return say.passed(check, sentence, facts.indexes(limited))


def _owner(event: history.Event, loads: Collection[str]) -> str:
    return facts.owner(facts.text(event, "load"), loads)


def _store_faults(the: scenario.Scenario, named: Sequence[str]) -> set[str]:
    """The faults that take the store away on purpose."""
    return {
        fault.name for fault in the.faults if fault.name in named or (fault.kind, str(fault.target)) == ("scale", STORE)
    }


def _away(events: Sequence[history.Event], taking: set[str], recovery_s: float) -> Callable[[history.Event], bool]:
    """Whether a request was under way while such a fault was, or within `recovery_s` of its restore: loads may go on
    beside the phases of a fault."""
    windows = [window for window in outages.windows(events, sorted(taking)).values() if window is not None]
    return lambda event: any(window.holds(event, recovery_s) for window in windows)


def _wrong(event: history.Event, may_lack_store: bool) -> str:
    made = facts.decisions(event)
    concurrency, activation = made.get("concurrency"), made.get("activation")
    if concurrency is None:
        return f"{event.data.get('do')} without a concurrency decision"
    if concurrency.outcome == "refused" and activation is not None:
        return f"refused by concurrency, and yet activation {activation.outcome}"
    if event.data.get("do") == "create" and concurrency.outcome != "refused" and activation is None:
        return "create without an activation decision"
    for name, decided in made.items():
        if decided.reason == "misconfigured":
            return f"{name} misconfigured"
        if decided.reason == "store_unavailable" and not may_lack_store:
            return f"{name} store_unavailable while the store is up"
    return ""


KIND = kinds.CheckKind(
    name="decisions-add-up",
    summary="every limited request carries exactly one decision per limiter, for an allowed reason",
    schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "phases": {
                "default": "all",
                "oneOf": [
                    {"const": "all"},
                    {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
                ],
                "description": "all, or the names of phases",
            },
            "store_faults": {
                "type": "array",
                "uniqueItems": True,
                "items": {"type": "string"},
                "description": "faults that take the store away, beside a scale of deployment/space-redis",
            },
            "recovery": {
                "type": "string",
                "format": "duration",
                "description": "how long after such a fault was restored a decision may still lack the store",
            },
        },
    },
    judge=judge,
)
