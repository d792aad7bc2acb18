"""`postgres-connect`: connects to Postgres as clients do, rightly and wrongly, and notes whether each attempt was accepted.

One event `attempt` each: {attempt: its name, accepted, code: the SQLSTATE of a refused statement, said: the reason, or what
the statement gave}. A statement is rolled back, so an attempt that should be refused and is not leaves nothing either.
"""

from __future__ import annotations

import datetime

from space_smoke.bench import certificates
from space_smoke.bench.outside import postgres_client
from space_smoke.loads import attempts, traffic
from space_smoke.model import kinds, objects

SERVER = "postgres"

KIND = kinds.LoadKind(
    name="postgres-connect",
    summary="connects to Postgres as its clients do, rightly and wrongly, and notes which attempts are accepted",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["attempts"],
        "properties": {
            "attempts": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name"],
                    "properties": {
                        "name": attempts.NAME,
                        "host": {
                            "type": "string",
                            "pattern": "^[a-z0-9.-]+$",
                            "default": SERVER,
                            "description": "the name that the server's certificate is held against",
                        },
                        "sslmode": {
                            "enum": ["disable", "require", "verify-ca", "verify-full"],
                            "default": "verify-full",
                            "description": "as libpq takes it",
                        },
                        "authority": {
                            "enum": ["bench", "stranger"],
                            "default": "bench",
                            "description": "whom the client trusts: the bench's authority, or one made for the attempt",
                        },
                        "role": {"enum": list(postgres_client.ROLES), "default": "app", "description": "who connects"},
                        "statement": {
                            "type": "string",
                            "minLength": 1,
                            "default": postgres_client.PROTOCOL,
                            "description": "what is run, and rolled back; without one, which TLS protocol is spoken",
                        },
                    },
                },
            },
        },
    },
)


def drive(load: traffic.Traffic) -> None:
    load.be_there()
    cluster, server = load.door.cluster, objects.Ref("apps/v1", "StatefulSet", load.namespace, SERVER)
    for number, one in enumerate(load.argument("attempts")):
        authority = _authority(load) if one["authority"] == "bench" else _stranger(load)
        wish = postgres_client.Wish(one["host"], one["sslmode"], authority, one["role"], one["statement"])
        told = postgres_client.attempt(cluster, server, wish)
        attempts.tell(load, number, one["name"], accepted=told.accepted, code=told.state, said=told.said)


def _authority(load: traffic.Traffic) -> str:
    """What the bench's clients trust. Raises ApiError."""
    ref = objects.Ref("v1", "ConfigMap", load.namespace, certificates.CONFIG_MAP)
    return str(load.door.cluster.read(ref)["data"]["ca.crt"])


def _stranger(load: traffic.Traffic) -> str:
    """An authority that signed nothing here; its key is forgotten at once."""
    _, config_map = certificates.objects([SERVER], load.namespace, datetime.datetime.now(datetime.UTC))
    return str(config_map["data"]["ca.crt"])
