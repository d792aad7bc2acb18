"""pending: a sandbox that has nowhere to go waits, on no node, and the scheduler says why. From a placement load's look."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import placed, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, says = check.arguments["load"], check.arguments["says"]
    seen = placed.last_look(events, load)
    if seen is None:
        return say.unknown(check, f"load {load} did not look where pods are")
    pods = placed.pods_of(seen, "sandboxes")
    running = [pod for pod in pods if pod.get("node")]
    if running:
        words = say.some(f"{pod.get('name')} on {pod.get('node')}" for pod in running)
        return say.failed(check, "every sandbox to wait on no node", words, [seen.index])
    if not pods:
        return say.unknown(check, "there was no sandbox that could have waited", [seen.index])
    silent = [pod for pod in pods if pod.get("reason") != "Unschedulable" or says not in str(pod.get("message"))]
    if silent:
        said = f"{silent[0].get('reason') or 'no reason'}: {silent[0].get('message') or 'no message'}"
        return say.failed(
            check, f"the scheduler to say {says!r}", f"{len(silent)} of {len(pods)}: {said}", [seen.index]
        )
    return say.passed(check, f"{say.count(len(pods), 'sandbox')} waiting: {pods[0].get('message')}", [seen.index])


KIND = kinds.CheckKind(
    name="pending",
    summary="sandboxes wait on no node, and the scheduler says why",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "says"],
        "properties": {
            "load": {"type": "string", "description": "the placement load that looked"},
            "says": {"type": "string", "minLength": 1, "description": "words of the scheduler's message"},
        },
    },
    judge=judge,
    looks_at="load",
)
