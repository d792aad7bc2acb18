"""What loads share that try things one by one: how an attempt is named in a scenario, and the event that tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.loads import traffic

NAME: Mapping[str, Any] = {"type": "string", "minLength": 1, "description": "what checks call it"}
_SAID = 2000  # characters of a refusal that are worth keeping: its last ones


def tell(load: traffic.Traffic, number: int, name: str, *, accepted: bool, code: str, said: str, **more: Any) -> None:
    """Appends the event `attempt`: `code` is that of a refusal, `said` its message."""
    load.emit(
        "attempt",
        load=load.load.name,
        n=number,
        attempt=name,
        accepted=accepted,
        code=code,
        said=said[-_SAID:],
        **more,
    )


def judged(load: traffic.Traffic, number: int, name: str, status: int, said: str) -> None:
    """The same of what the API server answered with this status."""
    accepted = status < 300
    tell(load, number, name, accepted=accepted, code="" if accepted else str(status), said=said, shows={})
