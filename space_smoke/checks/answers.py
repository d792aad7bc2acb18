"""answers: each named step of a session was answered as stated. Bodies are compared as subsets: what is not named may
be anything; lists must have the same length. `same_as` names a step that put a file: what is read is what it sent, to the
byte, and of several writers at once what one of them sent, whole.

A step of a native-session has two answers: that of its order, and under `ended` what its operation came to. An operation
that had not ended in its time shows the state it was in, which is none of the two that it can end with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

_EXACT = ("status", "state", "code", "exit_code", "stdout", "stderr", "size", "text")
_SUBSETS = ("body", "refused")


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load = check.arguments["load"]
    mine = history.requests(events, load)
    proof: list[int] = []
    missing: list[str] = []
    for wanted in check.arguments["each"]:
        step = wanted["step"]
        made = [event for event in mine if event.data.get("step") == step]
        missing += [] if made else [f"step {step}"]
        for event in made:
            proof.append(event.index)
            if found := _difference(event, wanted, mine):
                expected, seen = found
                return say.failed(check, f"step {step} to answer {expected}", seen, [event.index])
        if "ended" not in wanted:
            continue
        ends = [event for event in _operations(events, load) if event.data.get("step") == step]
        missing += [] if ends else [f"the end of step {step}"]
        for event in ends:
            proof.append(event.index)
            if found := _difference(event, wanted["ended"], mine):
                expected, seen = found
                waited = f"{seen}, {facts.number(event, 'waited_s') or 0.0:.1f} s after its order"
                return say.failed(check, f"the operation of step {step} to end with {expected}", waited, [event.index])
    if missing:
        return say.unknown(check, f"load {load} did not get to {say.some(missing)}", proof)
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    return say.passed(check, f"{say.count(len(check.arguments['each']), 'step')} answered as stated", proof)


def _operations(events: Sequence[history.Event], load: str) -> list[history.Event]:
    return [event for event in history.of_kind(events, "operation") if event.data.get("load") == load]


def _difference(
    event: history.Event, wanted: Mapping[str, Any], mine: Sequence[history.Event]
) -> tuple[str, str] | None:
    if event.kind == "request" and facts.status(event) is None:
        return f"status {wanted.get('status', 'any')}", f"no answer ({facts.text(event, 'error')})"
    for key in _EXACT:
        if key in wanted and not _same(wanted[key], event.data.get(key)):
            return f"{key} {_short(wanted[key])}", _short(event.data.get(key))
    if "says" in wanted and wanted["says"] not in (said := _message(event)):
        return f"a message with {_short(wanted['says'])}", _short(said)
    for key in _SUBSETS:
        if key in wanted and (place := _outside(wanted[key], event.data.get(key), key)):
            return place
    return _other_bytes(event, wanted, mine) or _other_operation(event, wanted, mine)


def _other_operation(
    event: history.Event, wanted: Mapping[str, Any], mine: Sequence[history.Event]
) -> tuple[str, str] | None:
    if "operation_of" not in wanted:
        return None
    of = [one.data.get("operation") for one in mine if one.data.get("step") == wanted["operation_of"]]
    seen = event.data.get("operation")
    if seen is not None and of == [seen]:
        return None
    return f"the operation of step {wanted['operation_of']} ({say.some(map(str, of))})", str(seen)


def _other_bytes(
    event: history.Event, wanted: Mapping[str, Any], mine: Sequence[history.Event]
) -> tuple[str, str] | None:
    if "same_as" not in wanted:
        return None
    sent = [one for one in mine if one.data.get("step") == wanted["same_as"] and one.data.get("sha256")]
    if event.data.get("sha256") in {one.data["sha256"] for one in sent} - {None}:
        return None
    of = (
        f"one of the {len(sent)} that step {wanted['same_as']} sent"
        if len(sent) > 1
        else f"as step {wanted['same_as']} sent it"
    )
    return f"a file {of}", f"{event.data.get('size', 'no')} bytes that are not (SHA-256 {event.data.get('sha256')})"


def _message(event: history.Event) -> str:
    """The sentence of an answer that is an error."""
    body = event.data.get("body")
    error = body.get("error") if isinstance(body, Mapping) else None
    return str(error.get("message", "")) if isinstance(error, Mapping) else ""


def _same(wanted: Any, seen: Any) -> bool:
    """Equality that tells true from 1, which JSON does and Python does not."""
    return isinstance(wanted, bool) == isinstance(seen, bool) and bool(wanted == seen)


def _outside(wanted: Any, seen: Any, place: str) -> tuple[str, str] | None:
    """Where `seen` first differs from what `wanted` names."""
    if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
        inner = ((wanted[key], seen[key] if key in seen else _Absent(), f"{place}.{key}") for key in wanted)
    elif isinstance(wanted, list) and isinstance(seen, list) and len(wanted) == len(seen):
        inner = ((one, other, f"{place}[{i}]") for i, (one, other) in enumerate(zip(wanted, seen, strict=True)))
    else:
        return None if _same(wanted, seen) else (f"{place} {_short(wanted)}", _short(seen))
    return next((found for one, other, where in inner if (found := _outside(one, other, where))), None)


class _Absent:
    def __repr__(self) -> str:
        return "nothing there"


def _short(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 120 else f"{words[:117]}..."


_OF_BOTH: Mapping[str, Any] = {
    "code": {"type": "string", "description": "the machine code of an error"},
    "says": {"type": "string", "minLength": 1, "description": "words in the message of an error"},
    "size": {"type": "integer", "minimum": 0, "description": "bytes of the file that was read"},
    "text": {"type": "string", "description": "the whole file; base64:... when it is no UTF-8"},
    "same_as": {
        "type": "integer",
        "minimum": 0,
        "description": "the put whose bytes were read; of several writers, those of one",
    },
    "body": {"type": "object", "description": "what the body must hold; other keys are free"},
    "exit_code": {"type": "integer"},
    "stdout": {"type": "string", "description": "the whole output; base64:... when it is no UTF-8"},
    "stderr": {"type": "string", "description": "the whole output; base64:... when it is no UTF-8"},
}
_ENDED: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["state"],
    "description": "of a native-session: what the step's operation came to; its body is the operation",
    "properties": {
        "state": {"enum": ["succeeded", "failed"]},
        "refused": {
            "type": ["object", "null"],
            "description": "how it stood when an activation was refused (state, activation, refusals); null: none was",
        },
        **_OF_BOTH,
    },
}

KIND = kinds.CheckKind(
    name="answers",
    summary="each named step of a session was answered as stated, and its operation ended so",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "each"],
        "properties": {
            "load": {"type": "string", "description": "the ecw-session or native-session load"},
            "each": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["step"],
                    "minProperties": 2,
                    "properties": {
                        "step": {"type": "integer", "minimum": 0, "description": "the step's place in the load"},
                        "status": {"type": "integer", "minimum": 100, "maximum": 599},
                        **_OF_BOTH,
                        "operation_of": {
                            "type": "integer",
                            "minimum": 0,
                            "description": "the step whose operation this one is too, by its idempotency key",
                        },
                        "ended": _ENDED,
                    },
                },
            },
        },
    },
    judge=judge,
    looks_at="load",
)
