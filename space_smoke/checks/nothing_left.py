"""nothing-left: a fresh read at the end finds no record on any Lease. No scenario can leave this check out."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    read = list(history.of_kind(events, "open-faults"))
    if not read:
        return say.unknown(check, "the Leases were not read at the end")
    last, count = read[-1], read[-1].data.get("count")
    if not isinstance(count, int) or isinstance(count, bool):
        return say.unknown(check, f"the read of the Leases gave no number ({count!r})", [last.index])
    touched = [e for e in events if e.kind in ("fault-planned", "fault-up") and e.index > last.index]
    if touched:
        return say.unknown(check, "a fault was raised after the Leases were read", [last.index, touched[-1].index])
    if count:
        named = say.some(str(fault) for fault in last.data.get("faults") or ())
        return say.failed(check, "0 open faults", f"{count} ({named})", [last.index])
    return say.passed(check, "a fresh read finds 0 open faults", [last.index])


KIND = kinds.CheckKind(
    name="nothing-left",
    summary="a fresh read at the end finds no open fault (added to every scenario)",
    schema={"type": "object", "additionalProperties": False, "properties": {}},
    judge=judge,
)
