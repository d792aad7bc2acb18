"""What a running Postgres is, by its own catalogs: version, settings, a role, its connections, what it owns.

The superuser is asked, through the pod's socket, for what only that one sees. Settings are asked in a session of the role
itself, since a role and a database may have their own; those that it may not see, in the superuser's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.bench.outside import postgres
from space_smoke.model import objects

FOLDERS = ("data_directory", "unix_socket_directories")  # settings that name a folder, and that only a superuser sees


def facts(cluster: kube.Kube, ref: objects.Ref, role: str, database: str, settings: Iterable[str]) -> dict[str, Any]:
    """{version, extensions: [name], folders: {setting: path}, role: {name, superuser, …}, owned: [object],
    backends: [{application, address, tls, protocol}], settings: {name: value}}. Raises ApiError, BenchError."""
    server, names = postgres.Server(cluster), list(settings)
    try:
        found = server.session(ref, {"role": postgres.SUPERUSER, "database": database}, _catalogs(role))
        whole, shown = (
            server.session(ref, {"role": who, "database": database}, _settings(names))
            for who in (postgres.SUPERUSER, role)
        )
    except postgres.SqlError as error:
        raise errors.BenchError(f"postgres of {ref} could not be asked: {error}") from error
    return {**found, "settings": {**whole, **shown}}


def _settings(names: Iterable[str]) -> str:
    """As SHOW tells them. pg_settings leaves out what the session may not see."""
    listed = ", ".join(postgres.literal(name) for name in names)
    return f"SELECT json_object_agg(name, current_setting(name)) FROM pg_settings WHERE name IN ({listed})"


def _catalogs(role: str) -> str:
    """pg_shdepend has the owner of each object of every database; objects of another one have no name here."""
    who = postgres.literal(role)
    folders = ", ".join(f"{postgres.literal(name)}, current_setting({postgres.literal(name)})" for name in FOLDERS)
    return f"""SELECT json_build_object(
  'version', current_setting('server_version_num')::int,
  'extensions', (SELECT json_agg(extname ORDER BY extname) FROM pg_extension),
  'folders', json_build_object({folders}),
  'role', (SELECT json_build_object('name', rolname, 'superuser', rolsuper, 'creates_roles', rolcreaterole,
      'creates_databases', rolcreatedb, 'bypasses_row_security', rolbypassrls, 'replicates', rolreplication,
      'member_of', (SELECT coalesce(json_agg(roleid::regrole::text), '[]') FROM pg_auth_members WHERE member = r.oid))
    FROM pg_roles r WHERE rolname = {who}),
  'owned', (SELECT coalesce(json_agg(CASE WHEN dbid = 0 OR datname = current_database()
        THEN pg_describe_object(classid, objid, objsubid) ELSE format('object %s of database %s', objid, datname) END), '[]')
    FROM pg_shdepend LEFT JOIN pg_database d ON d.oid = dbid
    WHERE refclassid = 'pg_authid'::regclass AND deptype = 'o'
      AND refobjid = (SELECT oid FROM pg_roles WHERE rolname = {who})),
  'backends', (SELECT coalesce(json_agg(json_build_object('application', application_name, 'address', client_addr::text,
      'tls', ssl, 'protocol', version)), '[]')
    FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
    WHERE usename = {who} AND backend_type = 'client backend'))"""
