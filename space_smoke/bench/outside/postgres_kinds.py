"""Faults of a running Postgres: a setting of a database or a role, and a restart."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping

from space_smoke import errors
from space_smoke.bench import kube, wait
from space_smoke.bench.outside import place, pods, postgres
from space_smoke.model import kinds, objects

_SIGNALS: Mapping[str, str] = {"fast": "INT", "immediate": "QUIT"}  # postgres(1)
# Where one of them is set, what pg_settings.source of a session says.
_SOURCES = {(True, False): "database", (False, True): "user", (True, True): "database user"}
# flags GUC_LIST_QUOTE: stored in another form than given, and never the same way back by one literal.
_QUOTED_LISTS = (
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
)


class _Kind:
    """What both places share. `now` gives the value as an SQL expression."""

    def __init__(self, cluster: kube.Kube, now: Callable[[place.Field], str]) -> None:
        self._cluster, self._now = cluster, now
        self._server = postgres.Server(cluster)

    def watching(self, ref: objects.Ref) -> place.Watched:
        return [("v1", "Pod", ref.namespace)]

    def claim(self, ref: objects.Ref, field: place.Field, domain: str, fence: int, timeout_s: float) -> objects.Json:
        with _answered(ref):
            return self._server.claim(ref, domain, fence, self._now(field), timeout_s)


class Setting(_Kind):
    """ALTER DATABASE or ALTER ROLE ... SET of one parameter. A value is {"value": text} or {"absent": true}, as
    pg_db_role_setting has it."""

    def __init__(self, cluster: kube.Kube) -> None:
        super().__init__(cluster, _stored)

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        """Refuses what cannot be set this way, and what could not be looked at from a session."""
        setting, session = field["setting"], field["session"]
        if setting in _QUOTED_LISTS:
            raise place.Refusal(422, f"{setting} is a list that Postgres stores in a form of its own")
        sql = f"""SELECT json_build_object('value', {_stored(field)},
  'context', (SELECT context FROM pg_settings WHERE name = {postgres.literal(setting)}),
  'database', EXISTS (SELECT FROM pg_database WHERE datname = {postgres.literal(session["database"])}),
  'login', (SELECT rolcanlogin FROM pg_roles WHERE rolname = {postgres.literal(session["role"])}),
  'super', (SELECT rolsuper FROM pg_roles WHERE rolname = {postgres.literal(session["role"])}))"""
        found, _ = self._server.ask(ref, sql)
        if not found["database"]:
            raise place.Refusal(422, f"there is no database {session['database']!r}")
        if not found["login"] or found["super"]:
            raise place.Refusal(422, f"{session['role']!r} is no role that logs in, or is a superuser")
        if "." not in setting and found["context"] not in ("user", "superuser", "backend", "superuser-backend"):
            context = found["context"] or "not known to this server"
            raise place.Refusal(422, f"{setting} cannot be set for a database or a role (it is {context})")
        return field, found["value"]

    def alter(
        self,
        ref: objects.Ref,
        field: place.Field,
        domain: str,
        fence: int,
        before: objects.Json,
        after: objects.Json,
        timeout_s: float,
    ) -> objects.Json:
        setting = ".".join(postgres.name(part) for part in field["setting"].split("."))
        what = f"SET {setting} = {postgres.literal(after['value'])}" if "value" in after else f"RESET {setting}"
        change = [f"ALTER {_whose(field)} {what}"]
        self._server.alter(ref, domain, fence, _stored(field), before, change, timeout_s)
        return after

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        """By a new session of the kind that it is meant for, and by the catalog."""
        setting = postgres.literal(field["setting"])
        given = f"set_config({setting}, {postgres.literal(expect['value'])}, true)" if "value" in expect else "NULL"
        with _answered(ref):
            # What Postgres shows for the value ('5000' as 5s) is asked first, where it cannot reach any other session.
            found, pod = self._server.ask(
                ref, f"SELECT json_build_object('stored', {_stored(field)}, 'shown', {given})"
            )
            seen = self._server.session(
                ref,
                field["session"],
                f"SELECT json_build_object('value', current_setting({setting}, true), "
                f"'source', (SELECT source FROM pg_settings WHERE name = {setting}))",
            )
        source = _SOURCES[bool(field["database"]), bool(field["role"])]
        effect = seen["value"] == found["shown"] if "value" in expect else seen["source"] != source
        words = f"stored {json.dumps(found['stored'])}; a new session has {seen['value']!r} ({seen['source']})"
        stored = found["stored"]
        return wait.State(effect and stored == expect, words, thing={**pod.target, kinds.OUTSIDE: stored})


class Restart(_Kind):
    """The server stops and its container starts anew. A value is {"done": bool}: its start time is another one than when
    it was sensed, which the field then holds."""

    def __init__(self, cluster: kube.Kube) -> None:
        super().__init__(cluster, _restarted)

    def sense(self, ref: objects.Ref, field: place.Field) -> tuple[place.Field, objects.Json]:
        """Refuses a server that was restarted so often of late that the kubelet would hold the next start back for longer
        than is waited for. It doubles that time at each restart, from 10 s at the second, and forgets after 10 minutes."""
        found, pod = self._server.ask(
            ref,
            f"SELECT json_build_object('started', {_STARTED}, 'up_s', extract(epoch FROM now()) - {_STARTED}::numeric)",
        )
        if pod.restarts >= _RESTARTS and found["up_s"] < _FORGOTTEN_S and "started" not in field:
            raise place.Refusal(
                422,
                f"{ref} was restarted {pod.restarts} times, the last time {found['up_s']:.0f} s ago, and its next start "
                f"would be held back; wait for {_FORGOTTEN_S} s, or delete pod {pod.name}",
            )
        full = {"started": found["started"], **field}
        return full, {"done": found["started"] != full["started"]}

    def alter(
        self,
        ref: objects.Ref,
        field: place.Field,
        domain: str,
        fence: int,
        before: objects.Json,
        after: objects.Json,
        timeout_s: float,
    ) -> objects.Json:
        """The server signals its postmaster while it holds the fence's row. What psql answers tells little, since it may
        end before the server or with it: that another server runs is the answer. No row is copied: the program would be gone before it was written to."""
        program = f"kill -{_SIGNALS[field['mode']]} $(head -n 1 postmaster.pid)"
        change = [f"COPY (SELECT WHERE false) TO PROGRAM {postgres.literal(program)}"]
        deadline = pods.Deadline(timeout_s, f"postgres of {ref}")
        with contextlib.suppress(errors.ApiError):
            self._server.alter(ref, domain, fence, _restarted(field), before, change, timeout_s)
        wait.until(
            self._cluster,
            f"postgres of {ref} to be another server",
            lambda: self.settled(ref, field, after),
            watching=self.watching(ref),
            timeout_s=deadline.left_s(),
        )
        return after

    def settled(self, ref: objects.Ref, field: place.Field, expect: objects.Json) -> wait.State:
        """A restart is in effect when another server answers; it is over when the pod is ready besides."""
        with _answered(ref):
            value, pod = self._server.ask(ref, f"SELECT {_restarted(field)}")
        thing = {**pod.target, kinds.OUTSIDE: value}
        if expect == {"done": True}:
            return wait.State(
                value == expect, "another server runs" if value == expect else "it was not restarted", thing=thing
            )
        return wait.State(
            pod.ready, "it takes connections" + ("" if pod.ready else ", its pod is not ready"), thing=thing
        )


# The fifth restart of a pod waits 80 s.
_RESTARTS, _FORGOTTEN_S = 4, 600
_STARTED = "extract(epoch FROM pg_postmaster_start_time())::text"


@contextlib.contextmanager
def _answered(ref: objects.Ref) -> Iterator[None]:
    """What the server refuses where no refusal is meant tells nothing of the value."""
    try:
        yield
    except postgres.SqlError as error:
        raise errors.ApiError(f"postgres of {ref}: {error}", status=0) from error


def _restarted(field: place.Field) -> str:
    return f"json_build_object('done', {_STARTED} <> {postgres.literal(field['started'])})"


def _whose(field: place.Field) -> str:
    if not field["role"]:
        return f"DATABASE {postgres.name(field['database'])}"
    return f"ROLE {postgres.name(field['role'])}" + (
        f" IN DATABASE {postgres.name(field['database'])}" if field["database"] else ""
    )


def _stored(field: place.Field) -> str:
    """An SQL expression: the setting as the catalog has it; 0 stands there for any database, any role."""
    database = (
        f"(SELECT oid FROM pg_database WHERE datname = {postgres.literal(field['database'])})"
        if field["database"]
        else "0"
    )
    role = f"(SELECT oid FROM pg_roles WHERE rolname = {postgres.literal(field['role'])})" if field["role"] else "0"
    setting = postgres.literal(field["setting"])
    return f"""coalesce((SELECT json_build_object('value', substr(entry, length({setting}) + 2))
  FROM pg_db_role_setting, unnest(setconfig) AS entry
  WHERE setdatabase = {database} AND setrole = {role} AND lower(split_part(entry, '=', 1)) = {setting}),
  json_build_object('absent', true))"""
