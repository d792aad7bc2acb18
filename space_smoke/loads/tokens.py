"""Tokens of the native API, made for a load on the admin surface and revoked when it ends.

A token's secret is known to its load alone: it is in no event, and so in no journal, report or line of the console. The
proxy of the API server keeps `Authorization` for itself, so a token goes into the services' second header.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from space_smoke.bench import http
from space_smoke.loads import traffic

ADMIN = "space-admin-api"
HEADER = "X-Space-Authorization"
READ, WRITE, EXEC = "sandboxes:read", "sandboxes:write", "sandboxes:exec"
SCOPES = (READ, WRITE, EXEC)
PART = "tokens"
_LIVES_S = 3600.0  # as long as a scenario may last: a killed run leaves none that is good for longer
_SECRET = re.compile(r"[A-Za-z0-9_-]{20,200}")  # what can be a header's value, and be found in a text again


@dataclass(frozen=True, slots=True)
class Token:
    """What a caller holds; `id` is how the admin surface calls it."""

    id: str
    secret: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        return {HEADER: f"Bearer {self.secret}"} if self.secret else {}


NOBODY = Token("", "")  # who brings no token


def tenant(word: str) -> str:
    """A tenant that nobody has had before."""
    return f"{word}-{uuid.uuid4().hex[:12]}"


def make(load: traffic.Traffic, owner: str, scopes: Sequence[str], *, lives_s: float = _LIVES_S) -> Token | None:
    """A token of the tenant `owner`; None, and an event that says how it was answered, where none was to be had."""
    asked = {"tenant": owner, "scopes": list(scopes), "name": "space_smoke", "expires_s": lives_s}
    made: list[Token] = []

    def see(answer: http.Answer) -> dict[str, str | None]:
        """Before the event is written, the secret is known as one."""
        body = answer.parsed()
        if answer.status != 201 or not isinstance(body, dict) or not _SECRET.fullmatch(str(body.get("token"))):
            return {}
        load.secrets.add(body["token"])
        made.append(Token(str(body.get("id")), body["token"]))
        return {"token": made[0].id}

    load.ask(0, "token", "POST", "/v1/tokens", body=asked, to=ADMIN, part=PART, see=see, tenant=owner, scopes=scopes)
    return made[0] if made else None


def revoke(load: traffic.Traffic, token: Token) -> bool:
    """Ends a token, and whether that was acknowledged."""
    path = f"/v1/tokens/{token.id}"
    return load.ask(0, "revoke", "DELETE", path, to=ADMIN, part=PART, token=token.id).status == 204


@contextlib.contextmanager
def held(load: traffic.Traffic, owner: str, scopes: Sequence[str] = SCOPES) -> Iterator[Token | None]:
    """A token for as long as the block lasts, however it ends."""
    token = make(load, owner, scopes)
    try:
        yield token
    finally:
        if token:
            revoke(load, token)
