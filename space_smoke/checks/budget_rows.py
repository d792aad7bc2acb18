"""budget-rows: at the end of a watch each named site has exactly these budget rows, or none at all. Of a row only the fields
that are given are compared. `against` names an earlier watch: what it showed last of spend must still be there, no less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke.checks import condition, facts, say, spending
from space_smoke.model import history, kinds, scenario, verdict

_FIELDS = ("spendUsd", "capUsd", "spendRatio")


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    given, proof = check.arguments, list[int]()
    if why := facts.unfinished(events, given["watch"], *([given["against"]] if "against" in given else [])):
        return say.unknown(check, why)
    for site in given["sites"]:
        sample = _last(events, given["watch"], site)
        if sample is None:
            return say.unknown(check, f"site {site} was not seen")
        proof.append(sample.index)
        if not condition.is_current(sample):
            return say.unknown(check, f"site {site} shows an earlier generation than its newest", proof)
        if found := _differences(sample, given["rows"]):
            return say.failed(check, f"site {site} to show {found[0]}", found[1], [sample.index])
        if "against" in given:
            before = _last(events, given["against"], site)
            if before is None or before.rows is None:
                return say.unknown(check, f"site {site} showed no rows in load {given['against']}", proof)
            lost = [one for one, cents in before.cents.items() if sample.cents.get(one, -1) < cents]
            if lost:
                expected = f"site {site} to show {spending.usd(before.cents[lost[0]])} of tenant {lost[0]} again"
                seen = spending.shown(sample.cents.get(lost[0]))
                return say.failed(check, expected, seen, [before.index, sample.index])
    rows = say.count(len(given["rows"]), "row") if given["rows"] else "no row"
    return say.passed(check, f"{rows} on each of {say.count(len(given['sites']), 'site')}, as stated", proof)


def _last(events: Sequence[history.Event], load: str, site: str) -> spending.Sample | None:
    listed = spending.readable(spending.samples(events, load, [site]))[site]
    return listed[-1] if listed else None


def _differences(sample: spending.Sample, wanted: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """What was expected and what was seen, where they differ."""
    shown = {str(row.get("tenantId")): row for row in sample.rows or ()}
    tenants = [str(row["tenantId"]) for row in wanted]
    if sorted(shown) != sorted(tenants):
        return _named(tenants), _named(sorted(shown))
    for row in wanted:
        for key in _FIELDS:
            seen = shown[str(row["tenantId"])].get(key)
            if key in row and seen != row[key]:
                return f"{key} {row[key]} of tenant {row['tenantId']}", str(seen)
    return None


def _named(tenants: Sequence[str]) -> str:
    return f"rows of {say.some(tenants, 5)} alone" if tenants else "no budget row"


KIND = kinds.CheckKind(
    name="budget-rows",
    summary="sites show exactly these budget rows, or none, at the end of a watch",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["watch", "sites", "rows"],
        "properties": {
            "watch": spending.WATCH,
            "sites": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "whose rows"},
            "against": {"type": "string", "description": "an earlier grid-watch, whose spend must be there again"},
            "rows": {
                "type": "array",
                "description": "one for each tenant; none: there may be no row",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["tenantId"],
                    "properties": {"tenantId": {"type": "string"}, **{key: {"type": "number"} for key in _FIELDS}},
                },
            },
        },
    },
    judge=judge,
    looks_at="watch",
)
