"""The limiters' scenarios."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.tests.mutation_rows.shape import API, NO_CAP, Row, Spoiling, env, more

LIMITER = "local.rate_limiters_enforce_and_fail_open"
FAULTS = "local.limiter_store_faults"
RESTART = "local.redis_restart_and_script_flush"
CAP = "local.concurrency_cap_is_exact"
BURST = "local.activation_burst_is_bounded"
_LIMIT, _MODE = "SPACE_API_CLIENT_CONCURRENCY_LIMIT", "SPACE_API_CLIENT_CONCURRENCY_MODE"
_BURST = "SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST"
_SLOW_CLIENT = "the store is called with the client library's own retries and timeouts"
_STICKY = "after one failure the store is never asked again"

ROWS: Sequence[Row] = (
    Row(
        LIMITER,
        "has-store probe",
        "the API has no store",
        spoiling=more(name="no-url", kind="set-env", target=API, env={"SPACE_REDIS_URL": ""}, phases=["standing"]),
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
    Row(LIMITER, "concurrency-cap hold", NO_CAP, spoiling=env(0, _LIMIT, "4")),
    Row(
        LIMITER,
        "concurrency-cap strangers",
        "every unknown client has a bucket of its own",
        "unknown-client-own-bucket",
    ),
    Row(
        LIMITER,
        "all-admitted open-creates",
        "another workload than the store is gone",
        spoiling=Spoiling(("faults", 1, "target"), "deployment/space-admin-api"),
    ),
    Row(LIMITER, "all-admitted open-connects", _SLOW_CLIENT, "retrying-redis-client"),
    Row(LIMITER, "refused-on-each-pod again", _STICKY, "sticky-fail-open"),
    Row(LIMITER, "decisions-add-up", _STICKY, "sticky-fail-open"),
    Row(FAULTS, "concurrency-cap hold", NO_CAP, spoiling=env(1, _LIMIT, "4")),
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
        spoiling=env(0, "SPACE_REDIS_URL", "redis://space-redis:6379"),
    ),
    Row(FAULTS, "refused-on-each-pod after-shut-out", "the cap is only observed", spoiling=env(1, _MODE, "observe")),
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
    Row(RESTART, "concurrency-cap hold-flushed", NO_CAP, spoiling=env(0, _LIMIT, "4")),
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
    Row(RESTART, "leases-gone anew", NO_CAP, spoiling=env(0, _LIMIT, "4")),
    Row(RESTART, "concurrency-cap hold-ended", _STICKY, "sticky-fail-open"),
    Row(RESTART, "decisions-add-up", _STICKY, "sticky-fail-open"),
    Row(
        CAP,
        "concurrency-cap crowd",
        "a client's leases are counted in one call and taken in another",
        "count-then-take",
    ),
    Row(CAP, "concurrency-cap crowd", NO_CAP, spoiling=env(1, _LIMIT, "8")),
    Row(CAP, "concurrency-cap crowd", "nobody stays", spoiling=Spoiling(("phases", 0, "loads", 0, "hold"), "1ms")),
    *(
        Row(
            BURST,
            f"token-bucket drain-{burst}",
            "the bucket expires at once when burst is low and refill high",
            "ttl-floor",
        )
        for burst in ("one", "ten")
    ),
    Row(BURST, "token-bucket drain-ten", "the burst is not the one that is claimed", spoiling=env(1, _BURST, "20")),
)
