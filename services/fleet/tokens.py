"""Tokens of the native API: who holds one acts for its tenant, within its scopes.

A token is 32 random bytes; only its SHA-256 is stored. That is enough, without salt or stretching, because nobody can
guess 256 random bits; passwords would need more.
"""

from __future__ import annotations

import datetime
import hashlib
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from common import database, mutations

READ, WRITE, EXEC = "sandboxes:read", "sandboxes:write", "sandboxes:exec"
SCOPES = (READ, WRITE, EXEC)
PREFIX = "space_"  # lets people and secret scanners see what a leaked string is
LENGTH_LIMIT = 200  # characters of anything that may be a token
_COLUMNS = "id::text, tenant, name, scopes, created_at, expires_at, revoked_at"
_INSERT = (
    "INSERT INTO tokens (id, tenant, name, scopes, digest, expires_at)"  # noqa: S608 - constants only
    f" VALUES (%s, %s, %s, %s, %s, now() + make_interval(secs => %s)) RETURNING {_COLUMNS}"
)
_FIND = (
    f"SELECT {_COLUMNS} FROM tokens WHERE digest = %s AND (revoked_at IS NULL OR %s)"  # noqa: S608 - constants only
    " AND (expires_at IS NULL OR expires_at > now())"
)
_LIST = f"SELECT {_COLUMNS} FROM tokens ORDER BY created_at DESC, id LIMIT 1000"  # noqa: S608 - constants only
_REVOKE = (
    "UPDATE tokens SET revoked_at = coalesce(revoked_at, now())"  # noqa: S608 - constants only
    f" WHERE id = %s RETURNING {_COLUMNS}"
)


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token, which is everything but the token."""

    id: str
    tenant: str
    name: str
    scopes: Sequence[str]
    created_at: datetime.datetime
    expires_at: datetime.datetime | None
    revoked_at: datetime.datetime | None

    def public(self) -> dict[str, object]:
        return {
            "id": self.id,
            "tenant": self.tenant,
            "name": self.name,
            "scopes": list(self.scopes),
            "created_at": self.created_at.isoformat(),
            "expires_at": _text(self.expires_at),
            "revoked_at": _text(self.revoked_at),
        }


class Tokens:
    """The table of tokens."""

    def __init__(self, shared: database.Database, active: frozenset[str] = frozenset()) -> None:
        self._database = shared
        self._plain = mutations.PLAIN_TOKEN_STORED in active
        self._for_ever = mutations.REVOKED_TOKEN_ACCEPTED in active

    async def add(self, tenant: str, name: str, scopes: Sequence[str], expires_s: float | None) -> tuple[Token, str]:
        """Make a token; returns what is known of it and the token itself, which nobody can read again."""
        secret = PREFIX + secrets.token_urlsafe(32)
        values = (str(uuid.uuid4()), tenant, name, list(scopes), self._digest(secret), expires_s)
        return (await self._database.query(Token, _INSERT, values))[0], secret

    async def find(self, secret: str) -> Token | None:
        """The token if it was made here, has not expired and was not revoked."""
        if len(secret) > LENGTH_LIMIT:
            return None
        found = await self._database.query(Token, _FIND, (self._digest(secret), self._for_ever))
        return found[0] if found else None

    async def list(self) -> Sequence[Token]:
        """All tokens, revoked ones too, newest first, at most 1000."""
        return await self._database.query(Token, _LIST)

    async def revoke(self, token: str) -> bool:
        """End the token with this id, now and for ever; again is harmless. False when there never was one."""
        return bool(await self._database.query(Token, _REVOKE, (token,)))

    def _digest(self, secret: str) -> bytes:
        encoded = secret.encode(errors="surrogatepass")
        return encoded if self._plain else hashlib.sha256(encoded).digest()


def _text(moment: datetime.datetime | None) -> str | None:
    return moment.isoformat() if moment else None
