"""What checks read out of events, in one place. Every reader takes any data and gives None for what is not there.

Times are seconds since the run began. A request's data is described in `space_smoke.loads`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke.model import history, scenario

LIMITED = ("create", "connect")  # what the limiters decide on


@dataclass(frozen=True, slots=True)
class Decision:
    """What one limiter decided on one request."""

    outcome: str
    reason: str
    would_reject: bool


def number(event: history.Event, key: str) -> float | None:
    value = event.data.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def status(event: history.Event) -> int | None:
    value = event.data.get("status")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text(event: history.Event, key: str) -> str:
    value = event.data.get(key)
    return value if isinstance(value, str) else ""


def decision(event: history.Event, limiter: str) -> Decision | None:
    """`limiter` is activation or concurrency."""
    value = event.data.get(limiter)
    if not isinstance(value, Mapping):
        return None
    return Decision(str(value.get("outcome")), str(value.get("reason")), value.get("would_reject") is True)


def decisions(event: history.Event) -> dict[str, Decision]:
    found = {name: decision(event, name) for name in ("activation", "concurrency")}
    return {name: made for name, made in found.items() if made is not None}


def indexes(events: Iterable[history.Event]) -> list[int]:
    return [event.index for event in events]


def unfinished(events: Sequence[history.Event], *loads: str) -> str:
    """Why the requests of the first such load cannot be taken as complete, or "". A truncated history must never pass."""
    return next((why for load in loads if (why := _unfinished(events, load))), "")


def _unfinished(events: Sequence[history.Event], load: str) -> str:
    if not any(event.data.get("load") == load for event in history.of_kind(events, "load-started")):
        return f"load {load} never started"
    ends = [event for event in history.of_kind(events, "load-ended") if event.data.get("load") == load]
    if not ends:
        return f"load {load} did not end"
    said, held = ends[-1].data.get("requests"), len(history.requests(events, load))
    if isinstance(said, int) and held < said:
        return f"load {load} made {said} requests, and the history holds {held}"
    return "" if held else f"load {load} made no request"


def loads_of(the: scenario.Scenario, phases: object) -> list[str]:
    """The names of the loads in the named phases; any other value than a list means all phases."""
    wanted = phases if isinstance(phases, list | tuple) else [phase.name for phase in the.phases]
    return [load.name for phase in the.phases if phase.name in wanted for load in phase.loads]


def owner(name: str, loads: Iterable[str]) -> str:
    """The load that a request's load name belongs to: its own, or that of `<load>.setup` and `<load>.cleanup`; or ""."""
    known = set(loads)
    return name if name in known else (name.rpartition(".")[0] if name.rpartition(".")[0] in known else "")


def pods_before(events: Sequence[history.Event], load: str) -> history.Event | None:
    """The list of pods that was read right before a load began; the last one if it was read more than once."""
    found = [event for event in history.of_kind(events, "pods") if event.data.get("load") == load]
    return found[-1] if found else None


def pods(event: history.Event) -> list[Mapping[str, Any]]:
    listed = event.data.get("pods")
    return [pod for pod in listed if isinstance(pod, Mapping)] if isinstance(listed, list | tuple) else []


def high_latency(values: Sequence[float]) -> tuple[float, str]:
    """The 99th percentile by nearest rank, and its name. Under 20 values it is the maximum, and is called so."""
    ordered = sorted(values)
    if len(ordered) < 20:
        return ordered[-1], "max"
    return ordered[-(-len(ordered) * 99 // 100) - 1], "p99"
