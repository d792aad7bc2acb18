"""The database's schema as the steps that lead to it, and what the services' role may do with it."""

from __future__ import annotations

# Ordered for ever: a step that has run anywhere is never edited, only followed by another.
STEPS = (
    """
    CREATE TABLE sandboxes (
        id uuid PRIMARY KEY,
        state text NOT NULL CHECK (state IN ('starting', 'running', 'paused', 'failed', 'deleted')),
        client text NOT NULL,
        pod text NOT NULL,
        address text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX sandboxes_by_age ON sandboxes (created_at DESC) WHERE state <> 'deleted';
    """,
    # '' is nobody's: the sandboxes made without a token, among them all that were there before.
    """
    ALTER TABLE sandboxes ADD COLUMN tenant text NOT NULL DEFAULT '';
    """,
    """
    CREATE TABLE tokens (
        id uuid PRIMARY KEY,
        tenant text NOT NULL CHECK (tenant <> ''),
        name text NOT NULL,
        scopes text[] NOT NULL,
        digest bytea NOT NULL UNIQUE,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        revoked_at timestamptz
    );
    """,
    # An operation without a key is one that nobody asks for again: NULLs are never equal.
    """
    CREATE TABLE operations (
        id uuid PRIMARY KEY,
        seq bigint GENERATED ALWAYS AS IDENTITY,
        tenant text NOT NULL CHECK (tenant <> ''),
        idempotency_key text,
        kind text NOT NULL
            CHECK (kind IN ('create', 'command', 'pause', 'resume', 'delete', 'files.put', 'files.get')),
        sandbox uuid NOT NULL,
        request jsonb NOT NULL,
        trace_id text NOT NULL,
        state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'succeeded', 'failed')),
        attempt int NOT NULL DEFAULT 0,
        worker text,
        claimed_until timestamptz,
        sent boolean NOT NULL DEFAULT false,
        activated boolean NOT NULL DEFAULT false,
        activation jsonb,
        refusals int NOT NULL DEFAULT 0,
        returns int NOT NULL DEFAULT 0,
        not_before timestamptz NOT NULL DEFAULT now(),
        result jsonb,
        error jsonb,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (tenant, idempotency_key)
    );
    CREATE INDEX operations_unfinished ON operations (seq) WHERE state IN ('queued', 'running');
    CREATE INDEX operations_of_sandbox ON operations (sandbox, seq) WHERE state IN ('queued', 'running');
    """,
    # For the removal of what finished long ago.
    """
    CREATE INDEX operations_finished ON operations (updated_at) WHERE state IN ('succeeded', 'failed');
    """,
)

GRANTS = "GRANT SELECT, INSERT, UPDATE, DELETE ON sandboxes, tokens, operations TO {role}"
