"""token-bucket: the cluster's activation bucket admits what a continuous token bucket admits, no more and no less.

What is known of one decision: the store made it between `decided_s - limiter_ms` (the limiter's call had begun) and
`decided_s` (its answer was there). So three statements hold for any true bucket, whatever the jitter:
  above   decisions that lie wholly within [a, b] and admitted number at most burst + refill * (b - a)
  wrongly a refusal means less than one token, so no refusal comes 1/refill or more after the last admission
  below   in total it admits what an exact bucket, given this demand, admits; less one, and less refill * jitter
`slack_s` widens each interval: 2 ms for the rounding of stamps and of the store's clock, and twice the seconds by which
stamps stick out of their own request (clocks that differ). Above 50 ms of that the clocks are not comparable: unknown.
All activation decisions within the load's span count, of whatever load: the bucket is the cluster's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

ROUNDING_S = 0.002
CLOCK_TOLERANCE_S = 0.05
_MACHINE_CODE = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Drawn:
    """One decision of the store: made at some instant in [earliest_s, latest_s]."""

    index: int
    earliest_s: float
    latest_s: float
    admitted: bool


@dataclass(frozen=True, slots=True)
class Bucket:
    burst: int
    refill_rps: float
    slack_s: float

    def most(self, span_s: float) -> float:
        """Tokens that can be drawn within `span_s`, slack on both sides included."""
        return self.burst + self.refill_rps * (span_s + 2 * self.slack_s)


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load = check.arguments["load"]
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    mine = history.requests(events, load)
    decided = [event for event in mine if facts.decision(event, "activation")]
    if not decided:
        return say.unknown(check, f"no request of load {load} carries an activation decision", facts.indexes(mine))
    if found := _not_from_the_store(check, decided):
        return found
    sticking = [_sticks_out_s(event) for event in decided]
    apart = [event for event, by in zip(decided, sticking, strict=True) if by is None or by > CLOCK_TOLERANCE_S]
    if apart:
        return say.unknown(
            check,
            f"clocks differ, or stamps are missing: {say.count(len(apart), 'decision')} not stamped within 50 ms of"
            " its own request",
            facts.indexes(apart),
        )
    bucket = Bucket(
        check.arguments["burst"],
        check.arguments["refill_rps"],
        ROUNDING_S + 2 * max((by or 0.0) for by in sticking),
    )
    stream, before = _stream(events, decided, bucket)
    return (
        _above(check, stream, bucket)
        or _wrongly_refused(check, stream, bucket)
        or _refusals(check, decided)
        or _unanswered(check, mine)
        or _below(check, stream, bucket, before)
        or _enough(check, stream, bucket)
    )


def _not_from_the_store(check: scenario.Check, decided: Sequence[history.Event]) -> verdict.Verdict | None:
    other = [event for event in decided if _reason(event) != "none"]
    if not other:
        return None
    reasons = say.some(sorted({_reason(event) for event in other}))
    seen = f"{len(other)} of {len(decided)} made without it ({reasons})"
    return say.failed(check, "every decision to be the store's", seen, facts.indexes(other))


def _reason(event: history.Event) -> str:
    made = facts.decision(event, "activation")
    return made.reason if made else ""


def _sticks_out_s(event: history.Event) -> float | None:
    """Seconds by which the stamp lies outside of [sent_s, answered_s]; None when one of the three is missing."""
    sent, stamp, answered = (facts.number(event, key) for key in ("sent_s", "decided_s", "answered_s"))
    if sent is None or stamp is None or answered is None:
        return None
    return max(0.0, sent - stamp, stamp - answered)


def _drawn(event: history.Event) -> Drawn | None:
    made, stamp = facts.decision(event, "activation"), facts.number(event, "decided_s")
    if made is None or stamp is None or made.reason != "none":
        return None
    took, sent = facts.number(event, "limiter_ms"), facts.number(event, "sent_s")
    earliest = stamp - took / 1000 if took is not None else (stamp if sent is None else min(sent, stamp))
    return Drawn(event.index, earliest, stamp, made.outcome == "admitted")


def _stream(
    events: Sequence[history.Event], decided: Sequence[history.Event], bucket: Bucket
) -> tuple[list[Drawn], int]:
    """Every decision within the load's span in stamp order, and how many were admitted shortly before it: the bucket
    may not have been full when the load began."""
    every = [drawn for event in history.of_kind(events, "request") if (drawn := _drawn(event))]
    own = {event.index for event in decided}
    first = min(drawn.latest_s for drawn in every if drawn.index in own)
    last = max(drawn.latest_s for drawn in every if drawn.index in own)
    within = sorted((drawn for drawn in every if first <= drawn.latest_s <= last), key=lambda drawn: drawn.latest_s)
    to_full_s = bucket.burst / bucket.refill_rps
    before = sum(drawn.admitted and first - to_full_s <= drawn.latest_s < first for drawn in every)
    return within, before


def _above(check: scenario.Check, stream: Sequence[Drawn], bucket: Bucket) -> verdict.Verdict | None:
    """The worst window, if any holds more admissions than the bucket can have given."""
    admitted = [drawn for drawn in stream if drawn.admitted]
    worst: tuple[float, float, list[int]] | None = None
    for first in admitted:
        inside: list[int] = []
        for drawn in admitted:
            if drawn.earliest_s < first.earliest_s:
                continue
            inside.append(drawn.index)
            span_s = drawn.latest_s - first.earliest_s
            excess = len(inside) - bucket.most(span_s)
            if excess > 0 and (worst is None or excess > worst[0]):
                worst = (excess, span_s, list(inside))
    if worst is None:
        return None
    _, span_s, proof = worst
    return say.failed(
        check,
        f"at most {bucket.most(span_s):.2f} admitted in {span_s:.3f} s (burst {bucket.burst} + {bucket.refill_rps:g}/s,"
        f" slack {bucket.slack_s * 1000:.0f} ms)",
        f"{len(proof)} admitted",
        proof,
    )


def _wrongly_refused(check: scenario.Check, stream: Sequence[Drawn], bucket: Bucket) -> verdict.Verdict | None:
    """A refusal so long after the last admission that a token must have been there."""
    one_token_s = 1 / bucket.refill_rps + 2 * bucket.slack_s
    for refused in (drawn for drawn in stream if not drawn.admitted):
        last = max(
            (drawn for drawn in stream if drawn.admitted and drawn.earliest_s <= refused.latest_s),
            key=lambda drawn: drawn.latest_s,
            default=stream[0],
        )
        idle_s = refused.earliest_s - last.latest_s
        if idle_s > one_token_s:
            return say.failed(
                check,
                f"an admission within {1 / bucket.refill_rps:.3f} s of waiting ({bucket.refill_rps:g} tokens a second)",
                f"a refusal {idle_s:.3f} s after the last one",
                (last.index, refused.index),
            )
    return None


def _refusals(check: scenario.Check, decided: Sequence[history.Event]) -> verdict.Verdict | None:
    refused = [event for event in decided if _outcome(event) == "refused"]
    carry = check.arguments.get("refusals_carry", ())
    rules: list[tuple[str, Callable[[history.Event], bool]]] = [
        ("status 429", lambda event: facts.status(event) == 429)
    ]
    if "retry-after" in carry:
        rules.append(("a Retry-After of 1 s or more", lambda event: (facts.number(event, "retry_after") or 0) >= 1))
    if "machine-code" in carry:
        rules.append(("a machine code", lambda event: bool(_MACHINE_CODE.match(facts.text(event, "code")))))
    for rule, holds in rules:
        broken = [event for event in refused if facts.status(event) is not None and not holds(event)]
        if broken:
            seen = (
                f"{len(broken)} of {len(refused)} without (status {facts.status(broken[0])},"
                f" Retry-After {broken[0].data.get('retry_after')}, code {facts.text(broken[0], 'code') or 'none'})"
            )
            return say.failed(check, f"every refusal to carry {rule}", seen, facts.indexes(broken))
    return None


def _outcome(event: history.Event) -> str:
    made = facts.decision(event, "activation")
    return made.outcome if made else ""


def _unanswered(check: scenario.Check, mine: Sequence[history.Event]) -> verdict.Verdict | None:
    silent = [event for event in mine if facts.status(event) is None]
    if not silent:
        return None
    why = f"{say.count(len(silent), 'request')} got no answer and may have drawn a token"
    return say.unknown(check, f"{why} ({facts.text(silent[0], 'error')})", facts.indexes(silent))


def _below(check: scenario.Check, stream: Sequence[Drawn], bucket: Bucket, before: int) -> verdict.Verdict | None:
    exact = _exact(stream, bucket, before)
    jitter_s = max(drawn.latest_s - drawn.earliest_s for drawn in stream) + bucket.slack_s
    least = exact - 1 - int(bucket.refill_rps * jitter_s)
    admitted = sum(drawn.admitted for drawn in stream)
    if admitted >= least:
        return None
    return say.failed(
        check,
        f"at least {least} admitted (an exact bucket gives {exact} to this demand)",
        f"{admitted} admitted of {len(stream)}",
        (drawn.index for drawn in stream if not drawn.admitted),
    )


def _exact(stream: Sequence[Drawn], bucket: Bucket, before: int) -> int:
    """How many of these decisions an exact bucket admits that was full, less what was drawn shortly before."""
    tokens, at_s, admitted = max(0.0, bucket.burst - before), stream[0].latest_s, 0
    for drawn in stream:
        tokens = min(float(bucket.burst), tokens + bucket.refill_rps * (drawn.latest_s - at_s))
        at_s = drawn.latest_s
        if tokens >= 1:
            tokens, admitted = tokens - 1, admitted + 1
    return admitted


def _enough(check: scenario.Check, stream: Sequence[Drawn], bucket: Bucket) -> verdict.Verdict:
    """The last word: it passes if the bucket ran empty at all; a bucket that never did was not tried."""
    admitted = sum(drawn.admitted for drawn in stream)
    refused = len(stream) - admitted
    span_s = stream[-1].latest_s - stream[0].latest_s
    if not refused:
        why = f"{len(stream)} requests in {span_s:.3f} s never emptied a bucket of {bucket.burst}"
        return say.unknown(check, why, (drawn.index for drawn in stream))
    return say.passed(
        check,
        f"{admitted} of {len(stream)} admitted in {span_s:.3f} s, as burst {bucket.burst} + {bucket.refill_rps:g}/s gives"
        f" (slack {bucket.slack_s * 1000:.0f} ms); {refused} refused with 429",
        (drawn.index for drawn in stream),
    )


KIND = kinds.CheckKind(
    name="token-bucket",
    summary="the activation bucket admits burst + refill * t, continuously, and refuses the rest politely",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "burst", "refill"],
        "properties": {
            "load": {"type": "string", "description": "the load that drains the bucket"},
            "burst": {"type": "integer", "minimum": 1, "description": "tokens in a full bucket"},
            "refill": {"type": "string", "format": "rate", "description": "tokens that come back, as in 1/s"},
            "refusals_carry": {
                "type": "array",
                "uniqueItems": True,
                "items": {"enum": ["retry-after", "machine-code"]},
                "description": "what every refusal must say",
            },
        },
    },
    judge=judge,
    looks_at="load",
)
