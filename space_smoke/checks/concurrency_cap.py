"""concurrency-cap: of requests that all overlap, a client holds exactly `limit`; every other one is refused.

Judged per client as the limiter saw it (unknown clients share one). `exactly: true` needs proof that all requests of a
client met: each was decided before the first accepted one ended; otherwise it is unknown. `exactly: false` asks only
that never more than `limit` were certainly held at once, and that somebody was refused at all. A request certainly
holds its place from its answer's headers to its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

CODE = "client_concurrency_limited"


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load = check.arguments["load"]
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    mine = history.requests(events, load)
    if found := _astray(check, mine):
        return found
    silent = [event for event in mine if facts.status(event) is None]
    groups = _by_client([event for event in mine if facts.status(event) is not None])
    seen = [_one_client(check, client, group) for client, group in groups.items()]
    if silent:
        why = f"{say.count(len(silent), 'request')} got no answer ({facts.text(silent[0], 'error')})"
        seen.append(say.unknown(check, why, facts.indexes(silent)))
    worst = [one for judged in (verdict.Judged.FAIL, verdict.Judged.UNKNOWN) for one in seen if one.judged == judged]
    if worst:
        return worst[0]
    return (
        seen[0] if len(seen) == 1 else say.passed(check, f"{len(seen)} clients: each {seen[0].sentence}", seen[0].proof)
    )


def _astray(check: scenario.Check, mine: Sequence[history.Event]) -> verdict.Verdict | None:
    """Requests that were counted elsewhere than under the one name they should share."""
    name = check.arguments.get("counted_as")
    counted = [(event, _counted_as(event)) for event in mine if facts.decision(event, "concurrency")]
    astray = [(event, client) for event, client in counted if name is not None and client != name]
    if not astray:
        return None
    names = say.some(sorted({client for _, client in astray}))
    seen = f"{len(astray)} of {len(counted)} counted as {names}"
    return say.failed(check, f"all to be counted as {name}", seen, facts.indexes(event for event, _ in astray))


def _by_client(answered: Sequence[history.Event]) -> dict[str, list[history.Event]]:
    groups: dict[str, list[history.Event]] = defaultdict(list)
    for event in answered:
        groups[_counted_as(event)].append(event)
    return groups


def _counted_as(event: history.Event) -> str:
    """The client that the limiter says it counted, or the one that was sent where it does not say."""
    decided = event.data.get("concurrency")
    client = decided.get("client") if isinstance(decided, Mapping) else None
    return str(client or event.data.get("client"))


def _one_client(check: scenario.Check, client: str, group: Sequence[history.Event]) -> verdict.Verdict:
    limit, exactly = check.arguments["limit"], check.arguments.get("exactly", True)
    accepted = [event for event in group if _outcome(event) == "accepted"]
    others = [event for event in group if _outcome(event) != "accepted"]
    without = [event for event in accepted if _reason(event) != "none"]
    if without:
        seen = f"{len(without)} accepted without it ({_reason(without[0])})"
        return say.failed(check, "every decision to be the store's", seen, facts.indexes(without))
    together = _held_at_once(accepted)
    if len(together) > limit:
        watching = " (would_reject: the limiter only observes)" if any(_observed(event) for event in together) else ""
        return say.failed(
            check,
            f"at most {limit} at once for client {client}",
            f"{len(together)} at once{watching}",
            facts.indexes(together),
        )
    odd = [event for event in others if (facts.status(event), facts.text(event, "code")) != (429, CODE)]
    if odd:
        seen = f"{len(odd)} not: status {facts.status(odd[0])}, code {facts.text(odd[0], 'code') or 'none'}"
        return say.failed(check, f"all others to be refused with 429 {CODE}", seen, facts.indexes(odd))
    if len(group) <= limit or not (others or exactly):
        why = (
            f"client {client} offered {say.count(len(group), 'request')} against a cap of {limit}, and none was refused"
        )
        return say.unknown(check, why, facts.indexes(group))
    return _exact(check, client, group, accepted) if exactly else _at_most(check, together, group, others)


def _at_most(
    check: scenario.Check,
    together: Sequence[history.Event],
    group: Sequence[history.Event],
    others: Sequence[history.Event],
) -> verdict.Verdict:
    sentence = f"at most {len(together)} of {len(group)} held at once, {len(others)} refused"
    return say.passed(check, sentence, facts.indexes(group))


def _exact(
    check: scenario.Check, client: str, group: Sequence[history.Event], accepted: Sequence[history.Event]
) -> verdict.Verdict:
    limit = check.arguments["limit"]
    if not accepted:
        return say.failed(check, f"{limit} accepted for client {client}", "none accepted", facts.indexes(group))
    ends = [facts.number(event, "ended_s") for event in accepted]
    decided = [_decided_s(event) for event in group]
    if None in ends or None in decided:
        return say.unknown(check, "requests lack the times that would show that they overlap", facts.indexes(group))
    first_end, last_decided = min(end or 0.0 for end in ends), max(at or 0.0 for at in decided)
    if last_decided > first_end:
        why = f"the requests did not all overlap: one was decided {last_decided - first_end:.3f} s after another ended"
        return say.unknown(check, why, facts.indexes(group))
    if len(accepted) != limit:
        return say.failed(
            check,
            f"exactly {limit} of {len(group)} accepted for client {client}",
            f"{len(accepted)} accepted",
            facts.indexes(group),
        )
    sentence = f"exactly {limit} of {len(group)} accepted, {len(group) - limit} refused with 429 {CODE}"
    return say.passed(check, sentence, facts.indexes(group))


def _held_at_once(accepted: Sequence[history.Event]) -> list[history.Event]:
    """The largest set of requests that certainly held a place at the same instant."""
    held = [
        (begin, end, event)
        for event in accepted
        if (begin := facts.number(event, "answered_s")) is not None
        and (end := facts.number(event, "ended_s")) is not None
    ]
    largest: list[history.Event] = []
    for instant, _, _ in held:
        here = [event for begin, end, event in held if begin <= instant < end]
        largest = max(largest, here, key=len)
    return largest


def _decided_s(event: history.Event) -> float | None:
    """The stamp, if it lies within its own request; else the answer, which is later and on the runner's own clock."""
    sent, stamp, answered = (facts.number(event, key) for key in ("sent_s", "decided_s", "answered_s"))
    if stamp is None or sent is None or answered is None or not sent <= stamp <= answered:
        return answered
    return stamp


def _outcome(event: history.Event) -> str:
    made = facts.decision(event, "concurrency")
    return made.outcome if made else ""


def _reason(event: history.Event) -> str:
    made = facts.decision(event, "concurrency")
    return made.reason if made else ""


def _observed(event: history.Event) -> bool:
    made = facts.decision(event, "concurrency")
    return made is not None and made.would_reject


KIND = kinds.CheckKind(
    name="concurrency-cap",
    summary="a client holds exactly its cap of requests at once, and the others are refused",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "limit"],
        "properties": {
            "load": {"type": "string", "description": "the load whose requests overlap"},
            "limit": {"type": "integer", "minimum": 1, "description": "the cap per client"},
            "counted_as": {"type": "string", "description": "the one client that all of them must be counted as"},
            "exactly": {
                "type": "boolean",
                "default": True,
                "description": "false: at no instant more than the cap, and somebody was refused",
            },
        },
    },
    judge=judge,
    looks_at="load",
)
