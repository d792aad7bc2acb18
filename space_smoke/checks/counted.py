"""counted: a service counted so many between two readings of its metrics, all its pods together.

A counter that has no series yet is zero. It must be the same pods that were read, and none of their counters may have gone
back: a process that began anew has counted what nobody knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, after = check.arguments["load"], check.arguments["after"]
    if why := facts.unfinished(events, after, load):
        return say.unknown(check, why)
    readings = [history.requests(events, name) for name in (after, load)]
    every = [event for read in readings for event in read]
    unread = [event for event in every if facts.status(event) != 200 or _sum(event, check) is None]
    if unread:
        why = f"{facts.text(unread[0], 'pod') or 'a pod'} told no {_named(check)}"
        return say.unknown(check, why, facts.indexes(unread))
    proof = facts.indexes(every)
    before, now = ({facts.text(event, "pod"): _sum(event, check) or 0.0 for event in read} for read in readings)
    if before.keys() != now.keys():
        return say.unknown(
            check, f"read of {say.some(sorted(before))} first, and then of {say.some(sorted(now))}", proof
        )
    back = sorted(pod for pod, value in now.items() if value < before[pod])
    if back:
        return say.unknown(check, f"the counter went back in {say.some(back)}", proof)
    rose = sum(now.values()) - sum(before.values())
    exactly, least = check.arguments.get("by"), check.arguments.get("at_least")
    if (exactly is not None and rose != exactly) or (least is not None and rose < least):
        wanted = f"{exactly}" if exactly is not None else f"{least} or more"
        expected = f"{_named(check)} to rise by {wanted} from load {after} to load {load}"
        return say.failed(check, expected, f"{rose:g}", proof)
    return say.passed(check, f"{_named(check)} rose by {rose:g} in {say.count(len(now), 'pod')}", proof)


def _sum(event: history.Event, check: scenario.Check) -> float | None:
    """What one pod had counted; None where it has no such metric, or a sample of it is no number."""
    metric, labels = check.arguments["metric"], dict(check.arguments.get("labels") or {})
    declared, listed = event.data.get("declared"), event.data.get("samples")
    if not isinstance(declared, list | tuple) or metric not in declared or not isinstance(listed, list | tuple):
        return None
    counted = 0.0
    for sample in listed:
        if sample["name"] == metric and labels.items() <= dict(sample["labels"]).items():
            if not isinstance(sample["value"], int | float):
                return None
            counted += sample["value"]
    return counted


def _named(check: scenario.Check) -> str:
    labels = ",".join(f"{name}={value}" for name, value in (check.arguments.get("labels") or {}).items())
    return f"{check.arguments['metric']}{{{labels}}}" if labels else str(check.arguments["metric"])


KIND = kinds.CheckKind(
    name="counted",
    summary="a service counted so many between two readings of its metrics, all its pods together",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "after", "metric"],
        "oneOf": [{"required": ["by"]}, {"required": ["at_least"]}],
        "properties": {
            "load": {"type": "string", "description": "the service-metrics load that read it afterwards"},
            "after": {"type": "string", "description": "the service-metrics load that read it before"},
            "metric": {"type": "string", "description": "a counter that both read"},
            "labels": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "only the series with these labels",
            },
            "by": {"type": "integer", "minimum": 0, "description": "exactly so many"},
            "at_least": {"type": "integer", "minimum": 1, "description": "so many or more"},
        },
    },
    judge=judge,
    looks_at="load",
)
