"""current-pods: no load began while an old pod was still there, and every answer came from a pod of that list.

A wait that takes a rollout for finished while old pods still answer makes every other check judge the wrong pods.
"""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], the: scenario.Scenario) -> verdict.Verdict:
    named = check.arguments.get("loads", "all")
    loads = list(named) if isinstance(named, list | tuple) else facts.loads_of(the, "all")
    seen = [_one_load(check, events, load) for load in loads]
    for judged in (verdict.Judged.FAIL, verdict.Judged.UNKNOWN):
        if worst := next((one for one in seen if one.judged == judged), None):
            return worst
    proof = [index for one in seen for index in one.proof]
    return say.passed(check, f"{say.count(len(loads), 'load')} began on current pods, which alone answered", proof)


def _one_load(check: scenario.Check, events: Sequence[history.Event], load: str) -> verdict.Verdict:
    listed = facts.pods_before(events, load)
    if listed is None or not facts.pods(listed):
        return say.unknown(check, f"no list of pods was read before load {load}")
    old = [pod for pod in facts.pods(listed) if pod.get("terminating") is not False or pod.get("current") is not True]
    if old:
        words = say.some(f"{pod.get('name')} ({_state(pod.get('terminating'))})" for pod in old)
        return say.failed(check, f"only current pods when load {load} began", words, [listed.index])
    names = {pod.get("name") for pod in facts.pods(listed)}
    # Where the API server reached no pod, none answered.
    own = (event for event in history.requests(events, load) if not event.data.get("unreached"))
    answered = [event for event in own if facts.status(event) is not None]
    strange = [event for event in answered if event.data.get("pod") is not None and event.data["pod"] not in names]
    if strange:
        words = say.some(dict.fromkeys(str(event.data["pod"]) for event in strange))
        return say.failed(
            check,
            f"answers from {say.some(sorted(map(str, names)))} alone in load {load}",
            f"{len(strange)} from {words}",
            [listed.index, *facts.indexes(strange)],
        )
    nameless = [event for event in answered if event.data.get("pod") is None]
    if nameless:
        why = f"{say.count(len(nameless), 'answer')} of load {load} did not say which pod gave it"
        return say.unknown(check, why, facts.indexes(nameless))
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    return say.passed(check, f"load {load}", [listed.index])


def _state(terminating: object) -> str:
    return "of an older ReplicaSet" if terminating is False else "terminating"


KIND = kinds.CheckKind(
    name="current-pods",
    summary="no load began while an old pod was there, and only the pods listed then answered (added to every scenario)",
    schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "loads": {
                "default": "all",
                "oneOf": [
                    {"const": "all"},
                    {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
                ],
                "description": "all, or the names of loads; leave out those during which pods change on purpose",
            },
        },
    },
    judge=judge,
)
