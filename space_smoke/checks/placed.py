"""placed: the pods that a placement load saw are on the nodes of their group, and carry the node selector they should.

A group means something only where there are nodes of other groups too, onto which the scheduler might have put a pod.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.checks import say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, group, of = check.arguments["load"], check.arguments["group"], check.arguments.get("of", "sandboxes")
    seen = last_look(events, load)
    if seen is None:
        return say.unknown(check, f"load {load} did not look where pods are")
    pods = [pod for pod in pods_of(seen, of) if str(pod.get("name")).startswith(check.arguments.get("named", ""))]
    groups = seen.data.get("groups")
    others = [node for node, name in groups.items() if name != group] if isinstance(groups, Mapping) else []
    astray = [pod for pod in pods if pod.get("node") and pod.get("group") != group]
    if astray:
        words = say.some(f"{pod.get('name')} on {pod.get('node')} ({pod.get('group') or 'no group'})" for pod in astray)
        return say.failed(check, f"all {of} on nodes of group {group}", words, [seen.index])
    wanted: Mapping[str, str] = check.arguments.get("selector", {})
    without = [(pod, missing) for pod in pods if (missing := _missing(pod, wanted))]
    if without:
        pod, missing = without[0]
        seen_words = f"{len(without)} of {len(pods)} without {missing} ({pod.get('name')}: {pod.get('selector')})"
        return say.failed(check, f"all {of} with the node selector {dict(wanted)}", seen_words, [seen.index])
    unplaced = [pod for pod in pods if not pod.get("node")]
    if not pods or unplaced:
        why = f"{len(unplaced)} are on no node: {unplaced[0].get('message')}" if unplaced else f"there are no {of}"
        return say.unknown(check, why, [seen.index])
    if not others:
        return say.unknown(check, f"every node is of group {group}: no pod could be elsewhere", [seen.index])
    nodes = say.some(sorted({str(pod.get("node")) for pod in pods}))
    more = f" and carry {dict(wanted)}" if wanted else ""
    return say.passed(check, f"all {len(pods)} {of} are on {nodes}, of group {group}{more}", [seen.index])


def last_look(events: Sequence[history.Event], load: str) -> history.Event | None:
    """The last `placed` event of a load."""
    found = [event for event in history.of_kind(events, "placed") if event.data.get("load") == load]
    return found[-1] if found else None


def pods_of(event: history.Event, of: str) -> list[Mapping[str, Any]]:
    listed = event.data.get(of)
    return [pod for pod in listed if isinstance(pod, Mapping)] if isinstance(listed, list | tuple) else []


def _missing(pod: Mapping[str, Any], wanted: Mapping[str, str]) -> str:
    """The labels that this pod's selector does not ask for."""
    selector = pod.get("selector")
    own = selector if isinstance(selector, Mapping) else {}
    return say.some(f"{key}={value}" for key, value in wanted.items() if own.get(key) != value)


KIND = kinds.CheckKind(
    name="placed",
    summary="pods are on the nodes of their group, with the node selector they should carry",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "group"],
        "properties": {
            "load": {"type": "string", "description": "the placement load that looked"},
            "group": {"type": "string", "description": "the node group, as in the label space-smoke.dev/group"},
            "of": {"enum": ["sandboxes", "services"], "default": "sandboxes", "description": "which pods"},
            "named": {"type": "string", "description": "only pods whose name begins so"},
            "selector": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"type": "string"},
                "description": "labels that each pod's node selector must ask for",
            },
        },
    },
    judge=judge,
    looks_at="load",
)
