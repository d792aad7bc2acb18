"""spend-monotone: at every sample of every site, a tenant's spend is no less than at the sample before, and no more than what
was shown at first plus all that had been told to any site by then. A new epoch begins anew. With `own_within` what a site has
acknowledged itself is in its own sum so soon after, whatever it hears of the others: local <= total <= sum.

What is missing from a sample is no fall: numbers that are not current are not shown. Too few samples are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from space_smoke.checks import facts, say, spending
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    given = check.arguments
    if why := facts.unfinished(events, *given["loads"], given["watch"]):
        return say.unknown(check, why)
    told = [order for order in spending.orders(events) if order.fate != spending.REFUSED]
    if not told:
        return say.unknown(check, "no spend was taken")
    seen = {
        site: [one for one in listed if one.rows is not None]
        for site, listed in spending.samples(events, given["watch"], given["sites"]).items()
    }
    if why := spending.too_few(seen, given["samples"]):
        return say.unknown(check, f"{why} with budget rows")
    before = spending.baseline(seen, told[0].sent_s)
    if missing := sorted(site for site, sample in before.items() if sample is None):
        return say.unknown(check, f"site {say.some(missing)} showed no spend before the first was told")
    first = [sample for sample in before.values() if sample]
    highest = {
        tenant: max(sample.cents.get(tenant, 0) for sample in first)
        for tenant in sorted({tenant for sample in first for tenant in sample.cents})
    }
    epochs = {sample.epoch for sample in first}
    if len(epochs) != 1:
        return say.unknown(check, f"the sites were in different epochs at first: {sorted(map(str, epochs))}")
    for listed in seen.values():
        if found := _fell(check, listed) or _too_much(check, listed, told, highest, first[0].epoch):
            return found
    for site, sample in before.items():
        if sample and (found := _too_little(check, seen[site], told, sample)):
            return found
    counted = ", ".join(f"{len(listed)} of {site}" for site, listed in sorted(seen.items()))
    tenants = len({tenant for listed in seen.values() for one in listed for tenant in one.cents})
    sentence = f"spend of {say.count(tenants, 'tenant')} never fell and never passed what had been told, at all samples: {counted}"
    return say.passed(check, sentence, [listed[at].index for listed in seen.values() for at in (0, -1)])


def _fell(check: scenario.Check, listed: Sequence[spending.Sample]) -> verdict.Verdict | None:
    known: dict[str, spending.Sample] = {}  # the newest sample of each tenant, in the present epoch
    epoch: int | None = None
    for sample in listed:
        if sample.epoch != epoch:
            known, epoch = {}, sample.epoch
        for tenant, cents in sample.cents.items():
            was = known.get(tenant)
            if was is not None and cents < was.cents[tenant]:
                expected = f"spend of tenant {tenant} on site {sample.site} never to fall below {spending.usd(was.cents[tenant])}"
                seen = f"{spending.usd(cents)} {sample.sent_s - was.sent_s:.1f} s later"
                return say.failed(check, expected, seen, [was.index, sample.index])
            known[tenant] = sample
    return None


def _too_much(
    check: scenario.Check,
    listed: Sequence[spending.Sample],
    told: Sequence[spending.Order],
    highest: Mapping[str, int],
    epoch: int | None,
) -> verdict.Verdict | None:
    for sample in listed:
        for tenant, cents in sample.cents.items():
            base = highest.get(tenant, 0) if sample.epoch == epoch else 0
            sent = [order for order in told if order.tenant == tenant and order.sent_s <= sample.seen_s]
            most = base + sum(order.cents for order in sent)
            if cents > most:
                expected = f"at most {spending.usd(most)} of tenant {tenant} on site {sample.site}, which is all that had been told"
                return say.failed(check, expected, spending.usd(cents), [sample.index])
    return None


def _too_little(
    check: scenario.Check, listed: Sequence[spending.Sample], told: Sequence[spending.Order], first: spending.Sample
) -> verdict.Verdict | None:
    within_s = check.arguments.get("own_within_s")
    if within_s is None:
        return None
    mine = [order for order in told if order.site == first.site and order.taken_s is not None]
    for sample in (one for one in listed if one.epoch == first.epoch):
        for tenant in sorted({order.tenant for order in mine}):
            due = [one for one in mine if one.tenant == tenant and (one.taken_s or 0.0) + within_s <= sample.sent_s]
            least = first.cents.get(tenant, 0) + sum(order.cents for order in due)
            if due and sample.cents.get(tenant, -1) < least:
                expected = f"at least {spending.usd(least)} of tenant {tenant} on site {sample.site}, {within_s:g} s after it acknowledged that"
                seen = spending.shown(sample.cents.get(tenant))
                return say.failed(check, expected, seen, [due[-1].index, sample.index])
    return None


KIND = kinds.CheckKind(
    name="spend-monotone",
    summary="at no sample of any site has spend fallen, or passed all that had been told by then",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["watch", "loads", "sites", "samples"],
        "properties": {
            "watch": spending.WATCH,
            "loads": spending.LOADS,
            "sites": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "whose samples"},
            "samples": spending.SAMPLES,
            "own_within": {
                "type": "string",
                "format": "duration",
                "description": "what a site acknowledged is in its own sum so soon after",
            },
        },
    },
    judge=judge,
    looks_at="watch",
)
