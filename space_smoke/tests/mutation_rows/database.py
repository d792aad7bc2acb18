"""Postgres: as deployments run it, and restarted."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.tests.mutation_rows.shape import API, Row, Spoiling, attempt, more, only

DATABASE = "local.postgres_restart_loses_nothing"
NODE = "local.node_stop_loses_nothing"
AS_DEPLOYED = "local.postgres_runs_as_deployments_do"
_OTHER_ROLE = ("phases", 0, "loads", 0, "role")

ROWS: Sequence[Row] = (
    Row(DATABASE, "writes-survive writes", "a write is acknowledged before it is made", "acknowledge-before-commit"),
    Row(DATABASE, "writes-survive writes", "a create without an answer is done again", "write-twice"),
    Row(
        DATABASE,
        "writes-survive writes",
        "Postgres acknowledges commits that are not on disk yet",
        spoiling=more(
            name="careless",
            kind="postgres-setting",
            target="statefulset/postgres",
            setting="synchronous_commit",
            value="off",
            phases=[
                "standing",
                "fast",
                "after-fast",
                "pod-deleted",
                "after-pod-deleted",
                "immediate",
                "after-immediate",
            ],
        ),
    ),
    Row(DATABASE, "outage-bounded writes", "closed connections are handed out for a while", "connection-not-checked"),
    Row(
        DATABASE,
        "outage-bounded writes",
        "no outage is that short",
        spoiling=Spoiling(("checks", 1, "within"), "100ms"),
    ),
    Row(DATABASE, "readiness-follows health", "a pod is ready without its database", "ready-without-database"),
    Row(
        DATABASE,
        "readiness-follows health",
        "no pod is that quick",
        spoiling=Spoiling(("checks", 2, "within"), "1ms"),
    ),
    Row(NODE, "writes-survive writes", "a write is acknowledged before it is made", "acknowledge-before-commit"),
    Row(NODE, "outage-bounded writes", "no outage is that short", spoiling=Spoiling(("checks", 1, "within"), "1s")),
    Row(
        AS_DEPLOYED,
        "database-encrypted profile",
        "a role connects without TLS",
        spoiling=Spoiling(_OTHER_ROLE, "superuser"),
    ),
    Row(
        AS_DEPLOYED,
        "attempts plaintext",
        "a client that is refused nothing",
        spoiling=attempt(0, 1, 0, "sslmode", "require"),
    ),
    Row(
        AS_DEPLOYED,
        "attempts authority",
        "the authority is the right one",
        spoiling=attempt(0, 2, 0, "authority", "bench"),
    ),
    Row(
        AS_DEPLOYED,
        "attempts host-name",
        "the name is not held against the certificate",
        spoiling=attempt(0, 3, 0, "sslmode", "verify-ca"),
    ),
    *(
        Row(AS_DEPLOYED, "attempts ddl", f"the role may {words}", spoiling=attempt(0, 4, number, "role", "owner"))
        for number, words in enumerate(("create tables", "alter tables", "drop tables", "create schemas"))
    ),
    Row(AS_DEPLOYED, "database-role profile", "the role owns the database", spoiling=Spoiling(_OTHER_ROLE, "owner")),
    Row(AS_DEPLOYED, "database-role profile", "the role is a superuser", spoiling=Spoiling(_OTHER_ROLE, "superuser")),
    Row(
        AS_DEPLOYED,
        "database-settings profile",
        "Postgres acknowledges commits that are not on disk yet",
        spoiling=only(
            name="careless",
            kind="postgres-setting",
            target="statefulset/postgres",
            setting="synchronous_commit",
            value="off",
            phases=["standing"],
        ),
    ),
    Row(
        AS_DEPLOYED,
        "database-budget profile",
        "the API's pools are too large for the server",
        spoiling=only(
            name="greedy", kind="set-env", target=API, env={"SPACE_DATABASE_POOL": "40"}, phases=["standing"]
        ),
    ),
    Row(
        AS_DEPLOYED,
        "database-volume profile",
        "the folder is on a volume that ends with the pod",
        spoiling=Spoiling(("checks", 8, "folder"), "unix_socket_directories"),
    ),
)
