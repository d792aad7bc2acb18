"""`postgres-setting`: new sessions of a database, or of a role, begin with another value of one setting.

It is ALTER DATABASE or ALTER ROLE ... SET and not ALTER SYSTEM: those are rows of a catalog and change inside the
transaction that compares the fence; ALTER SYSTEM writes a file, refuses to run in a transaction, and takes effect only
when the server reads its files again. Sessions that are open keep their value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from space_smoke.model import kinds, objects, scenario

_OURS = "postgres"  # the superuser and the maintenance database of the image
_NAME = {"type": "string", "minLength": 1, "maxLength": 63}

SCHEMA: kinds.Schema = {
    "type": "object",
    "required": ["setting", "value"],
    "additionalProperties": False,
    "properties": {
        "setting": {"type": "string", "pattern": "^[a-z_][a-z0-9_.]*$", "description": "its name, in lower case"},
        "value": {"type": "string", "description": "its value while the fault is up, as ALTER DATABASE takes it"},
        "database": {**_NAME, "description": "for sessions in it; without a role, the application's unless said"},
        "role": {**_NAME, "description": "for sessions of it; with a database, only for those in it"},
    },
}


def address(arguments: scenario.Arguments, target: objects.Object) -> Mapping[str, Any]:
    """{"setting", "database", "role", "session": {"database", "role"}}: whose setting it is ("" for any), and which session
    has to see it. What is not said is the application's, from the container's POSTGRES_DB and POSTGRES_USER. Raises
    Unfit where those do not tell, and for what we work with ourselves."""
    database, role = arguments.get("database", ""), arguments.get("role", "")
    if database == _OURS or role == _OURS:
        raise kinds.Unfit(f"postgres-setting: {_OURS!r} is what faults are put back through; name another")
    containers = objects.dig(target, "spec", "template", "spec", "containers") or [{}]
    given = {entry["name"]: entry["value"] for entry in containers[0].get("env") or () if "value" in entry}
    session = {"database": database or given.get("POSTGRES_DB", ""), "role": role or given.get("POSTGRES_USER", "")}
    for word, name in session.items():
        if not name:
            raise kinds.Unfit(
                f"postgres-setting: {objects.ref_of(target)} does not say the application's {word}: add `{word}:`"
            )
    return {
        "setting": arguments["setting"],
        "database": database if database or role else session["database"],
        "role": role,
        "session": session,
    }


def wanted(arguments: scenario.Arguments, _field: Mapping[str, Any]) -> objects.Json:
    return {"value": arguments["value"]}


def describe(value: objects.Json) -> str:
    if not isinstance(value, Mapping):
        return "not known"
    return repr(value["value"]) if "value" in value else "not set"


KIND = kinds.beyond(
    name="postgres-setting",
    summary="new sessions of a database or a role begin with another value of a setting",
    domain="public-api-mutation",
    targets=("statefulset",),
    schema=SCHEMA,
    address=address,
    wanted=wanted,
    describe=describe,
)
