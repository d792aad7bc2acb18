"""outage-bounded: requests fail only around the named faults, for each of them no longer than stated, and succeed again after.

The outage of a fault lasts from the first failed request's sending to the last one's end, which is more than the service
itself was away. A failure belongs to a fault when it was under way between the record that announces the fault and
`within` after its restore.
"""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, outages, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, within_s = check.arguments["load"], check.arguments["within_s"]
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    mine = history.requests(events, load)
    found = outages.windows(events, check.arguments["faults"])
    known = [window for window in found.values() if window is not None]
    bad = [event for event in mine if outages.failed(event)]
    stray = [event for event in bad if not any(window.holds(event, within_s) for window in known)]
    if stray:
        said = facts.text(stray[0], "error") or f"status {facts.status(stray[0])}"
        seen = f"{say.count(len(stray), 'request')} apart from them ({said})"
        return say.failed(check, "requests to fail around the faults only", seen, facts.indexes(stray))
    if len(known) < len(found):
        missing = [fault for fault, window in found.items() if window is None]
        return say.unknown(check, f"not raised and put back: {say.some(missing)}")
    lasted = {}
    for window in known:
        own = [event for event in bad if _newest(event, known, within_s) is window]
        lasted[window.fault] = _span_s(own)
        if lasted[window.fault] > within_s:
            seen = f"{lasted[window.fault]:.1f} s"
            return say.failed(check, f"at most {within_s:g} s of failures by {window.fault}", seen, facts.indexes(own))
        if not any(window.holds(event) for event in mine):
            return say.unknown(check, f"load {load} sent nothing while {window.fault} was there")
        if not any(_after(event, window) for event in mine):
            return say.unknown(check, f"load {load} had no good answer after {window.fault}")
    words = ", ".join(f"{fault} {seconds:.1f} s" for fault, seconds in lasted.items())
    return say.passed(
        check,
        f"{len(bad)} of {say.count(len(mine), 'request')} failed, all around the faults: {words}",
        facts.indexes(bad),
    )


def _newest(event: history.Event, known: Sequence[outages.Window], within_s: float) -> outages.Window | None:
    """The fault that a failure belongs to: the last one that had begun by then."""
    holding = [window for window in known if window.holds(event, within_s)]
    return max(holding, key=lambda window: window.from_s, default=None)


def _span_s(bad: Sequence[history.Event]) -> float:
    if not bad:
        return 0.0
    begun = min(facts.number(event, "sent_s") or 0.0 for event in bad)
    return max(facts.number(event, "ended_s") or event.at_s for event in bad) - begun


def _after(event: history.Event, window: outages.Window) -> bool:
    sent = facts.number(event, "sent_s")
    return sent is not None and sent > window.to_s and not outages.failed(event)


KIND = kinds.CheckKind(
    name="outage-bounded",
    summary="requests fail around the named faults only, each time no longer than stated, and succeed again",
    schema=outages.schema(
        load="the load that went on throughout",
        faults="the faults around which requests may fail",
        within="how long each outage may last",
    ),
    judge=judge,
    looks_at="load",
)
