"""What checks of the grid read out of events: what sites were told that tenants spent, and what they showed.

A bench keeps its ledger from one scenario to the next, so sums are counted from a baseline: what a site showed last before
the first spend of the scenario. Money is in whole cents, times are seconds since the run began.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke.checks import facts
from space_smoke.model import history

TAKEN, REFUSED, OPEN = "taken", "refused", "open"
# Refusals of status 503 that come before anything is written (services/grid_operator/ingest.py).
_BEFORE_WRITING = ("mesh_closed", "not_joined")

WATCH = {"type": "string", "description": "the grid-watch load"}
LOADS = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "string"},
    "description": "grid-spend loads that must have ended; all spend of the scenario counts",
}
SAMPLES = {"type": "integer", "minimum": 2, "description": "fewer of a site cannot be judged"}


@dataclass(frozen=True)  # without slots, which would leave no room for what is computed once
class Sample:
    """`shown` as of the load grid-watch: None where the GridNetwork could not be read."""

    index: int
    site: str
    sent_s: float
    seen_s: float
    shown: Mapping[str, Any] | None

    @property
    def epoch(self) -> int | None:
        return None if self.shown is None else self.shown.get("epoch")

    @property
    def rows(self) -> Sequence[Mapping[str, Any]] | None:
        """None where there are none, or could not be read."""
        return None if self.shown is None else self.shown.get("rows")

    @functools.cached_property
    def cents(self) -> Mapping[str, int]:
        """By tenant, of those that have a row."""
        return {str(row["tenantId"]): round(float(row["spendUsd"]) * 100) for row in self.rows or ()}


@dataclass(frozen=True, slots=True)
class Order:
    """One request id, however often it was sent. `fate` is taken once any answer said so, refused when all answers said
    that it was not, and otherwise open. `taken_s` is the first acknowledgement."""

    site: str
    tenant: str
    cents: int
    sent_s: float
    fate: str
    taken_s: float | None
    index: int


def orders(events: Sequence[history.Event]) -> list[Order]:
    """All spend of a scenario, by first sending."""
    sent: dict[str, list[history.Event]] = {}
    for event in history.of_kind(events, "request"):
        if event.data.get("do") == "spend":
            sent.setdefault(facts.text(event, "request_id"), []).append(event)
    return sorted((_order(same) for same in sent.values()), key=lambda one: one.sent_s)


def _order(same: Sequence[history.Event]) -> Order:
    fates = [_fate(event) for event in same]
    taken = [event for event, fate in zip(same, fates, strict=True) if fate == TAKEN]
    first = taken[0] if taken else same[0]
    return Order(
        site=facts.text(first, "site"),
        tenant=facts.text(first, "tenant"),
        cents=int(first.data["cents"]),
        sent_s=min(facts.number(event, "sent_s") or event.at_s for event in same),
        fate=TAKEN if taken else REFUSED if set(fates) == {REFUSED} else OPEN,
        taken_s=min((facts.number(event, "ended_s") or event.at_s for event in taken), default=None),
        index=first.index,
    )


def _fate(event: history.Event) -> str:
    status = facts.status(event)
    if status == 200:
        return TAKEN
    refused = status is not None and 400 <= status < 500
    return REFUSED if refused or facts.text(event, "code") in _BEFORE_WRITING else OPEN


def samples(events: Iterable[history.Event], load: str, sites: Iterable[str] | None = None) -> dict[str, list[Sample]]:
    """By site, each in the order in which they were asked for; an empty list for a named site without any."""
    found: dict[str, list[Sample]] = {site: [] for site in sites or ()}
    for event in history.of_kind(events, "sample"):
        site = facts.text(event, "site")
        if event.data.get("load") == load and (sites is None or site in found):
            shown = event.data.get("shown")
            found.setdefault(site, []).append(
                Sample(
                    event.index,
                    site,
                    facts.number(event, "sent_s") or 0.0,
                    facts.number(event, "seen_s") or event.at_s,
                    shown if isinstance(shown, Mapping) else None,
                )
            )
    for listed in found.values():
        listed.sort(key=lambda one: one.sent_s)
    return found


def readable(seen: Mapping[str, Sequence[Sample]]) -> dict[str, list[Sample]]:
    """Without the samples that could not be had."""
    return {site: [one for one in listed if one.shown is not None] for site, listed in seen.items()}


def too_few(seen: Mapping[str, Sequence[Sample]], least: int) -> str:
    """Why so few samples prove nothing, or ""."""
    few = {site: len(listed) for site, listed in seen.items() if len(listed) < least}
    return ", ".join(f"site {site} has {count} samples of {least}" for site, count in sorted(few.items()))


def baseline(seen: Mapping[str, Sequence[Sample]], before_s: float) -> dict[str, Sample | None]:
    """By site, the last sample with rows that was there before a time."""
    return {
        site: next((one for one in reversed(listed) if one.seen_s <= before_s and one.rows is not None), None)
        for site, listed in seen.items()
    }


def usd(cents: int) -> str:
    return f"{cents / 100:.2f} USD"


def shown(cents: int | None) -> str:
    """What a site shows of a tenant; None: it has no row."""
    return "no row of it" if cents is None else usd(cents)
