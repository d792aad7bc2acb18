"""What a scenario will do, act by act. The engine goes through this very list, and `plan` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from space_smoke.model import scenario

Do = Literal["enter", "lower", "raise", "load", "leave"]


@dataclass(frozen=True, slots=True)
class Act:
    """enter and leave: a phase; raise and lower: a fault; load: traffic."""

    do: Do
    phase: str
    fault: scenario.Fault | None = None
    load: scenario.Load | None = None


def acts(the: scenario.Scenario) -> Iterator[Act]:
    """At each phase's beginning what no longer holds is lowered, the last raised first, and then what holds from now on
    is raised, in the order of declaration. After the last phase everything is lowered, the last raised first."""
    up: list[scenario.Fault] = []
    for phase in the.phases:
        yield Act("enter", phase.name)
        holding = the.holding(phase)
        for fault in [fault for fault in reversed(up) if fault not in holding]:
            up.remove(fault)
            yield Act("lower", phase.name, fault=fault)
        for fault in [fault for fault in holding if fault not in up]:
            up.append(fault)
            yield Act("raise", phase.name, fault=fault)
        for load in phase.loads:
            yield Act("load", phase.name, load=load)
        yield Act("leave", phase.name)
    for fault in reversed(up):
        yield Act("lower", "", fault=fault)
