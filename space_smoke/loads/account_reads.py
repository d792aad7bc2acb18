"""`account-reads`: reads paths of the API server as a service account, and notes which it was given. The API server is asked to
judge each read as that account's (impersonation), so it is a real read with that account's rights, and no token is made.

One event `attempt` each: {attempt: its name, accepted, code: the status of a refusal, said: its message}. What was read is in no
event.
"""

from __future__ import annotations

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.loads import attempts, traffic
from space_smoke.model import kinds

KIND = kinds.LoadKind(
    name="account-reads",
    summary="reads paths of the API server as a service account, and notes which it was given",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["account", "attempts"],
        "properties": {
            "account": {
                "type": "string",
                "pattern": "^[a-z0-9-]+/[a-z0-9-]+$",
                "patternErrorMessage": "write NAMESPACE/NAME of a service account",
                "description": "NAMESPACE/NAME",
            },
            "attempts": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name", "path"],
                    "properties": {
                        "name": attempts.NAME,
                        "path": {
                            "type": "string",
                            "pattern": "^/",
                            "description": "one that ends by itself: a watch needs its timeoutSeconds",
                        },
                        "as": {
                            "enum": ["account", "harness"],
                            "default": "account",
                            "description": "harness: by its own rights, to show that there is something to read",
                        },
                    },
                },
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    load.be_there()
    own = load.door.cluster
    account = own.as_account(*load.argument("account").split("/"))
    for number, one in enumerate(load.argument("attempts")):
        status, said = _read(own if one.get("as") == "harness" else account, one["path"])
        attempts.judged(load, number, one["name"], status, said)


def _read(cluster: kube.Kube, path: str) -> tuple[int, str]:
    """Status, and the message of a refusal. Raises ApiError where the answer says nothing of rights."""
    status, answer = cluster.send("GET", path)
    said = "" if status < 300 else str(answer.get("message", ""))
    if status >= 500:
        raise errors.ApiError(f"GET {path} was answered {status}: {said[:400]}", status=status)
    return status, said
