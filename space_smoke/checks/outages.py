"""When a fault was on its way in, up, or being put back, and which requests of a load fell into that time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke.checks import facts
from space_smoke.model import history


@dataclass(frozen=True, slots=True)
class Window:
    """From the record that announces a fault to the end of its restore."""

    fault: str
    from_s: float
    to_s: float

    def holds(self, event: history.Event, more_s: float = 0.0) -> bool:
        """Whether some of the request's time lies in it, or in the `more_s` behind it."""
        sent, ended = facts.number(event, "sent_s"), facts.number(event, "ended_s")
        return sent is not None and sent <= self.to_s + more_s and (ended is None or ended >= self.from_s)


def windows(events: Sequence[history.Event], faults: Sequence[str]) -> Mapping[str, Window | None]:
    """By fault; None for one that was not raised, or not put back."""
    return {fault: _window(events, fault) for fault in faults}


def _window(events: Sequence[history.Event], fault: str) -> Window | None:
    times = {
        kind: [event.at_s for event in history.of_kind(events, kind) if event.data.get("fault") == fault]
        for kind in ("fault-planned", "fault-up", "fault-restored")
    }
    if not all(times.values()):
        return None
    return Window(fault, times["fault-planned"][0], times["fault-restored"][-1])


def schema(*, load: str, faults: str, within: str) -> Mapping[str, Any]:
    """The arguments of a check that judges a load around faults; each word says what its argument means there."""
    named = {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}, "description": faults}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "faults", "within"],
        "properties": {
            "load": {"type": "string", "description": load},
            "faults": named,
            "within": {"type": "string", "format": "duration", "description": within},
        },
    }


def failed(event: history.Event) -> bool:
    """No answer, or one that says the service could not."""
    status = facts.status(event)
    return status is None or status >= 500
