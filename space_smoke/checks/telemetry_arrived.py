"""telemetry-arrived: a backend of telemetry has, under a command's trace id, what the sandbox told of it, within a bound.

The bound runs from the command's answer to the moment at which the backend was seen to have it, so the time of its own
ingestion, and of asking, is part of it. From a telemetry-trace load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

_WHAT = {"logs": "a log line", "metrics": "the metric"}


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, what, within_s = check.arguments["load"], check.arguments["what"], float(check.arguments["within_s"])
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    asked = history.requests(events, load)[-1]
    if facts.status(asked) != 200:
        said = facts.status(asked) or facts.text(asked, "error")
        return say.unknown(check, f"the command was not run: it was answered {said}", [asked.index])
    looked = [
        e for e in history.of_kind(events, "telemetry") if (e.data.get("load"), e.data.get("backend")) == (load, what)
    ]
    if not looked:
        return say.unknown(check, f"the backend of {what} was not asked", [asked.index])
    seen, proof = looked[-1], [asked.index, looked[-1].index]
    trace_id, pod, after_s = facts.text(seen, "trace_id"), facts.text(seen, "pod"), facts.number(seen, "after_s")
    if not trace_id or facts.text(asked, "trace_id") != trace_id:
        return say.unknown(check, "the backend was asked for another trace than the command's", proof)
    if fault := facts.text(seen, "fault"):
        return say.unknown(check, f"the backend of {what} could not be asked: {fault}", proof)
    expected = f"{_WHAT[what]} of {pod} under trace {trace_id} within {within_s:g} s of the command's answer"
    held = _held(seen)
    if not any(one.get("pod") == pod for one in held):
        others = say.some(sorted({str(one.get("pod")) for one in held}))
        return say.failed(check, expected, f"only what {others} told" if held else "nothing under that trace", proof)
    if after_s is None:
        return say.unknown(check, "when the backend had it was not noted", proof)
    if after_s > within_s:
        return say.failed(check, expected, f"it after {after_s:.1f} s", proof)
    return say.passed(check, f"{_WHAT[what]} of {pod} is there under trace {trace_id} after {after_s:.1f} s", proof)


def _held(event: history.Event) -> list[Mapping[str, Any]]:
    listed = event.data.get("held")
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list | tuple) else []


KIND = kinds.CheckKind(
    name="telemetry-arrived",
    summary="a telemetry backend has what a sandbox told of a command, by its trace id, within a bound",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "what", "within"],
        "properties": {
            "load": {"type": "string", "description": "the telemetry-trace load"},
            "what": {"enum": sorted(_WHAT), "description": "logs: a line; metrics: the counter, by its exemplar"},
            "within": {"type": "string", "format": "duration", "description": "from the command's answer"},
        },
    },
    judge=judge,
    looks_at="load",
)
