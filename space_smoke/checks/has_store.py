"""has-store: every pod says that it has a limiter store, and no decision so far was made without one.

A pod's state (GET /v1/state) tells it per limiter: {"limiters": {"activation": {"store": "configured", ...}, ...}}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

CONFIGURED = "configured"


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, never = check.arguments["load"], check.arguments.get("reason_never", "misconfigured")
    asked = history.requests(events, load)
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    without = [event for event in asked if _configured(event) is False]
    if without:
        return say.failed(
            check,
            "every pod to have a limiter store",
            f"none configured on {say.some(_pod(event) for event in without)}",
            facts.indexes(without),
        )
    forbidden = [
        event
        for event in history.of_kind(events, "request")
        if any(made.reason == never for made in facts.decisions(event).values())
    ]
    if forbidden:
        return say.failed(
            check, f"no decision with reason {never}", f"{len(forbidden)} with it", facts.indexes(forbidden)
        )
    silent = [event for event in asked if _configured(event) is None]
    if silent:
        said = say.some(f"{_pod(event)} ({_answer(event)})" for event in silent)
        return say.unknown(check, f"no state came from {said}", facts.indexes(silent))
    unasked = _unasked(events, load, asked)
    if unasked is None or unasked:
        return say.unknown(
            check, f"not asked: {say.some(unasked)}" if unasked else f"no list of pods was read before load {load}"
        )
    return say.passed(
        check,
        f"{say.count(len(asked), 'answer')} say that a store is configured, and no decision was {never}",
        facts.indexes(asked),
    )


def _configured(event: history.Event) -> bool | None:
    """Whether every limiter of the pod has a store; None when the state does not say."""
    state = event.data.get("state")
    limiters = state.get("limiters") if isinstance(state, Mapping) else None
    if not isinstance(limiters, Mapping) or not limiters:
        return None
    stores = [limiter.get("store") if isinstance(limiter, Mapping) else None for limiter in limiters.values()]
    return None if None in stores else all(store == CONFIGURED for store in stores)


def _pod(event: history.Event) -> str:
    return facts.text(event, "pod") or facts.text(event, "pod_asked") or "a pod without a name"


def _answer(event: history.Event) -> str:
    return facts.text(event, "error") or f"status {facts.status(event)}"


def _unasked(events: Sequence[history.Event], load: str, asked: Sequence[history.Event]) -> list[str] | None:
    listed = facts.pods_before(events, load)
    if listed is None:
        return None
    answered = {_pod(event) for event in asked}
    return [str(pod.get("name")) for pod in facts.pods(listed) if pod.get("name") not in answered]


KIND = kinds.CheckKind(
    name="has-store",
    summary="every pod has a limiter store, and no decision was made without one",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load"],
        "properties": {
            "load": {"type": "string", "description": "the api-state load that asks the pods"},
            "reason_never": {
                "type": "string",
                "enum": ["misconfigured", "store_unavailable"],
                "default": "misconfigured",
                "description": "the reason that no decision of the run so far may carry",
            },
        },
    },
    judge=judge,
    looks_at="load",
)
