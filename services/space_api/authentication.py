"""Who calls a native route: the token's tenant, if the token is good and has the scope that the call needs."""

from __future__ import annotations

from starlette.requests import Request

from common import mutations, refusals
from fleet import tokens

# The API server of Kubernetes takes Authorization for itself and passes a request on without it; who comes through its proxy
# says the same in the second header.
HEADERS = ("authorization", "x-space-authorization")


class Authentication:
    """Checks bearer tokens (RFC 6750), in either header and in one only."""

    def __init__(self, table: tokens.Tokens, active: frozenset[str] = frozenset()) -> None:
        self._tokens = table
        self._any_scope = mutations.TOKEN_SCOPE_IGNORED in active

    async def holder(self, request: Request) -> tokens.Token:
        """The request's token; raises Refusal 401, and Unavailable."""
        given = [value for name in HEADERS for value in request.headers.getlist(name)]
        scheme, _, secret = (given[0] if len(given) == 1 else "").partition(" ")
        found = await self._tokens.find(secret.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            # One answer for every reason: which tokens exist is nobody's business.
            raise refusals.Refusal(401, "unauthenticated", "this needs Authorization: Bearer with a valid token")
        return found

    def require(self, token: tokens.Token, scope: str) -> None:
        """Raise Refusal 403 unless the token has the scope."""
        if scope not in token.scopes and not self._any_scope:
            raise refusals.Refusal(403, "scope_missing", f"this needs a token with scope {scope}")
