"""Through the queue: operations of the native API, its tokens, and the bucket that controller and API share."""

from __future__ import annotations

from collections.abc import Sequence

from space_smoke.tests.mutation_rows.shape import NO_CAP, Row, Spoiling, env

COMMANDS, RESIDENT = "native.command_round_trip", "native.resident_pause"
TOKENS, SHARED = "native_contract.token_scope", "local.controller_shares_the_activation_bucket"
CONTROLLER = "space-cluster-controller"
_SESSION = "answers session"
_BURST, _REFILL = (f"SPACE_CLUSTER_ACTIVATION_ADMISSION_{word}" for word in ("BURST", "REFILL_PER_SECOND"))

ROWS: Sequence[Row] = (
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
    Row(SHARED, "answers api-drains", NO_CAP, spoiling=env(0, _BURST, "3")),
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
        SHARED, "counted shared-ends #3", "the controller has other caps than the API", spoiling=env(1, _REFILL, "0.2")
    ),
    Row(
        SHARED,
        "counted apart-ends",
        "the controller has the same caps as the API",
        spoiling=Spoiling(("faults", 1, "phases"), ["shared", "apart"]),
    ),
)
