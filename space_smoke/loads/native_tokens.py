"""`native-tokens`: every call of the native API with every set of scopes that a token can have, and with what is no good token.

One request for each, which bears `call`, `holder` (one of the words below), the token's `scopes` and what the answer `says`.
Each kind of operation has one idempotency key, so however often it is let through it is done once: on one sandbox, which
the operation `delete` removes. The tokens are this load's own, and are revoked at its end.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke.bench import http, wait
from space_smoke.loads import operations, steps, tokens, traffic
from space_smoke.model import kinds

ASK_AFTER = "operation"  # the call that puts nothing in: GET /v1/operations/{id}
_STEPS: Mapping[str, steps.Step] = {
    "create": {"do": "create"},
    "command": {"do": "command", "command": ["true"]},
    "pause": {"do": "pause"},
    "resume": {"do": "resume"},
    "files.put": {"do": "put", "path": "matrix"},
    "files.get": {"do": "get", "path": "matrix"},
    "delete": {"do": "delete"},
}
CALLS = (*_STEPS, ASK_AFTER)
SCOPED, REVOKED, EXPIRED, UNKNOWN, NONE, STRANGER = "scopes", "revoked", "expired", "unknown", "none", "another tenant"
EXPIRES_S = 1.0
SURELY_S = 0.5  # a token that has been expired for so long is expired by any clock that counts seconds

KIND = kinds.LoadKind(
    name="native-tokens",
    summary="every call of the native API with every set of scopes, and with what is no good token",
    schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "within": {
                "type": "string",
                "format": "duration",
                "default": "60s",
                "description": "how long the operations that were let through may take, all together",
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    mine, clock = tokens.tenant("mine"), load.door.clock
    with tokens.held(load, mine) as whole:
        subject = _put(load, whole, "create", part="setup") if whole else None
        if whole is None or subject is None:
            return  # nothing was tried, which is what the check says
        matrix = _Matrix(load, subject)
        expiring, made_s = tokens.make(load, mine, tokens.SCOPES, lives_s=EXPIRES_S), clock()
        for scopes in sets():
            with tokens.held(load, mine, scopes) as token:
                matrix.row(SCOPED, token, scopes)
        matrix.row(NONE, tokens.NOBODY)
        matrix.row(UNKNOWN, tokens.Token("", "space_" + "A" * 43))
        revoked = tokens.make(load, mine, tokens.SCOPES)
        matrix.row(SCOPED, revoked, tokens.SCOPES, [ASK_AFTER])  # it was good until it was revoked
        if revoked and tokens.revoke(load, revoked):
            matrix.row(REVOKED, revoked, tokens.SCOPES)
        with tokens.held(load, tokens.tenant("other")) as stranger:
            matrix.row(STRANGER, stranger, tokens.SCOPES, [call for call in CALLS if call != "create"])
        wait.pace(made_s + EXPIRES_S + SURELY_S, clock, load.stop)
        matrix.row(EXPIRED, expiring, tokens.SCOPES)
        deleted = _put(load, whole, "delete", subject.sandbox, part="cleanup")
        if deleted:
            caller = operations.Caller(whole, float(load.argument("within_s", 60.0)))
            operations.watch(load, caller, deleted, part="cleanup", do="delete")


def sets() -> list[tuple[str, ...]]:
    """Every set of scopes but the empty one, which no token can have."""
    return [some for size in range(1, len(tokens.SCOPES) + 1) for some in itertools.combinations(tokens.SCOPES, size)]


@dataclass(slots=True)
class _Matrix:
    """The load's own requests, row by row. `subject` is the operation asked after, and the sandbox of all the others."""

    load: traffic.Traffic
    subject: operations.Accepted
    asked: int = 0

    def row(
        self, holder: str, token: tokens.Token | None, scopes: Sequence[str] = (), calls: Sequence[str] = CALLS
    ) -> None:
        """Each call once with this token; none where there is no such token to be had."""
        for call in calls if token else ():
            _ask(self.load, self.asked, token or tokens.NOBODY, call, self.subject, holder=holder, scopes=list(scopes))
            self.asked += 1


def _put(
    load: traffic.Traffic, token: tokens.Token, call: str, sandbox: str = "", part: str = ""
) -> operations.Accepted | None:
    return operations.accepted(_ask(load, 0, token, call, operations.Accepted("", sandbox, 0.0), part=part))


def _ask(
    load: traffic.Traffic,
    number: int,
    token: tokens.Token,
    call: str,
    subject: operations.Accepted,
    **more: Any,
) -> http.Answer:
    """One call about the subject; its event bears the call's word beside what an event of a step has."""
    step = _STEPS.get(call)
    content = steps.content(step, load.seed) if step and step["do"] == "put" else None
    return load.ask(
        number,
        f"queue {call}" if step else call,
        "POST" if step else "GET",
        operations.PATH if step else f"{operations.PATH}/{subject.id}",
        body=operations.order({**step, "key": call}, subject.sandbox, content) if step else None,
        headers=token.headers(),
        see=_seen,
        call=call,
        token=token.id,
        **more,
    )


def _seen(answer: http.Answer) -> dict[str, Any]:
    """What was accepted, or the sentence of the refusal."""
    body = answer.parsed()
    error = body.get("error") if isinstance(body, Mapping) else None
    found = operations.accepted(answer)
    return {
        "operation": found.id if found else None,
        "says": error.get("message") if isinstance(error, Mapping) else None,
    }
