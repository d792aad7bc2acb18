"""The named defects that can be switched on to prove that a check would notice them.

`SPACE_MUTATION` holds a comma-separated list of these names. It is refused unless `SPACE_PROFILE=kind`, so no deployment
can carry one by accident. Each mutation is read in exactly one place, named here, and turns a test in `services/tests`
red.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import settings

TTL_FLOOR = "ttl-floor"
WHOLE_SECOND_CLOCK = "whole-second-clock"
DOUBLE_CHARGE = "double-charge"
LOST_RELEASE_ON_EXCEPTION = "lost-release-on-exception"
COUNT_THEN_TAKE = "count-then-take"
UNKNOWN_CLIENT_OWN_BUCKET = "unknown-client-own-bucket"
RETRYING_REDIS_CLIENT = "retrying-redis-client"
STICKY_FAIL_OPEN = "sticky-fail-open"
NO_RETRY_AFTER = "no-retry-after"
ACTIVATION_BEFORE_CONCURRENCY = "activation-before-concurrency-without-refund"
CONTROLLER_OWN_BUCKET_KEY = "controller-own-bucket-key"
OPERATION_RUN_TWICE = "operation-run-twice"
TOKEN_SCOPE_IGNORED = "token-scope-ignored"
PLAIN_TOKEN_STORED = "plain-token-stored"
PATH_TRAVERSAL_ALLOWED = "path-traversal-allowed"
FILES_NOT_ATOMIC = "files-not-atomic"
PAUSE_LOSES_STATE = "pause-loses-state"
PAUSE_KEEPS_RUNNING = "pause-keeps-running"
COMMAND_THROUGH_SHELL = "command-through-shell"
SCRIPT_NOT_RELOADED = "script-not-reloaded"
FAIL_CLOSED = "fail-closed"
LEASE_MADE_AGAIN = "lease-made-again"
ACKNOWLEDGE_BEFORE_COMMIT = "acknowledge-before-commit"
WRITE_TWICE = "write-twice"
CONNECTION_NOT_CHECKED = "connection-not-checked"
READY_WITHOUT_DATABASE = "ready-without-database"
SANDBOX_IGNORES_NODE_SELECTOR = "sandbox-ignores-node-selector"
TRACE_DROPPED = "trace-dropped"
IDEMPOTENCY_IGNORED = "idempotency-ignored"
TENANT_NOT_CHECKED = "tenant-not-checked"
REVOKED_TOKEN_ACCEPTED = "revoked-token-accepted"
RESUME_DRAWS_NOTHING = "resume-draws-nothing"

# name -> what breaks (and where it is read)
TABLE = {
    TTL_FLOOR: "the bucket expires after floor(2*burst/rate) seconds, at once when that is 0 (limiters.activation)",
    WHOLE_SECOND_CLOCK: "the bucket refills in one lump at each second edge (limiters.activation)",
    DOUBLE_CHARGE: "one admission takes two tokens (limiters.activation)",
    LOST_RELEASE_ON_EXCEPTION: "a request that raises keeps its lease until expiry (limiters.concurrency)",
    COUNT_THEN_TAKE: "a client's leases are counted in one call and taken in another (limiters.concurrency)",
    UNKNOWN_CLIENT_OWN_BUCKET: "any X-Client-ID gets a bucket of its own (limiters.concurrency)",
    RETRYING_REDIS_CLIENT: "the store is called with redis-py's own retries and timeouts (limiters.store)",
    STICKY_FAIL_OPEN: "after one failure the store is never tried again (limiters.store)",
    NO_RETRY_AFTER: "a refusal does not say when to come back (common.refusals)",
    ACTIVATION_BEFORE_CONCURRENCY: "a request refused for its client has already spent a token (space_api.admission)",
    CONTROLLER_OWN_BUCKET_KEY: "the controller draws from a bucket of its own (space_cluster_controller.app)",
    OPERATION_RUN_TWICE: "a claim is not fenced and a command that was sent is sent again (fleet.claims)",
    TOKEN_SCOPE_IGNORED: "any valid token may do anything of its tenant (space_api.authentication)",
    PLAIN_TOKEN_STORED: "tokens are stored as they are, not as their SHA-256 (fleet.tokens)",
    PATH_TRAVERSAL_ALLOWED: "a path may lead out of the workspace (sandbox.paths)",
    FILES_NOT_ATOMIC: "a file is written in place, piece by piece (sandbox.files)",
    PAUSE_LOSES_STATE: "a pause ends every process of the sandbox and empties its workspace (sandbox.processes)",
    PAUSE_KEEPS_RUNNING: "a pause records the state, and stops no process of the sandbox (sandbox.processes)",
    COMMAND_THROUGH_SHELL: "a command's words are joined with blanks and given to `sh -c` (sandbox.processes)",
    SCRIPT_NOT_RELOADED: "a script that was known and is forgotten counts as an unavailable store (limiters.store)",
    FAIL_CLOSED: "a store without an answer is 503 `store_unavailable`, not an admission (space_api.admission)",
    LEASE_MADE_AGAIN: "a renewal adds a lease that the store no longer knows (limiters.concurrency)",
    ACKNOWLEDGE_BEFORE_COMMIT: "a change of state is answered two seconds before its write is sent (fleet.records)",
    WRITE_TWICE: "a create that the database leaves unanswered inserts again, under a new id (space_api.handlers)",
    CONNECTION_NOT_CHECKED: "for a minute the pool goes on handing out closed connections (common.database)",
    READY_WITHOUT_DATABASE: "/readyz answers 200 without asking the database (common.about)",
    SANDBOX_IGNORES_NODE_SELECTOR: "sandbox pods are made without a node selector (fleet.manifest)",
    TRACE_DROPPED: "a sandbox tells of what it does without the trace id that it was given (sandbox.server)",
    IDEMPOTENCY_IGNORED: "an order that is repeated under its key is another operation (fleet.operations)",
    TENANT_NOT_CHECKED: "sandboxes and operations are found whoever's they are (fleet.operations)",
    REVOKED_TOKEN_ACCEPTED: "a token is good until it expires, revoked or not (fleet.tokens)",
    RESUME_DRAWS_NOTHING: "a resume wakes without asking the activation limiter (space_cluster_controller.steps)",
}

# Those that are read inside a sandbox; whoever makes its pod hands them on.
OF_SANDBOXES = frozenset(
    {
        PATH_TRAVERSAL_ALLOWED,
        FILES_NOT_ATOMIC,
        PAUSE_LOSES_STATE,
        PAUSE_KEEPS_RUNNING,
        COMMAND_THROUGH_SHELL,
        TRACE_DROPPED,
    }
)


def read(reader: settings.Reader, profile: str, known: Sequence[str] = tuple(TABLE)) -> frozenset[str]:
    """The mutations switched on in this environment, of `known`; a mistake when there are any outside the kind profile."""
    active = reader.names("SPACE_MUTATION", known=known)
    if active and profile != "kind":
        reader.mistake("SPACE_MUTATION", ",".join(active), "is only for SPACE_PROFILE=kind; unset it in a deployment")
    return frozenset(active)
