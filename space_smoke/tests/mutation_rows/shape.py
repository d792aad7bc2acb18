"""The shape of the table of mutations, and what its rows share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

API = "deployment/space-api"
EVERY = "every scenario"
NO_CAP = "the cap is not the one that is claimed"

Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Spoiling:
    """One place of a scenario's file (a path of keys; `+` at its end appends to a list) and its other value."""

    path: Keys
    value: Any


@dataclass(frozen=True, slots=True)
class Row:
    """`switch` is a service's (or several, with commas), of `release`, unless `harness`; without one there is a `spoiling`. `breaks`: in words."""

    scenario: str
    check: str
    breaks: str
    switch: str = ""
    harness: bool = False
    spoiling: Spoiling | None = None
    release: str = "space-api"


def env(fault: int, name: str, value: str) -> Spoiling:
    """Another value of a variable that a fault sets."""
    return Spoiling(("faults", fault, "env", name), value)


def more(**fault: Any) -> Spoiling:
    """One fault more."""
    return Spoiling(("faults", "+"), fault)


def only(**fault: Any) -> Spoiling:
    """A fault, in a scenario that has none."""
    return Spoiling(("faults",), [fault])


def attempt(phase: int, load: int, number: int, argument: str, value: Any) -> Spoiling:
    """Another argument of one attempt of a load."""
    return Spoiling(("phases", phase, "loads", load, "attempts", number, argument), value)
