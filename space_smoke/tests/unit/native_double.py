"""A small native API in memory, with the admin surface's tokens, for tests of loads. Its defects are those that checks look for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from space_smoke.loads import tokens
from space_smoke.tests.unit import api_double

NEEDS = {
    "create": tokens.WRITE,
    "command": tokens.EXEC,
    "pause": tokens.WRITE,
    "resume": tokens.WRITE,
    "delete": tokens.WRITE,
    "files.put": tokens.WRITE,
    "files.get": tokens.READ,
    "operation": tokens.READ,
}


@dataclass
class _Held:
    id: str
    tenant: str
    scopes: list[str]
    until_s: float
    revoked: bool = False


@dataclass
class Native:
    """`questions`: how often an operation is asked after until it has ended; `refused`: in how many of these its activation was
    refused; `defects`: any of scope, tenant, revoked, expired, open, silent-tokens, echo, lost."""

    questions: int = 1
    refused: int = 0
    defects: frozenset[str] = frozenset()
    results: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    held: dict[str, _Held] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)  # of sandboxes
    deleted: list[str] = field(default_factory=list)
    operations: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: api_double.Asked) -> tuple[int, bytes]:
        with self.turn:
            status, said = self._said(asked)
        return status, b"" if said is None else json.dumps(said).encode()

    def _said(self, asked: api_double.Asked) -> tuple[int, Any]:
        if asked.service == tokens.ADMIN:
            return self._admin(asked.method, asked.path, asked.body)
        return self._public(asked.method, asked.path, asked.body, asked.headers.get(tokens.HEADER, ""))

    def _admin(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "DELETE":
            found = next(one for one in self.held.values() if path.endswith(f"/{one.id}"))
            found.revoked = True
            return 204, None
        if "silent-tokens" in self.defects:
            return 503, _error("records_unavailable", "try again")
        number = len(self.held)
        secret = f"space_{number:03}_nobody-may-see-this"
        self.held[secret] = _Held(f"t-{number}", body["tenant"], body["scopes"], time.monotonic() + body["expires_s"])
        return 201, {"id": f"t-{number}", "scopes": body["scopes"], "token": secret}

    def _public(self, method: str, path: str, body: Any, header: str) -> tuple[int, Any]:
        caller = self._caller(header.removeprefix("Bearer "))
        if caller is None:
            said = f"no good token: {header}" if "echo" in self.defects else "no good token"
            return 401, _error("unauthenticated", said)
        call = body["kind"] if method == "POST" else "operation"
        if NEEDS[call] not in caller.scopes and "scope" not in self.defects:
            return 403, _error("scope_missing", f"this needs a token with scope {NEEDS[call]}")
        if method == "POST":
            return self._put(caller.tenant, body)
        found = self.operations.get(path.rpartition("/")[2])
        if found is None or not self._his(caller.tenant, found["tenant"]):
            return 404, _error("not_found", "no such operation")
        return (503, _error("records_unavailable", "")) if "lost" in self.defects else (200, self._asked(found))

    def _caller(self, secret: str) -> _Held | None:
        found = self.held.get(secret)
        if found is None:
            return _Held("", "anybody", list(tokens.SCOPES), 0) if "open" in self.defects else None
        if found.revoked and "revoked" not in self.defects:
            return None
        return found if found.until_s > time.monotonic() or "expired" in self.defects else None

    def _put(self, tenant: str, body: dict[str, Any]) -> tuple[int, Any]:
        sandbox = body.get("sandbox") or f"sb-{len(self.owners)}"
        if body["kind"] != "create" and not self._his(tenant, self.owners.get(sandbox, "nobody")):
            return 404, _error("not_found", "no such sandbox")
        key = (tenant, body.get("idempotency_key") or f"none-{len(self.operations)}")
        known = self.operations.get(self.keys.setdefault(key, f"op-{len(self.operations)}"))
        if known is None:
            self.owners.setdefault(sandbox, tenant)
            known = {"id": self.keys[key], "kind": body["kind"], "sandbox": sandbox, "tenant": tenant, "asked": 0}
            self.operations[self.keys[key]] = known | {"state": "queued", "order": body}
        return 202, {**{name: known[name] for name in ("id", "kind", "sandbox")}, "state": "queued"}

    def _asked(self, found: dict[str, Any]) -> dict[str, Any]:
        found["asked"] += 1
        if found["asked"] <= self.refused:
            decided = {"outcome": "refused", "reason": "none"}
            return {"id": found["id"], "state": "queued", "refusals": found["asked"], "activation": decided}
        ended = found["asked"] >= self.refused + self.questions
        if ended and found["kind"] == "delete":
            self.deleted.append(found["sandbox"])
        told = {"id": found["id"], "refusals": self.refused, "activation": None, "error": None}
        result = self.results.get(found["kind"], {"state": "done"})
        return told | {"state": "succeeded" if ended else "running", "result": result if ended else None}

    def _his(self, tenant: str, owner: str) -> bool:
        return tenant == owner or ("tenant" in self.defects and owner != "nobody")


class Run(api_double.Run):
    """Loads over the native double."""

    def __init__(self, native: Native | None = None) -> None:
        self.native = native or Native()
        self._open(api_double.Door(self.native))


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
