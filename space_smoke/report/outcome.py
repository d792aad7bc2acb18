"""The read model of a run: what its events say, gathered once (`gathering.run_of`), for every renderer.

What has not ended has `to_s` None, and a run without its last event is `killed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from space_smoke.model import history, verdict
from space_smoke.report import words

Data = Mapping[str, Any]


@dataclass(slots=True)
class Stretch:
    """Something with a beginning and an end: a step, a wait, a phase. `key` tells them apart, `name` is for people.
    `ok` None: it has not ended."""

    key: str
    name: str
    from_s: float
    to_s: float | None = None
    ok: bool | None = None
    seconds: float | None = None
    detail: str = ""
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class Fault:
    """Where one fault is up. `restored_s` None: it is not known to be standing again."""

    name: str
    kind: str
    target: str
    domain: str
    value: str
    standing: str
    planned_s: float | None = None
    up_s: float | None = None
    restored_s: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """One request. `looks` is admitted, refused, open (let through without the store), failed or plain."""

    index: int
    sent_s: float
    took_s: float | None
    ended_s: float | None
    status: int | None
    looks: str
    pod: str


@dataclass(slots=True)
class Load:
    name: str
    kind: str
    phase: str
    from_s: float
    to_s: float | None = None
    dots: list[Dot] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    decisions: dict[str, int] = field(default_factory=dict)

    def latencies_s(self) -> tuple[float, float, float] | None:
        """50th and 99th percentile (nearest rank) and maximum of sent-to-headers; None without answers."""
        took = sorted(dot.took_s for dot in self.dots if dot.took_s is not None)
        if not took:
            return None
        rank = [took[max(0, -(-len(took) * percent // 100) - 1)] for percent in (50, 99)]
        return rank[0], rank[1], took[-1]


@dataclass(slots=True)
class Pods:
    at_s: float
    target: str
    load: str
    pods: tuple[Data, ...]


@dataclass(slots=True)
class Scenario:
    """`outcome` is "" while it has not ended. The four results stay apart: `outcome` is the hypothesis'. `environment`:
    what differed of the bench, before and after."""

    id: str
    claim: str
    from_s: float
    seed: Any = None
    to_s: float | None = None
    seconds: float | None = None
    outcome: str = ""
    injection: str = ""
    restore: str = ""
    harness: str = ""
    environment: tuple[str, ...] = ()
    exit_code: int | None = None
    phases: list[Stretch] = field(default_factory=list)
    waits: list[Stretch] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    pods: list[Pods] = field(default_factory=list)
    verdicts: list[verdict.Verdict] = field(default_factory=list)
    diagnostics: list[tuple[str, str]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Green in every respect: what counts as a success in JUnit and in the summary. A verdict that was made anew
        may differ from the outcome that the run told; then the worse one counts."""
        results = (self.injection, self.restore, self.harness)
        green = all(one.judged == verdict.Judged.PASS for one in self.verdicts)
        return (
            self.outcome == "PASS" and green and all(result in ("", "ok") for result in results) and not self.exit_code
        )

    @property
    def result(self) -> str:
        """The one word for tables: the outcome, or UNFINISHED."""
        return self.outcome or "UNFINISHED"

    def judged(self, what: verdict.Judged) -> list[verdict.Verdict]:
        return [one for one in self.verdicts if one.judged == what]


@dataclass(slots=True)
class Run:
    started: Data = field(default_factory=dict)
    events: Sequence[history.Event] = ()
    end_s: float = 0.0
    exit_code: int | None = None
    killed: bool = True
    open_faults: int | None = None
    open_names: tuple[str, ...] = ()
    steps: list[Stretch] = field(default_factory=list)
    waits: list[Stretch] = field(default_factory=list)
    repaired: list[Data] = field(default_factory=list)
    refused: list[Data] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scenarios: list[Scenario] = field(default_factory=list)

    @property
    def id(self) -> str:
        return words.one_line(self.started.get("run") or "run")

    def by_index(self) -> dict[int, history.Event]:
        return {event.index: event for event in self.events}
