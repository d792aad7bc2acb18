"""database-settings: the server's version, its settings as the role sees them, and its extensions are the declared ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from space_smoke.checks import database, say
from space_smoke.model import scenario, verdict


@database.judging
def judge(check: scenario.Check, seen: database.Seen) -> verdict.Verdict:
    declared = database.part(seen, "declared")
    compared = list(_compared(seen))
    if "server" not in declared or len(compared) < 3:
        return say.unknown(check, "no profile was declared", [seen.index])
    if wrong := [(name, wanted, found) for name, wanted, found in compared if not _fits(wanted, found)]:
        expected, saw = (say.some((f"{row[0]} {row[at]}" for row in wrong), most=8) for at in (1, 2))
        return say.failed(check, expected, saw, [seen.index])
    return say.passed(
        check, f"{len(compared)} declared values hold, of server version {declared['server']}", [seen.index]
    )


def _compared(seen: database.Seen) -> Iterator[tuple[str, Any, Any]]:
    """(name, declared, seen)"""
    declared, version = database.part(seen, "declared"), seen.data.get("version")
    # server_version_num is the major version times 10000, plus the minor one, since Postgres 10.
    yield "server", declared.get("server"), version // 10000 if isinstance(version, int) else version
    yield "extensions", [declared.get("extensions")], seen.data.get("extensions")
    found = database.part(seen, "settings")
    for name, wanted in database.part(seen, "declared", "settings").items():
        yield name, wanted, found.get(name)


def _fits(wanted: Any, found: Any) -> bool:
    return found in wanted if isinstance(wanted, list | tuple) else found == wanted


KIND = database.kind(
    "database-settings",
    "a Postgres has the declared version, settings and extensions",
    judge,
)
