"""database-encrypted: every connection that the role has speaks TLS, in the stated version or a later one, and each named
client has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.checks import database, say
from space_smoke.model import scenario, verdict

_PROTOCOLS = ("TLSv1.2", "TLSv1.3")  # as pg_stat_ssl.version has them, oldest first; what is older is not listed


@database.judging
def judge(check: scenario.Check, seen: database.Seen) -> verdict.Verdict:
    backends, least = database.rows(seen, "backends"), check.arguments["at_least"]
    role = database.part(seen, "role").get("name")
    good = _PROTOCOLS[_PROTOCOLS.index(least) :]
    if wrong := [one for one in backends if one.get("tls") is not True or one.get("protocol") not in good]:
        words = say.some(f"{one.get('application') or 'no name'}: {_protocol(one)}" for one in wrong)
        expected = f"each of {say.count(len(backends), 'connection')} of role {role} to speak {least} or later"
        return say.failed(check, expected, f"{len(wrong)} that do not: {words}", [seen.index])
    names = [str(one.get("application")) for one in backends]
    clients = check.arguments["clients"]
    if absent := [one for one in clients if not any(name.startswith(f"{one}-") for name in names)]:
        return say.unknown(check, f"{say.some(absent)} had no connection of role {role}", [seen.index])
    return say.passed(
        check, f"{say.count(len(backends), 'connection')} of role {role}, all {least} or later", [seen.index]
    )


def _protocol(backend: Mapping[str, Any]) -> str:
    return str(backend.get("protocol")) if backend.get("tls") is True else "no TLS"


KIND = database.kind(
    "database-encrypted",
    "every connection of a role speaks TLS, of the stated version or later",
    judge,
    at_least={"enum": list(_PROTOCOLS), "description": "the oldest protocol that will do"},
    clients={
        "type": "array",
        "minItems": 1,
        "items": {"type": "string"},
        "description": "workloads of which each must have a connection, or nothing is known",
    },
)
