"""spend-converges: every named site shows, of each tenant, what it showed before plus all that was acknowledged anywhere, soon
after the last acknowledgement.

The bound is the published one of the gossip (`gossip_bounds.convergence_s`; `healing_s` after a fault, counted from its
restore), and the time from a ledger to its GridNetwork. A request whose answer is not known may count or not, but
then all sites must agree on it. The lag of a site is from the last acknowledgement, or restore, to the first sample from
which on it showed the sum: at most one period too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from space_smoke.checks import facts, gossip_bounds, outages, say, spending
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    given = check.arguments
    if why := facts.unfinished(events, *given["loads"], given["watch"]):
        return say.unknown(check, why)
    told = spending.orders(events)
    silent = {order.site for order in told} - {order.site for order in told if order.fate == spending.TAKEN}
    if not told or silent:
        return say.unknown(check, f"site {say.some(sorted(silent)) or 'none'} acknowledged no spend")
    restored = outages.windows(events, given.get("faults", ()))
    if missing := [fault for fault, window in restored.items() if window is None]:
        return say.unknown(check, f"not raised and put back: {say.some(missing)}")
    from_s = max([one.taken_s for one in told if one.taken_s] + [one.to_s for one in restored.values() if one])
    seen = spending.readable(spending.samples(events, given["watch"], given["sites"]))
    wanted = _sums(seen, told)
    if isinstance(wanted, str):
        return _apart(check, seen, from_s) or say.unknown(check, wanted)
    return _compare(check, seen, wanted, from_s)


def _sums(
    seen: Mapping[str, Sequence[spending.Sample]], told: Sequence[spending.Order]
) -> dict[str, tuple[int, int]] | str:
    """The least and the most that a tenant may have in the end; or why that is not known."""
    before = spending.baseline(seen, told[0].sent_s)
    if missing := sorted(site for site, sample in before.items() if sample is None):
        return f"site {say.some(missing)} showed no spend before the first was told"
    first = [sample for sample in before.values() if sample]
    if len({sample.epoch for listed in seen.values() for sample in listed if sample.rows is not None}) != 1:
        return "the epoch changed while it was watched"
    found = {}
    for tenant in sorted({order.tenant for order in told}):
        had = {sample.cents.get(tenant) for sample in first}
        if len(had) != 1 or None in had:
            shown = ", ".join(f"{sample.site} {sample.cents.get(tenant)}" for sample in first)
            return f"the sites did not agree before the first spend was told (cents of tenant {tenant}: {shown})"
        mine = [order for order in told if order.tenant == tenant]
        least = sum(order.cents for order in mine if order.fate == spending.TAKEN) + (had.pop() or 0)
        found[tenant] = (least, least + sum(order.cents for order in mine if order.fate == spending.OPEN))
    return found


def _apart(
    check: scenario.Check, seen: Mapping[str, Sequence[spending.Sample]], from_s: float
) -> verdict.Verdict | None:
    """A failure where sites differ when the bound is over: whatever the sum should be, it is not the same for all."""
    bound_s = bound(check)
    ends = [listed[-1] for listed in seen.values() if listed and listed[-1].sent_s > from_s + bound_s]
    for tenant in sorted({tenant for sample in ends for tenant in sample.cents}):
        shown = {sample.site: sample.cents.get(tenant) for sample in ends}
        if len(set(shown.values())) > 1:
            wanted = f"one sum of tenant {tenant} on all sites within {bound_s:.1f} s of {_since(check)}"
            words = ", ".join(
                f"{site} {'no row' if cents is None else spending.usd(cents)}" for site, cents in shown.items()
            )
            return say.failed(check, wanted, words, [sample.index for sample in ends])
    return None


def _compare(
    check: scenario.Check,
    seen: Mapping[str, Sequence[spending.Sample]],
    wanted: Mapping[str, tuple[int, int]],
    from_s: float,
) -> verdict.Verdict:
    bound_s = bound(check)
    ends = [listed[-1].cents for listed in seen.values() if listed]
    goal = {}
    for tenant, (least, most) in wanted.items():
        last = {cents.get(tenant, -1) for cents in ends}
        agreed = last.pop() if len(last) == 1 else -1
        goal[tenant] = agreed if least <= agreed <= most else least
    lags, proof, late = {}, list[int](), list[tuple[spending.Sample, str]]()
    for site, listed in seen.items():
        wrong = [(sample, differing) for sample in listed if (differing := _differs(sample, goal)) is not None]
        late += [one for one in wrong if one[0].sent_s > from_s + bound_s][:1]
        last_wrong_s = max((sample.sent_s for sample, _ in wrong), default=-1.0)
        right = next((one for one in listed if one.sent_s > last_wrong_s and one.seen_s >= from_s), None)
        if right is not None:
            lags[site] = max(0.0, right.seen_s - from_s)
            proof.append(right.index)
    if late:
        sample, tenant = late[0]
        where = f"{spending.usd(goal[tenant])} of tenant {tenant} on site {sample.site} within {bound_s:.1f} s"
        seen_words = spending.shown(sample.cents.get(tenant))
        proof = [one.index for one, _ in late]
        return say.failed(check, where, f"{seen_words} {sample.sent_s - from_s:.1f} s after {_since(check)}", proof)
    if missing := sorted(seen.keys() - lags.keys()):
        why = f"site {say.some(missing)} was not watched until it showed the sum, nor for {bound_s:.1f} s"
        return say.unknown(check, why, proof)
    told = ", ".join(f"{site} {lag:.1f} s" for site, lag in sorted(lags.items()))
    sums = say.some(f"{tenant} {spending.usd(cents)}" for tenant, cents in goal.items())
    return say.passed(check, f"{sums} on every site after {_since(check)}: {told}; bound {bound_s:.1f} s", proof)


def bound(check: scenario.Check) -> float:
    """Seconds from the last acknowledgement, or from a fault's restore."""
    members = int(check.arguments.get("members", len(check.arguments["sites"])))
    formula = gossip_bounds.healing_s if check.arguments.get("faults") else gossip_bounds.convergence_s
    return gossip_bounds.shown_s(check, members, formula)


def _since(check: scenario.Check) -> str:
    return "the restore" if check.arguments.get("faults") else "the last acknowledgement"


def _differs(sample: spending.Sample, goal: Mapping[str, int]) -> str | None:
    """The first tenant of whom a sample shows another sum."""
    return next((tenant for tenant, cents in goal.items() if sample.cents.get(tenant) != cents), None)


KIND = kinds.CheckKind(
    name="spend-converges",
    summary="every site shows the sum of all acknowledged spend within the gossip's published bound",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["watch", "loads", "sites"],
        "properties": {
            "watch": spending.WATCH,
            "loads": spending.LOADS,
            "sites": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "who must show it"},
            "members": {"type": "integer", "minimum": 2, "description": "of the grid; as many as `sites` unless said"},
            "faults": {
                "type": "array",
                "items": {"type": "string"},
                "description": "counted from their restore, by the formula of healing",
            },
            "profile": gossip_bounds.PROFILE,
        },
    },
    judge=judge,
    looks_at="watch",
)
