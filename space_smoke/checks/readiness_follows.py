"""readiness-follows: each pod says that it is not ready while something it needs is away, and ready again in time; and it
says that it lives throughout, for a restart would help nobody. From the answers of an api-health load."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, outages, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, within_s = check.arguments["load"], check.arguments["within_s"]
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    mine = history.requests(events, load)
    dead = [event for event in mine if event.data.get("do") == "healthz" and facts.status(event) not in (200, None)]
    if dead:
        seen = f"{len(dead)} answered {facts.status(dead[0])} on {say.some(dict.fromkeys(map(_pod, dead)))}"
        return say.failed(check, "every pod to say that it lives, throughout", seen, facts.indexes(dead))
    found = outages.windows(events, check.arguments["faults"])
    if missing := [fault for fault, window in found.items() if window is None]:
        return say.unknown(check, f"not raised and put back: {say.some(missing)}")
    silent = [event for event in mine if facts.status(event) is None]
    if silent:
        why = f"{say.count(len(silent), 'question')} got no answer ({facts.text(silent[0], 'error')})"
        return say.unknown(check, why, facts.indexes(silent))
    asked = [event for event in mine if event.data.get("do") == "readyz"]
    proof: list[int] = []
    for window in (window for window in found.values() if window is not None):
        for pod in sorted({_pod(event) for event in asked}):
            judged = _one_pod(check, window, pod, [event for event in asked if _pod(event) == pod], within_s)
            if judged.judged is not verdict.Judged.PASS:
                return judged
            proof += judged.proof
    pods = say.count(len({_pod(event) for event in asked}), "pod")
    sentence = f"each of {pods} was unready in each of {say.count(len(found), 'outage')}, ready within {within_s:g} s after it, and alive throughout"
    return say.passed(check, sentence, proof)


def _one_pod(
    check: scenario.Check, window: outages.Window, pod: str, asked: Sequence[history.Event], within_s: float
) -> verdict.Verdict:
    during = [event for event in asked if window.holds(event)]
    if not during:
        return say.unknown(check, f"pod {pod} was not asked while {window.fault} was there")
    unready = [event for event in during if facts.status(event) != 200]
    if not unready:
        expected = f"pod {pod} to be unready at some time while {window.fault} was there"
        return say.failed(check, expected, f"ready at all {len(during)} times", facts.indexes(during))
    after = [event for event in asked if (facts.number(event, "sent_s") or 0.0) > window.to_s]
    ready = next((event for event in after if facts.status(event) == 200), None)
    late_s = None if ready is None else (facts.number(ready, "answered_s") or ready.at_s) - window.to_s
    if ready is None and not after:
        return say.unknown(check, f"pod {pod} was not asked after {window.fault}")
    if late_s is None or late_s > within_s:
        seen = "not at all" if late_s is None else f"after {late_s:.1f} s"
        expected = f"pod {pod} to be ready within {within_s:g} s of the end of {window.fault}"
        return say.failed(check, expected, seen, facts.indexes(after))
    return say.passed(check, "", [unready[0].index, *([ready.index] if ready else [])])


def _pod(event: history.Event) -> str:
    return facts.text(event, "pod_asked") or facts.text(event, "pod")


KIND = kinds.CheckKind(
    name="readiness-follows",
    summary="each pod turns unready while what it needs is away, ready again in time, and lives throughout",
    schema=outages.schema(
        load="the api-health load that went on throughout",
        faults="the faults that take away what a pod needs",
        within="counted from a fault's restore",
    ),
    judge=judge,
    looks_at="load",
)
