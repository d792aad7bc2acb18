"""`python3 -m space_api.migrate`: bring the database's schema up to date. Running it again, or twice at once, is safe.

SPACE_DATABASE_URL names the role that owns the schema; SPACE_APP_ROLE, if set, is granted what the services need;
SPACE_MIGRATE_WAIT_S (30) bounds the wait for a database that does not accept connections yet. One run at a time: a
session lock serialises them, and it ends with the session, so a killed run blocks nobody. Exit codes: 0 done, 64 wrong
settings, 1 the database refused or could not be reached.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Mapping

import psycopg
from psycopg import sql

from common import database, logs, settings
from space_api import schema

LOCK = 0x5ACE_0001  # any fixed number, as long as every migrator uses it

_log = logging.getLogger(__name__)


def migrate(url: str, app_role: str = "") -> int:
    """Apply the steps that are missing, each in a transaction of its own; returns how many were. Raises psycopg.Error."""
    with psycopg.connect(url, autocommit=True, connect_timeout=5, application_name="space-migrate") as connection:
        # A step that cannot get its table lock must fail, not queue every reader behind itself. The advisory lock is
        # waited for without limit: whoever holds it is doing the same work.
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        connection.execute("SET lock_timeout = '5s'")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS space_migrations"
            " (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        row = connection.execute("SELECT coalesce(max(version), 0) FROM space_migrations").fetchone()
        applied = int(row[0]) if row else 0
        for version, step in enumerate(schema.STEPS[applied:], start=applied + 1):
            with connection.transaction():
                connection.execute(step.encode())
                connection.execute("INSERT INTO space_migrations (version) VALUES (%s)", (version,))
            _log.info("migrated", extra={"facts": {"version": version}})
        if app_role:
            role = sql.Identifier(app_role)
            connection.execute(sql.SQL(schema.GRANTS).format(role=role))
        return max(0, len(schema.STEPS) - applied)


def _wait(url: str, seconds: float) -> None:
    """Return once the database accepts a connection, or after `seconds`; then the migration itself tells what is wrong.

    A Job that fails instead is started again ever later, which made a fresh installation up to half a minute slower.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            psycopg.connect(url, connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.2)  # nothing announces a database that starts to listen


def main(environment: Mapping[str, str] = os.environ) -> int:
    logs.configure("space-migrate")
    reader = settings.Reader(environment)
    url, role = database.read_url(reader), reader.text("SPACE_APP_ROLE")
    wait_s = reader.number("SPACE_MIGRATE_WAIT_S", 30, 0, 600)
    try:
        reader.settle()
        _wait(url, wait_s)
        steps = migrate(url, role)
    except settings.SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return settings.EXIT_CODE
    except psycopg.Error as error:
        _log.error("migration failed", extra={"facts": {"fault": f"{type(error).__name__}: {error}"}})
        return 1
    _log.info("schema is up to date", extra={"facts": {"steps": steps, "version": len(schema.STEPS)}})
    return 0


if __name__ == "__main__":
    sys.exit(main())
