"""Every assertion of every scenario, with what turns it red. `space_smoke.tests.mutations` makes docs/mutations.md of it.

One table, and long for that. A *switch* is a planted defect, of a service (SPACE_MUTATION) or of the harness
(SPACE_SMOKE_MUTATION); a *spoiling* changes one place of the scenario itself, so that the bench is not what is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

API = "deployment/space-api"
EVERY = "every scenario"
LIMITER = "local.rate_limiters_enforce_and_fail_open"
FAULTS = "local.limiter_store_faults"
RESTART = "local.redis_restart_and_script_flush"
DATABASE = "local.postgres_restart_loses_nothing"
GROUPS = "local.node_group_boundary_schedules"
EXTRAS = "local.node_selector_extras_render_and_enforce"
AS_DEPLOYED = "local.postgres_runs_as_deployments_do"
INSTALLER = "local.chart_endpoint_validation"
TELEMETRY = "local.telemetry_reaches_local_backends"

Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Spoiling:
    """One place of a scenario's file (a path of keys; `+` at its end appends to a list) and its other value."""

    path: Keys
    value: Any


@dataclass(frozen=True, slots=True)
class Row:
    """`switch` is a service's, of `release`, unless `harness`; without one there is a `spoiling`. `breaks`: in words."""

    scenario: str
    check: str
    breaks: str
    switch: str = ""
    harness: bool = False
    spoiling: Spoiling | None = None
    release: str = "space-api"


# Switches that no service has yet, with exactly what each must do. A test fails once a service has one: then it goes.
WANTED: Mapping[str, str] = {}


def _env(fault: int, name: str, value: str) -> Spoiling:
    return Spoiling(("faults", fault, "env", name), value)


def _more(**fault: Any) -> Spoiling:
    return Spoiling(("faults", "+"), fault)


_LIMIT, _MODE = "SPACE_API_CLIENT_CONCURRENCY_LIMIT", "SPACE_API_CLIENT_CONCURRENCY_MODE"
_NO_CAP = "the cap is not the one that is claimed"
_ON_INFRA = _more(
    name="astray",
    kind="set-env",
    target=API,
    env={"SPACE_SANDBOX_NODE_SELECTOR": '{"space-smoke.dev/group": "infra"}'},
    phases=["standing"],
)
_ELSEWHERE = Spoiling(("faults", 0, "target"), "node/infra")
_SLOW_CLIENT = "the store is called with the client library's own retries and timeouts"
_STICKY = "after one failure the store is never asked again"

_OTHER_ROLE = ("phases", 0, "loads", 0, "role")


def _only(**fault: Any) -> Spoiling:
    """For a scenario that has no fault."""
    return Spoiling(("faults",), [fault])


def _attempt(phase: int, load: int, attempt: int, argument: str, value: Any) -> Spoiling:
    return Spoiling(("phases", phase, "loads", load, "attempts", attempt, argument), value)


COMMANDS, RESIDENT = "native.command_round_trip", "native.resident_pause"
TOKENS, SHARED = "native_contract.token_scope", "local.controller_shares_the_activation_bucket"
CONTROLLER = "space-cluster-controller"
_SESSION = "answers session"
_BURST, _REFILL = (f"SPACE_CLUSTER_ACTIVATION_ADMISSION_{word}" for word in ("BURST", "REFILL_PER_SECOND"))


ROWS: Sequence[Row] = (
    Row(
        EVERY,
        "current-pods",
        "a rollout counts as done while old pods still serve",
        "rollout-ignores-old-pods",
        harness=True,
    ),
    Row(EVERY, "nothing-left", "the protocol of faults: each sabotage of docs/fault-lease.md, in simulation"),
    Row(
        "ecw.command_round_trip", "answers session", "a shell takes the command's words apart", "command-through-shell"
    ),
    Row(
        "ecw.command_round_trip",
        "answers session",
        "the command ends with another code",
        spoiling=Spoiling(("phases", 0, "loads", 0, "steps", 3, "command", 2), "echo out; echo err >&2; exit 6"),
    ),
    Row(
        "ecw.sandbox_info",
        "answers life",
        "the sandbox is paused where it should be deleted",
        spoiling=Spoiling(("phases", 0, "loads", 0, "steps", 2), {"do": "pause"}),
    ),
    Row(
        "ecw.pause_connect", "answers session", "a pause ends processes and empties the workspace", "pause-loses-state"
    ),
    Row("ecw.pause_connect", "answers session", "a paused sandbox's processes go on", "pause-keeps-running"),
    Row(
        "ecw.pause_connect",
        "answers session",
        "the sandbox is not left alone for as long as is claimed",
        spoiling=Spoiling(("phases", 0, "loads", 0, "steps", 6, "for"), "1s"),
    ),
    Row("ecw.filesystem_round_trip", "answers files", "a path may lead out of the workspace", "path-traversal-allowed"),
    Row("ecw.filesystem_round_trip", "answers files", "a file is written piece by piece, in place", "files-not-atomic"),
    Row(
        LIMITER,
        "has-store probe",
        "the API has no store",
        spoiling=_more(name="no-url", kind="set-env", target=API, env={"SPACE_REDIS_URL": ""}, phases=["standing"]),
    ),
    Row(LIMITER, "token-bucket drain", "the bucket expires at once when burst is low and refill high", "ttl-floor"),
    Row(LIMITER, "token-bucket drain", "the bucket refills in one lump at each second", "whole-second-clock"),
    Row(LIMITER, "token-bucket drain", "a refusal does not say when to come back", "no-retry-after"),
    Row(
        LIMITER,
        "concurrency-cap hold-after-errors",
        "a request that fails keeps its lease",
        "lost-release-on-exception",
    ),
    Row(LIMITER, "concurrency-cap hold", _NO_CAP, spoiling=_env(0, _LIMIT, "4")),
    Row(
        LIMITER,
        "concurrency-cap strangers",
        "every unknown client has a bucket of its own",
        "unknown-client-own-bucket",
    ),
    Row(LIMITER, "all-admitted open-connects", _SLOW_CLIENT, "retrying-redis-client"),
    Row(LIMITER, "all-admitted open-creates", "the store is not gone", spoiling=Spoiling(("faults", 1, "replicas"), 1)),
    Row(LIMITER, "refused-on-each-pod again", _STICKY, "sticky-fail-open"),
    Row(LIMITER, "decisions-add-up", _STICKY, "sticky-fail-open"),
    Row(FAULTS, "concurrency-cap hold", _NO_CAP, spoiling=_env(1, _LIMIT, "4")),
    Row(
        FAULTS,
        "all-admitted calm",
        "more at once than the cap",
        spoiling=Spoiling(
            ("phases", 2, "loads", 1),
            {
                "name": "calm",
                "kind": "ecw-connect",
                "requests": 8,
                "concurrency": 8,
                "hold": "2s",
                "client": "smoke-a",
                "kept_by": "base",
            },
        ),
    ),
    Row(
        FAULTS,
        "all-admitted open-shut-out",
        "the store lets the API in",
        spoiling=_env(0, "SPACE_REDIS_URL", "redis://space-redis:6379"),
    ),
    Row(FAULTS, "refused-on-each-pod after-shut-out", "the cap is only observed", spoiling=_env(1, _MODE, "observe")),
    *(
        Row(FAULTS, f"all-admitted open-{fault}", _SLOW_CLIENT, "retrying-redis-client")
        for fault in ("silent", "read-only", "lost", "refused")
    ),
    Row(FAULTS, "all-admitted open-full", "the store is not full", spoiling=Spoiling(("faults", 5, "value"), "0")),
    *(
        Row(FAULTS, f"refused-on-each-pod again-{fault}", _STICKY, "sticky-fail-open")
        for fault in ("silent", "read-only", "lost", "full", "refused")
    ),
    Row(FAULTS, "concurrency-cap hold-after-all", _STICKY, "sticky-fail-open"),
    Row(FAULTS, "decisions-add-up", _STICKY, "sticky-fail-open"),
    Row(RESTART, "all-admitted steady", "scripts that the store forgot are not loaded again", "script-not-reloaded"),
    Row(
        RESTART,
        "all-admitted steady",
        "the store is restarted where its scripts should be flushed",
        spoiling=Spoiling(("faults", 1, "kind"), "delete-pod"),
    ),
    Row(
        RESTART,
        "concurrency-cap hold-flushed",
        "scripts that the store forgot are not loaded again",
        "script-not-reloaded",
    ),
    Row(RESTART, "concurrency-cap hold-flushed", _NO_CAP, spoiling=_env(0, _LIMIT, "4")),
    Row(RESTART, "all-admitted on-and-on", "without its store the API refuses", "fail-closed"),
    Row(
        RESTART,
        "all-admitted on-and-on",
        "the sandbox's own client meets its cap",
        spoiling=Spoiling(("phases", 3, "loads", 1, "concurrency"), 20),
    ),
    Row(RESTART, "refused-on-each-pod back", _STICKY, "sticky-fail-open"),
    Row(RESTART, "bucket-full-again full-again", "one admission takes two tokens", "double-charge"),
    Row(RESTART, "leases-gone anew", "a renewal makes a lost lease again", "lease-made-again"),
    Row(RESTART, "leases-gone anew", _NO_CAP, spoiling=_env(0, _LIMIT, "4")),
    Row(RESTART, "concurrency-cap hold-ended", _STICKY, "sticky-fail-open"),
    Row(RESTART, "decisions-add-up", _STICKY, "sticky-fail-open"),
    Row(DATABASE, "writes-survive writes", "a write is acknowledged before it is made", "acknowledge-before-commit"),
    Row(DATABASE, "writes-survive writes", "a create without an answer is done again", "write-twice"),
    Row(
        DATABASE,
        "writes-survive writes",
        "Postgres acknowledges commits that are not on disk yet",
        spoiling=_more(
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
    Row(GROUPS, "placed spread", "sandboxes are sent to another group", spoiling=_ON_INFRA),
    *(
        Row(GROUPS, check, "sandboxes ask for no group", "sandbox-ignores-node-selector")
        for check in ("answers in-vain", "pending waiting")
    ),
    Row(
        GROUPS,
        "placed spread #2",
        "the API is installed on another group",
        spoiling=_more(
            name="astray", kind="helm-values", target=API, values={"nodeGroup": "sandbox"}, phases=["standing"]
        ),
    ),
    *(
        Row(GROUPS, check, "another group is cordoned", spoiling=_ELSEWHERE)
        for check in ("answers in-vain", "pending waiting")
    ),
    Row(
        GROUPS,
        "answers patient",
        "the cordon is not taken away",
        spoiling=Spoiling(("faults", 0, "phases"), ["cordoned", "uncordoned"]),
    ),
    Row(
        EXTRAS,
        "placed spread",
        "sandboxes get no extras",
        spoiling=Spoiling(("faults", 0, "values", "sandbox", "nodeSelectorExtras"), {}),
    ),
    Row(
        EXTRAS,
        "placed spread #2",
        "the API gets no extras",
        spoiling=Spoiling(("faults", 0, "values", "nodeSelectorExtras"), {}),
    ),
    *(
        Row(
            EXTRAS,
            check,
            "every node has the extras",
            spoiling=Spoiling(
                ("faults", 1, "values", "sandbox", "nodeSelectorExtras"), {r"kubernetes\.io/os": "linux"}
            ),
        )
        for check in ("pending waiting", "answers in-vain")
    ),
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
        spoiling=_attempt(0, 1, 0, "sslmode", "require"),
    ),
    Row(
        AS_DEPLOYED,
        "attempts authority",
        "the authority is the right one",
        spoiling=_attempt(0, 2, 0, "authority", "bench"),
    ),
    Row(
        AS_DEPLOYED,
        "attempts host-name",
        "the name is not held against the certificate",
        spoiling=_attempt(0, 3, 0, "sslmode", "verify-ca"),
    ),
    *(
        Row(AS_DEPLOYED, "attempts ddl", f"the role may {words}", spoiling=_attempt(0, 4, attempt, "role", "owner"))
        for attempt, words in enumerate(("create tables", "alter tables", "drop tables", "create schemas"))
    ),
    Row(AS_DEPLOYED, "database-role profile", "the role owns the database", spoiling=Spoiling(_OTHER_ROLE, "owner")),
    Row(AS_DEPLOYED, "database-role profile", "the role is a superuser", spoiling=Spoiling(_OTHER_ROLE, "superuser")),
    Row(
        AS_DEPLOYED,
        "database-settings profile",
        "Postgres acknowledges commits that are not on disk yet",
        spoiling=_only(
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
        spoiling=_only(
            name="greedy", kind="set-env", target=API, env={"SPACE_DATABASE_POOL": "40"}, phases=["standing"]
        ),
    ),
    Row(
        AS_DEPLOYED,
        "database-volume profile",
        "the folder is on a volume that ends with the pod",
        spoiling=Spoiling(("checks", 8, "folder"), "unix_socket_directories"),
    ),
    Row(
        INSTALLER,
        "attempts defaults",
        "a store is named",
        spoiling=_attempt(
            1,
            0,
            0,
            "values",
            {
                chart: {"redis": {"url": "redis://limiters.example:6379"}}
                for chart in ("space-api", "space-admin-api", "space-cluster-controller")
            },
        ),
    ),
    Row(
        INSTALLER,
        "attempts own-store",
        "the API server refuses an object that the chart renders",
        spoiling=_attempt(1, 1, 0, "values", {"space-api": {"podSecurityContext": {"runAsUser": -1}}}),
    ),
    *(
        Row(
            INSTALLER,
            f"attempts {load}",
            "the chart has nothing to refuse",
            spoiling=_attempt(1, number, 0, "values", {}),
        )
        for number, load in enumerate(("kind-endpoint", "urls-differ", "caps-differ", "pools"), start=2)
    ),
    Row(
        INSTALLER,
        "nothing-new after",
        "objects are made meanwhile",
        spoiling=_only(name="busy", kind="set-env", target=API, env={"SPACE_DATABASE_POOL": "7"}, phases=["tried"]),
    ),
    # Operations are performed by the controller, whose sandboxes inherit its switches.
    Row(COMMANDS, _SESSION, "a shell takes the command's words apart", "command-through-shell", release=CONTROLLER),
    Row(COMMANDS, _SESSION, "an order that is repeated is done again", "idempotency-ignored"),
    Row(
        COMMANDS,
        _SESSION,
        "the command ends with another code",
        spoiling=Spoiling(("phases", 0, "loads", 0, "steps", 3, "command", 2), "echo out; echo err >&2; exit 6"),
    ),
    Row(
        COMMANDS,
        _SESSION,
        "no operation is that quick",
        spoiling=Spoiling(("phases", 0, "loads", 0, "within"), "1ms"),
    ),
    Row(
        RESIDENT,
        _SESSION,
        "a pause ends processes and empties the workspace",
        "pause-loses-state",
        release=CONTROLLER,
    ),
    Row(RESIDENT, _SESSION, "a paused sandbox's processes go on", "pause-keeps-running", release=CONTROLLER),
    Row(
        RESIDENT,
        _SESSION,
        "the sandbox runs already when it is resumed",
        spoiling=Spoiling(("phases", 0, "loads", 1, "steps", 6), {"do": "resume"}),
    ),
    Row(RESIDENT, "counted after", "a resume draws no activation", "resume-draws-nothing", release=CONTROLLER),
    Row(TOKENS, "token-scopes matrix", "any token may do anything of its tenant", "token-scope-ignored"),
    Row(TOKENS, "token-scopes matrix", "other tenants' sandboxes and operations are found", "tenant-not-checked"),
    Row(TOKENS, "token-scopes matrix", "a revoked token is still good", "revoked-token-accepted"),
    Row(
        TOKENS,
        "token-scopes matrix",
        "a call needs another scope than is claimed",
        spoiling=Spoiling(("checks", 0, "needs", "command"), "sandboxes:write"),
    ),
    Row(SHARED, "answers api-drains", _NO_CAP, spoiling=_env(0, _BURST, "3")),
    *(
        Row(
            SHARED,
            check,
            "the controller draws from a bucket of its own",
            "controller-own-bucket-key",
            release=CONTROLLER,
        )
        for check in (
            "answers controller-refused",
            "answers api-refused",
            "counted shared-ends",
            "counted shared-ends #2",
        )
    ),
    Row(
        SHARED,
        "answers controller-drains",
        "the bucket is not left to fill",
        spoiling=Spoiling(("phases", 1, "loads", 3, "steps", 1, "for"), "1s"),
    ),
    Row(
        SHARED, "counted shared-ends #3", "the controller has other caps than the API", spoiling=_env(1, _REFILL, "0.2")
    ),
    Row(
        SHARED,
        "counted apart-ends",
        "the controller has the same caps as the API",
        spoiling=Spoiling(("faults", 1, "phases"), ["shared", "apart"]),
    ),
    Row(
        TELEMETRY,
        "telemetry-arrived trace",
        "services and sandboxes are told of no backend",
        spoiling=_only(
            name="mute",
            kind="helm-values",
            target=API,
            values={"telemetry": {"otlpEndpoint": ""}},
            phases=["standing"],
        ),
    ),
    Row(
        TELEMETRY,
        "telemetry-arrived trace #2",
        "no pod is found and asked that quickly",
        spoiling=Spoiling(("checks", 1, "within"), "1ms"),
    ),
    *(
        Row(TELEMETRY, check, "the sandbox tells of a command without its trace id", "trace-dropped")
        for check in ("telemetry-arrived trace", "telemetry-arrived trace #2")
    ),
)
