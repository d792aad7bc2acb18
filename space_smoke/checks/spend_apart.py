"""spend-apart: sites that do not hear of each other's spend, each in its group: at every sample a site shows no more than what
it showed at first and what its own group had been told by then, and in the end all that this group acknowledged.

A group needs the gossip's published bound for itself, from its last acknowledgement: a watch that ends before that, without the
sum, proves nothing. With `among`, only those sites are judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from space_smoke.checks import facts, gossip_bounds, say, spending
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    given = check.arguments
    if why := facts.unfinished(events, *given["loads"], given["watch"]):
        return say.unknown(check, why)
    told = spending.orders([event for event in events if event.data.get("load") in given["loads"]])
    own = {site: [one for one in told if one.site in group] for group in given["groups"] for site in group}
    if missing := sorted(site for site, mine in own.items() if not any(one.fate == spending.TAKEN for one in mine)):
        return say.unknown(check, f"nothing was acknowledged in the group of site {say.some(missing)}")
    judged = given.get("among") or sorted(own)
    seen = spending.readable(spending.samples(events, given["watch"], judged))
    before = spending.baseline(seen, told[0].sent_s)
    proof, early = list[int](), list[str]()
    for site in judged:
        first = before[site]
        if first is None:
            return say.unknown(check, f"site {site} showed no spend before the first was told")
        later = [one for one in seen[site] if one.sent_s > first.sent_s and one.rows is not None]
        if not later:
            return say.unknown(check, f"site {site} showed no spend after the first was told", [first.index])
        if found := _too_much(check, later, own[site], first):
            return found
        if lacking := _lacking(later[-1], own[site], first):
            members = next(len(group) for group in given["groups"] if site in group)
            bound_s = gossip_bounds.shown_s(check, members, gossip_bounds.convergence_s)
            since_s = later[-1].sent_s - max(one.taken_s or 0.0 for one in own[site])
            if since_s > bound_s:
                expected = f"{lacking[0]} on site {site} within {bound_s:.1f} s"
                return say.failed(
                    check, expected, f"{lacking[1]} {since_s:.1f} s after it was acknowledged", [later[-1].index]
                )
            early.append(site)
        proof += [first.index, later[-1].index]
    if early:
        return say.unknown(check, f"site {say.some(early)} was not watched until it showed its group's sum", proof)
    groups = " and ".join("".join(group) for group in given["groups"])
    return say.passed(check, f"each of {say.some(judged)} shows its own group's spend and no other's ({groups})", proof)


def _too_much(
    check: scenario.Check, later: Sequence[spending.Sample], own: Sequence[spending.Order], first: spending.Sample
) -> verdict.Verdict | None:
    for sample in later:
        for tenant, cents in sample.cents.items():
            mine = [one for one in own if one.tenant == tenant and one.fate != spending.REFUSED]
            most = first.cents.get(tenant, 0) + sum(one.cents for one in mine if one.sent_s <= sample.seen_s)
            if cents > most:
                expected = f"at most {spending.usd(most)} of tenant {tenant} on site {sample.site}, which is all that its group was told"
                return say.failed(check, expected, spending.usd(cents), [first.index, sample.index])
    return None


def _lacking(last: spending.Sample, own: Sequence[spending.Order], first: spending.Sample) -> tuple[str, str] | None:
    """What a site should show of the first tenant whose spend is not all there, and what it shows."""
    taken: Mapping[str, int] = {
        tenant: sum(one.cents for one in own if one.tenant == tenant and one.fate == spending.TAKEN)
        for tenant in sorted({one.tenant for one in own})
    }
    for tenant, cents in taken.items():
        least, shown = first.cents.get(tenant, 0) + cents, last.cents.get(tenant)
        if shown is None or shown < least:
            return f"{spending.usd(least)} of tenant {tenant}", spending.shown(shown)
    return None


KIND = kinds.CheckKind(
    name="spend-apart",
    summary="sites of separate groups show their own group's spend and none of another's",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["watch", "loads", "groups"],
        "properties": {
            "watch": spending.WATCH,
            "loads": {**spending.LOADS, "description": "grid-spend loads whose spend counts"},
            "groups": {
                "type": "array",
                "minItems": 2,
                "items": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                "description": "which sites hear of each other; each was told spend",
            },
            "among": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "only these sites"},
            "profile": gossip_bounds.PROFILE,
        },
    },
    judge=judge,
    looks_at="watch",
)
