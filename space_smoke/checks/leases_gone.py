"""leases-gone: after the store was restarted a client has its whole cap again, though its old requests are still in work.

So it holds more than its cap, but never more than the cap and what was in work (`across`), and that ends with the old
requests: the last word on it is a concurrency-cap after them. Judged by requests that certainly held their place at the
same time: from their answer's headers to their end.
"""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, across, limit = check.arguments["load"], check.arguments["across"], check.arguments["limit"]
    if why := facts.unfinished(events, load, across):
        return say.unknown(check, why)
    new, old = _accepted(events, load), _accepted(events, across)
    without = [event for event in new if not _by_store(event)]
    if without:
        return say.failed(
            check, "every decision to be the store's", f"{len(without)} accepted without it", facts.indexes(without)
        )
    if not new:
        return say.failed(
            check, f"{limit} new requests accepted", "none", facts.indexes(history.requests(events, load))
        )
    first_s = min(facts.number(event, "answered_s") or event.at_s for event in new)
    still = [event for event in old if _held(event, first_s)]
    if len(still) < limit:
        why = f"{len(still)} requests of load {across} were still in work, fewer than the cap of {limit}"
        return say.unknown(check, why, facts.indexes(old))
    proof = facts.indexes([*new, *still])
    if len(new) > limit:
        return say.failed(check, f"at most {limit} new requests beside {len(still)} old ones", str(len(new)), proof)
    if len(new) < limit:
        offered = len(history.requests(events, load))
        if offered < limit:
            return say.unknown(check, f"load {load} made {offered} requests against a cap of {limit}", proof)
        return say.failed(check, f"{limit} new requests accepted: the old leases are gone", str(len(new)), proof)
    sentence = f"{len(new)} new requests beside {len(still)} old ones that were in work: the cap anew, and no more"
    return say.passed(check, sentence, proof)


def _accepted(events: Sequence[history.Event], load: str) -> list[history.Event]:
    found = [(event, facts.decision(event, "concurrency")) for event in history.requests(events, load)]
    return [event for event, made in found if made is not None and made.outcome == "accepted"]


def _by_store(event: history.Event) -> bool:
    made = facts.decision(event, "concurrency")
    return made is not None and made.reason == "none"


def _held(event: history.Event, at_s: float) -> bool:
    answered, ended = facts.number(event, "answered_s"), facts.number(event, "ended_s")
    return answered is not None and ended is not None and answered <= at_s <= ended


KIND = kinds.CheckKind(
    name="leases-gone",
    summary="after its store's restart a client has its cap anew, beside what is still in work",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "across", "limit"],
        "properties": {
            "load": {"type": "string", "description": "the ecw-connect load after the restart"},
            "across": {
                "type": "string",
                "description": "the ecw-connect load of the same client that was held across it",
            },
            "limit": {"type": "integer", "minimum": 1, "description": "the client's cap"},
        },
    },
    judge=judge,
    looks_at="load",
)
