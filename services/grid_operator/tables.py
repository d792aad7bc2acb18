"""The operator's tables: the steps that lead to them, and how they are taken.

The operator's role owns its tables, and one process at a time is a site, so that the process migrates itself at its start.
Sites may share a database: each row says whose it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from common import database

_LOCK = 0x5ACE_0002  # any fixed number, other than that of space_api's migration

# Ordered for ever: a step that has run anywhere is never edited, only followed by another.
STEPS = (
    # `joined`: an exchange with others has happened since the row was made. Until then they may know more of this site's
    # own spend than it does itself, because the row may be the successor of one that was lost.
    """
    CREATE TABLE grid_sites (
        network text NOT NULL,
        site text NOT NULL,
        secret bytea NOT NULL CHECK (length(secret) = 32),
        generation bigint NOT NULL DEFAULT 0,
        epoch bigint NOT NULL DEFAULT 0,
        revision bigint NOT NULL DEFAULT 0,
        joined boolean NOT NULL DEFAULT false,
        PRIMARY KEY (network, site)
    );
    """,
    # A slot is what peers gave back (relearned) and what was acknowledged here since, because the one never holds the other.
    """
    CREATE TABLE grid_slots (
        network text NOT NULL,
        site text NOT NULL,
        epoch bigint NOT NULL,
        tenant text NOT NULL,
        cents bigint NOT NULL CHECK (cents >= 0),
        spends bigint NOT NULL CHECK (spends >= 0),
        relearned_cents bigint NOT NULL DEFAULT 0,
        relearned_spends bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (network, site, epoch, tenant)
    );
    """,
    """
    CREATE TABLE grid_requests (
        network text NOT NULL,
        site text NOT NULL,
        request text NOT NULL,
        tenant text NOT NULL,
        epoch bigint NOT NULL,
        cents bigint NOT NULL,
        taken_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (network, site, request)
    );
    CREATE INDEX grid_requests_by_age ON grid_requests (taken_at);
    """,
)


@dataclass(frozen=True, slots=True)
class _Version:
    version: int


async def migrate(pool: database.Database) -> int:
    """Apply the steps that are missing, all or none; how many were. Raises database.Unavailable."""
    async with pool.transaction() as session:
        await session.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        await session.execute(
            "CREATE TABLE IF NOT EXISTS grid_migrations"
            " (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        (row,) = await session.query(_Version, "SELECT coalesce(max(version), 0) AS version FROM grid_migrations")
        for version, step in enumerate(STEPS[row.version :], start=row.version + 1):
            await session.execute(step)
            await session.execute("INSERT INTO grid_migrations (version) VALUES (%s)", (version,))
        return max(0, len(STEPS) - row.version)
