"""writes-survive: no acknowledged write is lost, none is done twice, and API and database agree on each.

What is known of one sandbox: its creation was answered 201, and its later requests came one after another. After the last
acknowledged one its state is that request's; a later request that got no answer, or a 5xx, may have been done or not, so
either state is right. Of the rows that nobody was told of there may be as many as creates were left without a good answer,
and no more. Judged from the two events `records` of the `ledger` load; without both it is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

_LEADS_TO = {"pause": "paused", "connect": "running", "delete": "deleted"}
_MADE = "running"


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, ledger = check.arguments["load"], check.arguments["ledger"]
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    mine = history.requests(events, load)
    expected = _expected(mine)
    if not expected:
        return say.unknown(check, f"no create of load {load} was acknowledged")
    sides = {source: _records(events, ledger, source) for source in ("database", "api")}
    missing = [source for source, event in sides.items() if event is None]
    database, api = sides["database"], sides["api"]
    if database is None or api is None or facts.unfinished(events, ledger):
        return say.unknown(check, f"not read back: {say.some(missing) or ledger}")
    proof = (database.index, api.index)
    rows, told = database.data["records"], api.data["records"]
    return (
        _lost(check, expected, rows, mine, proof)
        or _wrong(check, expected, rows, mine, proof)
        or _twice(check, rows, events, api, proof)
        or _apart(check, expected, rows, told, proof)
        or _passed(check, mine, expected, rows, proof)
    )


def _expected(mine: Sequence[history.Event]) -> dict[str, set[str]]:
    """The states that each acknowledged sandbox may be in."""
    possible = {str(event.data["made"]): {_MADE} for event in mine if event.data.get("made")}
    for event in sorted(mine, key=lambda event: facts.number(event, "sent_s") or 0.0):
        sandbox, state = facts.text(event, "sandbox"), _LEADS_TO.get(str(event.data.get("do")))
        if sandbox not in possible or state is None:
            continue
        status = facts.status(event)
        if status is None or status >= 500:
            possible[sandbox] |= {state}
        elif status < 300:
            possible[sandbox] = {state}
    return possible


def _records(events: Sequence[history.Event], ledger: str, source: str) -> history.Event | None:
    found = [
        event
        for event in history.of_kind(events, "records")
        if event.data.get("load") == ledger
        and event.data.get("source") == source
        and isinstance(event.data.get("records"), Mapping)
    ]
    return found[-1] if found else None


def _lost(
    check: scenario.Check,
    expected: Mapping[str, set[str]],
    rows: Mapping[str, str],
    mine: Sequence[history.Event],
    proof: tuple[int, ...],
) -> verdict.Verdict | None:
    lost = [sandbox for sandbox in expected if sandbox not in rows]
    if not lost:
        return None
    seen = f"{len(lost)} are not: {say.some(lost)}"
    return say.failed(
        check, f"all {len(expected)} acknowledged creates in the database", seen, [*_of(mine, lost), *proof]
    )


def _wrong(
    check: scenario.Check,
    expected: Mapping[str, set[str]],
    rows: Mapping[str, str],
    mine: Sequence[history.Event],
    proof: tuple[int, ...],
) -> verdict.Verdict | None:
    wrong = [sandbox for sandbox, states in expected.items() if rows[sandbox] not in states]
    if not wrong:
        return None
    words = say.some(
        f"{sandbox} is {rows[sandbox]}, acknowledged {' or '.join(sorted(expected[sandbox]))}" for sandbox in wrong
    )
    return say.failed(
        check, "the last acknowledged state of each sandbox in the database", words, [*_of(mine, wrong), *proof]
    )


def _twice(
    check: scenario.Check,
    rows: Mapping[str, str],
    events: Sequence[history.Event],
    api: history.Event,
    proof: tuple[int, ...],
) -> verdict.Verdict | None:
    """Rows without an acknowledgement, against the creates, of any load, that may have left one."""
    known = {str(event.data["made"]) for event in history.of_kind(events, "request") if event.data.get("made")}
    unknown = [sandbox for sandbox in rows if sandbox not in known]
    doubtful = [event for event in history.of_kind(events, "request") if _may_have_made(event)]
    if len(unknown) > len(doubtful):
        return say.failed(
            check,
            f"at most {say.count(len(doubtful), 'row')} that nobody was told of, as many as creates without a good answer",
            f"{len(unknown)}: {say.some(unknown)}",
            [*proof, *facts.indexes(doubtful)],
        )
    listed = api.data.get("listed")
    twice = sorted({one for one in listed if listed.count(one) > 1}) if isinstance(listed, list | tuple) else []
    if twice:
        return say.failed(check, "each sandbox listed once", f"twice: {say.some(twice)}", proof)
    return None


def _may_have_made(event: history.Event) -> bool:
    """A create that was not answered 201 with the id, and not refused before anything was done either."""
    status = facts.status(event)
    return (
        event.data.get("do") == "create"
        and not event.data.get("made")
        and (status is None or status < 300 or status >= 500)
    )


def _apart(
    check: scenario.Check,
    expected: Mapping[str, set[str]],
    rows: Mapping[str, str],
    told: Mapping[str, str],
    proof: tuple[int, ...],
) -> verdict.Verdict | None:
    apart = [sandbox for sandbox in expected if told.get(sandbox) != rows[sandbox]]
    if not apart:
        return None
    words = say.some(f"{sandbox}: API {told.get(sandbox, 'nothing')}, database {rows[sandbox]}" for sandbox in apart)
    return say.failed(check, "API and database to agree on each sandbox", words, proof)


def _passed(
    check: scenario.Check,
    mine: Sequence[history.Event],
    expected: Mapping[str, set[str]],
    rows: Mapping[str, str],
    proof: tuple[int, ...],
) -> verdict.Verdict:
    good = sum((facts.status(event) or 999) < 300 for event in mine)
    return say.passed(
        check,
        f"{good} of {say.count(len(mine), 'write')} acknowledged; the database holds all {len(expected)} sandboxes in their"
        f" last state, and {len(rows) - len(expected)} in doubt; the API says the same",
        proof,
    )


def _of(mine: Sequence[history.Event], sandboxes: Sequence[str]) -> list[int]:
    named = set(sandboxes)
    return [event.index for event in mine if {event.data.get("made"), event.data.get("sandbox")} & named]


KIND = kinds.CheckKind(
    name="writes-survive",
    summary="no acknowledged write is lost or done twice, and API and database agree",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "ledger"],
        "properties": {
            "load": {"type": "string", "description": "the ecw-churn load that wrote"},
            "ledger": {"type": "string", "description": "the ecw-ledger load that read back"},
        },
    },
    judge=judge,
    looks_at="load",
)
