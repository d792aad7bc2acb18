"""A scenario as frozen data: one claim with all that is needed to try it. Made by `space_smoke.spec` from YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Arguments = Mapping[str, Any]
CLUSTER_WIDE = ("node", "crd", "gridnetwork")  # target words for what is in no namespace


@dataclass(frozen=True, slots=True)
class Target:
    """`deployment/space-api`, in a namespace ("" is the bench's)."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Fault:
    """Declared once, with the phases it holds in (neighbours in the list of phases)."""

    name: str
    kind: str
    target: Target
    arguments: Arguments
    phases: tuple[str, ...]
    place: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    name: str
    kind: str
    arguments: Arguments
    place: str = ""


@dataclass(frozen=True, slots=True)
class Phase:
    name: str
    loads: tuple[Load, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """`label` tells checks of one kind apart: the kind, and the load or fault it looks at."""

    kind: str
    arguments: Arguments
    label: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class BenchNeeds:
    charts: tuple[str, ...] = ()
    replicas: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scenario:
    """`area` and `name` make the id; `budget_s` is what it may take before it counts as hung."""

    area: str
    name: str
    claim: str
    labels: tuple[str, ...]
    budget_s: float
    bench: BenchNeeds
    faults: tuple[Fault, ...]
    phases: tuple[Phase, ...]
    checks: tuple[Check, ...]
    path: str = ""

    @property
    def id(self) -> str:
        return f"{self.area}.{self.name}"

    def holding(self, phase: Phase) -> tuple[Fault, ...]:
        """The faults that hold in a phase, in the order they are declared, which is the order they are raised."""
        return tuple(fault for fault in self.faults if phase.name in fault.phases)
