"""Counts requests as they are answered, by second and in all. What is shown of them is made in `live`.

Latency is from the moment a request was due to its status line, so that one which had to wait for its turn counts as slow.
Percentiles of a second are exact (nearest rank); those of the whole come from logarithmic buckets and are at most 2 %
too high. Called by the command with each event, from any thread.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from space_smoke.model import history
from space_smoke.report import words

LIMITERS = ("activation", "concurrency")
PERCENTS = (50, 95, 99)
SILENT = "no answer"
ANSWERS, UNAVAILABLE, NO_STORE = "answers", "unavailable", "none named"
_GROWTH = 1.02
_LEAST_S = 1e-5
_TREND = 60  # seconds of the trend that are kept

Percentiles = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A second, or the whole. `answers` by status, or SILENT; `decisions` by limiter, then by outcome and reason;
    `store` by what decisions say of it; `percentiles_s` are PERCENTS, None without answers; `behind_s` is the most."""

    answered: int
    answers: Mapping[str, int]
    decisions: Mapping[str, Mapping[str, int]]
    store: Mapping[str, int]
    percentiles_s: Percentiles | None
    behind_s: float


@dataclass(frozen=True, slots=True)
class View:
    """All there is to show at one moment. `waiting`: requests of the load that are due and not answered. `pods`: the store as
    each pod is configured. `trend`: the 99th percentile of the last seconds. `left`: sandboxes that were not deleted."""

    at_s: float
    for_s: float
    what: str
    due: int
    waiting: int
    second: Stretch
    whole: Stretch
    made: int
    deleted: int
    pods: Mapping[str, str]
    trend: Sequence[float | None] = ()
    notes: Sequence[str] = ()
    left: Sequence[str] = ()


@dataclass(slots=True)
class _Tally:
    answers: Counter[str] = field(default_factory=Counter)
    decisions: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in LIMITERS})
    store: Counter[str] = field(default_factory=Counter)
    buckets: Counter[float] = field(default_factory=Counter)
    behind_s: float = 0.0

    def add(self, data: Mapping[str, Any], took_s: float | None) -> None:
        self.answers[SILENT if data.get("status") is None else str(data["status"])] += 1
        self.behind_s = max(self.behind_s, float(data.get("behind_s") or 0.0))
        if took_s is not None:
            self.buckets[took_s] += 1
        for limiter in LIMITERS:
            made = data.get(limiter)
            if isinstance(made, Mapping):
                outcome, reason = words.one_line(made.get("outcome")), words.one_line(made.get("reason") or "none")
                said = outcome if reason == "none" else f"{outcome} ({reason})"
                self.decisions[limiter][said] += 1
                self.decisions[limiter]["would be refused"] += made.get("would_reject") is True
                self.store[{"store_unavailable": UNAVAILABLE, "misconfigured": NO_STORE}.get(reason, ANSWERS)] += 1

    def stretch(self) -> Stretch:
        return Stretch(
            answered=self.answers.total(),
            answers=dict(sorted(self.answers.items())),
            decisions={name: dict(sorted((+made).items())) for name, made in self.decisions.items()},
            store=dict(self.store),
            percentiles_s=ranks(self.buckets),
            behind_s=self.behind_s,
        )


def ranks(took: Mapping[float, int]) -> Percentiles | None:
    """PERCENTS by nearest rank of values with their counts; None without any."""
    total = sum(took.values())
    wanted = [max(1, math.ceil(total * percent / 100)) for percent in PERCENTS]
    found: list[float] = []
    seen = 0
    for value, count in sorted(took.items()):
        seen += count
        while len(found) < len(wanted) and seen >= wanted[len(found)]:
            found.append(value)
    return (found[0], found[1], found[2]) if total else None


def bucket(took_s: float) -> float:
    """The upper edge of the bucket that holds a latency."""
    return _LEAST_S * _GROWTH ** math.ceil(math.log(max(took_s, _LEAST_S) / _LEAST_S, _GROWTH))


class Counts:
    """`load` and `state` are the names of the two loads; a part of the first (setup, cleanup) is not counted with it."""

    def __init__(self, load: str, state: str, *, what: str, turns: int, rate_rps: float, for_s: float) -> None:
        self._load, self._state, self._what = load, state, what
        self._turns, self._rate_rps, self._for_s = turns, rate_rps, for_s
        self._lock = threading.Lock()
        self._second, self._whole = _Tally(), _Tally()
        self._taken = self._made = self._deleted = 0
        self._pods: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._trend: list[float | None] = []
        self._notes: list[str] = []
        self._stopped = False
        self._began_s: float | None = None

    def __call__(self, event: history.Event) -> None:
        with self._lock:
            if event.kind == "load-started":
                self._began_s = event.at_s
            elif event.kind == "note":
                self._stopped |= event.data.get("stopped") is True  # then nothing further is due
                self._notes.append(str(event.data.get("sentence")))
            elif event.data.get("load") == self._state:
                self._add_state(event.data)
            elif event.kind == "request":
                self._add(event.data)

    def _add(self, data: Mapping[str, Any]) -> None:
        self._made += data.get("do") == "create" and data.get("status") == 201
        self._deleted += data.get("do") == "delete" and data.get("status") in (204, 404)
        if data.get("load") != self._load:
            return
        self._taken += "behind_s" in data
        took_s = None
        if data.get("answered_s") is not None:
            took_s = data["answered_s"] - data["sent_s"] + float(data.get("behind_s") or 0.0)
        self._second.add(data, took_s)
        self._whole.add(data, None if took_s is None else bucket(took_s))

    def _add_state(self, data: Mapping[str, Any]) -> None:
        """The store as a pod is configured; pods are asked one after the other, n from 0, so 0 begins a new round."""
        if data.get("n") == 0:
            self._pods, self._asked = self._asked or self._pods, {}
        pod = words.one_line(data.get("pod") or data.get("pod_asked") or "the Service")
        self._asked[pod] = _configured(data.get("state")) if data.get("status") == 200 else SILENT

    def view(self, now_s: float, left: Sequence[str] = ()) -> View:
        """What to show at `now_s`, by the clock of the events; the next second begins here."""
        with self._lock:
            at_s = 0.0 if self._began_s is None else max(0.0, now_s - self._began_s)
            second, self._second = self._second.stretch(), _Tally()
            self._trend = [*self._trend, second.percentiles_s and second.percentiles_s[-1]][-_TREND:]
            due = 0 if self._began_s is None else min(self._turns, math.floor(at_s * self._rate_rps) + 1)
            due = self._taken if self._stopped else max(due, self._taken)
            return View(
                at_s=at_s,
                for_s=self._for_s,
                what=self._what,
                due=due,
                waiting=due - self._taken,
                second=second,
                whole=self._whole.stretch(),
                made=self._made,
                deleted=self._deleted,
                pods={**self._pods, **self._asked},
                trend=tuple(self._trend),
                notes=tuple(self._notes),
                left=tuple(left),
            )


def _configured(state: Any) -> str:
    """`configured`, `absent` or `malformed`, as the pod's limiters say."""
    try:
        return words.one_line(state["limiters"]["activation"]["store"])
    except (KeyError, TypeError):
        return "not told"


def merged(pods: Iterable[str]) -> dict[str, int]:
    """How many pods say what."""
    return dict(sorted(Counter(pods).items()))
