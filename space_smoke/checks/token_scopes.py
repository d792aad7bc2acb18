"""token-scopes: each call of the native API is let through for the tokens that have its scope, and for nobody else.

`needs` is the whole contract: the scope of each call. From it follows what each request of a `native-tokens` load must have
been answered: 2xx with the scope, 403 `scope_missing` naming it without; 404 `not_found` to another tenant; 401
`unauthenticated` to who brings no token that is good. Every call must have been tried with every set of scopes and by every
holder; a combination that was not tried is unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict

# The holders, in the words of the load.
SCOPED, STRANGER, REVOKED = "scopes", "another tenant", "revoked"
NOT_GOOD = ("none", "unknown", REVOKED, "expired")
_NAMES_NO_OTHER = "create"  # the call that is about nothing of another tenant's

Cell = tuple[str, frozenset[str], str]


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load, needs = check.arguments["load"], dict(check.arguments["needs"])
    mine = history.requests(events, load)
    tried: dict[Cell, list[history.Event]] = {}
    for event in mine:
        tried.setdefault(_cell(event), []).append(event)
    for cell, made in tried.items():
        for event in made:
            if facts.status(event) is None:
                return say.unknown(
                    check, f"{_called(cell)} got no answer ({facts.text(event, 'error')})", [event.index]
                )
            if cell[2] not in needs:
                return say.unknown(check, f"no scope is stated for {cell[2]}", [event.index])
            if expected := _unmet(cell, event, needs):
                return say.failed(check, f"{_called(cell)} to be answered {expected}", _answer(event), [event.index])
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    if untried := [cell for cell in _every(needs) if cell not in tried]:
        return say.unknown(check, f"not tried: {say.some(map(_called, untried))}")
    if never := [event for event in mine if _cell(event)[0] == REVOKED and not _was_good(event, mine)]:
        return say.unknown(check, "the revoked token was never seen to be good", facts.indexes(never))
    through = [event for event in mine if _good(event)]
    sentence = f"{len(through)} of {len(mine)} requests let through, each with the scope of its call, and no other"
    return say.passed(check, sentence, facts.indexes(mine))


def _every(needs: Mapping[str, str]) -> Iterator[Cell]:
    """All that must have been tried."""
    scopes = sorted(set(needs.values()))
    sets = [frozenset(some) for size in range(1, len(scopes) + 1) for some in itertools.combinations(scopes, size)]
    for call in needs:
        yield from ((SCOPED, some, call) for some in sets)
        yield from ((holder, frozenset[str](), call) for holder in NOT_GOOD)
        if call != _NAMES_NO_OTHER:
            yield STRANGER, frozenset(), call


def _cell(event: history.Event) -> Cell:
    """Which combination a request tried. Whether a token that is not good has scopes makes no difference."""
    holder, scopes = facts.text(event, "holder"), event.data.get("scopes")
    listed = scopes if holder == SCOPED and isinstance(scopes, list | tuple) else ()
    return holder, frozenset(map(str, listed)), facts.text(event, "call")


def _unmet(cell: Cell, event: history.Event, needs: Mapping[str, str]) -> str:
    """What the answer should have been, or "" where it was."""
    holder, scopes, call = cell
    if holder == SCOPED and needs[call] in scopes:
        return "" if _good(event) else "2xx"
    if holder == SCOPED:
        right = needs[call] in facts.text(event, "says") and _refused(event, 403, "scope_missing")
        return "" if right else f"403 scope_missing naming {needs[call]}"
    if holder == STRANGER:
        return "" if _refused(event, 404, "not_found") else "404 not_found"
    return "" if _refused(event, 401, "unauthenticated") else "401 unauthenticated"


def _good(event: history.Event) -> bool:
    return (facts.status(event) or 0) // 100 == 2


def _refused(event: history.Event, status: int, code: str) -> bool:
    return facts.status(event) == status and facts.text(event, "code") == code


def _was_good(revoked: history.Event, mine: Sequence[history.Event]) -> bool:
    """Whether the same token was let through before."""
    token = facts.text(revoked, "token")
    return any(_good(event) and facts.text(event, "token") == token and event.index < revoked.index for event in mine)


def _called(cell: Cell) -> str:
    holder, scopes, call = cell
    who = " + ".join(sorted(scopes)) or "no scope" if holder == SCOPED else f"{holder} (token)"
    return f"{call} with {who}"


def _answer(event: history.Event) -> str:
    said = facts.text(event, "says")
    return f"{facts.status(event)} {facts.text(event, 'code')}".rstrip() + (f" ({said})" if said else "")


KIND = kinds.CheckKind(
    name="token-scopes",
    summary="each call is let through for the tokens that have its scope, and for nobody else",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load", "needs"],
        "properties": {
            "load": {"type": "string", "description": "the native-tokens load"},
            "needs": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"type": "string"},
                "description": "each call, and the scope that it needs",
            },
        },
    },
    judge=judge,
    looks_at="load",
)
