"""status-quiet: while nothing happens no site writes its GridNetwork: the resourceVersion is the same at every sample of the
watch, over the stated time at least. Spend that was told meanwhile, or shortly before, makes it unknown: then something
happened."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, gossip_bounds, say, spending
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    given = check.arguments
    for_s = float(given["for_s"])
    if why := facts.unfinished(events, given["watch"]):
        return say.unknown(check, why)
    seen = spending.readable(spending.samples(events, given["watch"], given["sites"]))
    if why := spending.too_few(seen, given["samples"]):
        return say.unknown(check, why)
    short = {site: listed[-1].seen_s - listed[0].sent_s for site, listed in seen.items()}
    if site := next((site for site, span_s in short.items() if span_s < for_s), None):
        return say.unknown(check, f"site {site} was watched for {short[site]:.1f} s of {for_s:g} s")
    from_s = min(listed[0].sent_s for listed in seen.values()) - gossip_bounds.SHOWN_S
    to_s = max(listed[-1].seen_s for listed in seen.values())
    noise = [order for order in spending.orders(events) if from_s <= order.sent_s <= to_s]
    if noise:
        return say.unknown(check, "spend was told meanwhile", [noise[0].index])
    proof: list[int] = []
    for site, listed in seen.items():
        first = _version(listed[0])
        changed = next((sample for sample in listed if _version(sample) != first), None)
        if changed is not None:
            writes = len({_version(sample) for sample in listed}) - 1
            later_s = changed.sent_s - listed[0].sent_s
            expected = f"GridNetwork {site} to stay at resourceVersion {first} for {for_s:g} s"
            found = f"{say.count(writes, 'other version')}, first {_version(changed)} {later_s:.1f} s later"
            return say.failed(check, expected, found, [listed[0].index, changed.index])
        proof += [listed[0].index, listed[-1].index]
    least_s = min(short.values())
    return say.passed(check, f"nothing was written on {say.count(len(seen), 'site')} in {least_s:.1f} s", proof)


def _version(sample: spending.Sample) -> str:
    return str((sample.shown or {}).get("version"))


KIND = kinds.CheckKind(
    name="status-quiet",
    summary="no site writes its GridNetwork while nothing happens",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["watch", "sites", "for", "samples"],
        "properties": {
            "watch": {"type": "string", "description": "the grid-watch load, during which nothing happens"},
            "sites": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "whose samples"},
            "for": {"type": "string", "format": "duration", "description": "the watch must have gone on for so long"},
            "samples": spending.SAMPLES,
        },
    },
    judge=judge,
    looks_at="watch",
)
