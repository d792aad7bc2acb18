"""providers-unchanged: each site shows the same providers, by id, and the same number of them at every sample. Sites without
a provider have nothing to lose, which is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, say, spending
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    given = check.arguments
    if why := facts.unfinished(events, given["watch"]):
        return say.unknown(check, why)
    seen = spending.readable(spending.samples(events, given["watch"], given["sites"]))
    if why := spending.too_few(seen, given["samples"]):
        return say.unknown(check, why)
    proof: list[int] = []
    for site, listed in seen.items():
        first = _shown(listed[0])
        if not first[0]:
            return say.unknown(check, f"site {site} showed no provider at first", [listed[0].index])
        proof.append(listed[0].index)
        for sample in listed[1:]:
            if (now := _shown(sample)) != first:
                expected = f"site {site} to go on showing {first[1]} providers: {say.some(first[0], 6)}"
                later = f"{now[1]} ({say.some(now[0], 6) or 'none'}) {sample.sent_s - listed[0].sent_s:.1f} s later"
                return say.failed(check, expected, later, [listed[0].index, sample.index])
    least = min(len(listed) for listed in seen.values())
    shown = f"{_shown(next(iter(seen.values()))[0])[1]} providers"
    return say.passed(check, f"{shown} on each of {len(seen)} sites, the same at all {least} samples or more", proof)


def _shown(sample: spending.Sample) -> tuple[list[str], int | None]:
    """Ids in order, and the number that is told beside them."""
    shown = sample.shown or {}
    return sorted(map(str, shown.get("providers") or ())), shown.get("count")


KIND = kinds.CheckKind(
    name="providers-unchanged",
    summary="each site shows the same providers at every sample",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["watch", "sites", "samples"],
        "properties": {
            "watch": spending.WATCH,
            "sites": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "whose samples"},
            "samples": spending.SAMPLES,
        },
    },
    judge=judge,
    looks_at="watch",
)
