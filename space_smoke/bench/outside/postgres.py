"""A running Postgres as a place, and its fence. Reached by `psql` in the server's own pod.

Only there the superuser is let in (the image trusts the local socket, and gives that role no password). psql takes the
place of a client of ours because each step is one text that the server carries out in one transaction: nothing has to be
asked in between, and no port has to be forwarded. The server bounds each step in time.

The fence is the row of a domain in space_smoke.fence, in the maintenance database `postgres`. It survives a restart. A
claim raises it; `alter` locks it, compares it, compares the value and changes it in that same transaction, so that it
happens wholly before a claim, which then reads what it did, or not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.bench.outside import place, pods
from space_smoke.model import objects

MAINTENANCE, SUPERUSER = "postgres", "postgres"
# Ours win over what a role or a database is set to: none of that may keep a fault from being put back.
_OPTIONS = (
    "-c client_min_messages=error -c lc_messages=C -c standard_conforming_strings=on -c synchronous_commit=on "
    "-c default_transaction_read_only=off -c statement_timeout={ms} -c lock_timeout={ms}"
)
_ERROR = re.compile(r"^(?:psql:.*?)?ERROR: +(\w{5}): (.*)$", re.MULTILINE)
_NOT_CONNECTED = re.compile(r"^psql: error: connection to server", re.MULTILINE)
# Classes of SQLSTATE that say nothing about what was asked: connection, deadlock, resources, locks, operator, system.
_GAVE_UP = ("08", "40", "53", "55", "57", "58", "XX")
_NO_TABLE = ("42P01", "3F000")

_MAKE = """CREATE SCHEMA IF NOT EXISTS space_smoke;
CREATE TABLE IF NOT EXISTS space_smoke.fence (domain text PRIMARY KEY, token bigint NOT NULL);"""


class SqlError(Exception):
    """The server refused: SQLSTATE and message."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(f"{state}: {message}")
        self.state = state
        self.message = message


class Server:
    """The Postgres of a StatefulSet. `ask` is one text, one transaction, one JSON answer."""

    def __init__(self, cluster: kube.Kube) -> None:
        self._cluster = cluster

    def ask(self, ref: objects.Ref, sql: str, timeout_s: float = pods.REACH_S) -> tuple[Any, pods.Pod]:
        """As superuser. Raises SqlError, and ApiError where it is not known whether it was done."""
        deadline = pods.Deadline(timeout_s, f"postgres of {ref}")

        def act(pod: pods.Pod) -> tuple[Any, pods.Pod]:
            options = _OPTIONS.format(ms=max(1, int(deadline.left_s() * 1000)))
            return self._psql(pod, [f"PGOPTIONS={options}"], SUPERUSER, MAINTENANCE, sql, deadline), pod

        return pods.reached(self._cluster, ref, deadline, act)

    def session(self, ref: objects.Ref, session: Mapping[str, str], sql: str) -> Any:
        """In a new session of a role in a database, with nothing that would hide their settings."""
        deadline = pods.Deadline(pods.REACH_S, f"postgres of {ref}")

        def act(pod: pods.Pod) -> Any:
            return self._psql(pod, [], session["role"], session["database"], sql, deadline)

        return pods.reached(self._cluster, ref, deadline, act)

    def claim(self, ref: objects.Ref, domain: str, fence: int, value: str, timeout_s: float) -> objects.Json:
        """Raises the fence and returns what the SQL expression `value` gives after that. Raises Refusal(409)."""
        sql = f"""{_MAKE}
INSERT INTO space_smoke.fence AS f VALUES ({literal(domain)}, {fence:d})
  ON CONFLICT (domain) DO UPDATE SET token = EXCLUDED.token WHERE f.token <= EXCLUDED.token;
SELECT json_build_object('fence', (SELECT token FROM space_smoke.fence WHERE domain = {literal(domain)}), 'value', {value})"""
        answer, _ = self.ask(ref, sql, timeout_s)
        if answer["fence"] != fence:
            raise place.Refusal(409, str(answer["fence"]))
        return answer["value"]

    def alter(
        self,
        ref: objects.Ref,
        domain: str,
        fence: int,
        value: str,
        before: objects.Json,
        change: Sequence[str],
        timeout_s: float,
    ) -> None:
        """Carries out the statements of `change` if fence and value are as told. Raises Refusal(409, 412, 422)."""
        try:
            self.ask(ref, guarded(domain, fence, value, before, change), timeout_s)
        except SqlError as error:
            if error.state in ("SS409", *_NO_TABLE):
                raise place.Refusal(409, "".join(re.findall(r"^\d+$", error.message))) from error
            if error.state == "SS412":
                raise place.Refusal(412, error.message) from error
            if error.state[:2] in _GAVE_UP:
                raise errors.ApiError(f"postgres of {ref}: {error}", status=0) from error
            raise place.Refusal(422, error.message) from error

    def _psql(
        self, pod: pods.Pod, env: Sequence[str], user: str, database: str, sql: str, deadline: pods.Deadline
    ) -> Any:
        given = [
            "env",
            "PGCONNECT_TIMEOUT=5",
            *env,
            "psql",
            "-XAtq",
            "-v",
            "ON_ERROR_STOP=1",
            "-v",
            "VERBOSITY=verbose",
        ]
        ended = pods.run(self._cluster, pod, [*given, "-U", user, "-d", database, "-c", sql], deadline)
        refused = _ERROR.search(ended.err)
        if refused is not None:
            raise SqlError(refused.group(1), refused.group(2))
        if ended.code != 0:
            if _NOT_CONNECTED.search(ended.err):
                raise pods.NotYet(ended.err.strip().splitlines()[-1])
            said = (ended.err.strip() or f"psql ended with {ended.code}").splitlines()[-1]
            raise errors.ApiError(f"postgres in pod {pod.name}: {said[:300]}", status=0)
        lines = ended.out.strip().splitlines()
        return json.loads(lines[-1]) if lines else None


def literal(value: str) -> str:
    """An SQL literal; standard_conforming_strings is on."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def guarded(domain: str, fence: int, value: str, before: objects.Json, change: Sequence[str]) -> str:
    """One block, so one transaction, that locks the fence until its end."""
    body = f"""DECLARE have bigint; now jsonb; BEGIN
SELECT token INTO have FROM space_smoke.fence WHERE domain = {literal(domain)} FOR UPDATE;
IF have IS DISTINCT FROM {fence:d} THEN RAISE EXCEPTION USING ERRCODE = 'SS409', MESSAGE = coalesce(have::text, 'none'); END IF;
now := ({value})::jsonb;
IF now <> {literal(json.dumps(before))}::jsonb THEN RAISE EXCEPTION USING ERRCODE = 'SS412', MESSAGE = now::text; END IF;
{"".join(f"EXECUTE {literal(one)}; " for one in change)}
END"""
    tag = "$do$"
    while tag in body:
        tag = f"${tag[1:-1]}o$"
    return f"DO {tag} {body} {tag}"
