"""`ecw-ledger`: reads back what an `ecw-churn` wrote, from the API and from the database itself, and then removes what is
left of it.

The database is asked by psql in its own pod, as its superuser: so its answer passes through nothing of the API. From the
moment on at which the first acknowledged sandbox was recorded all rows are read, whoever made them: a write that was done
twice is a row that nobody was told of. Two events `records` hold the answers: {source: api | database, records: {id: state}}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from space_smoke import errors
from space_smoke.bench.outside import postgres
from space_smoke.loads import ecw_create, traffic
from space_smoke.model import kinds, objects

DATABASE = "space"
SERVER = "postgres"
_READERS = 4

KIND = kinds.LoadKind(
    name="ecw-ledger",
    summary="reads back what an ecw-churn wrote, from the API and from the database, and removes what is left",
    schema={
        "type": "object",
        "required": ["of"],
        "additionalProperties": False,
        "properties": {"of": {"type": "string", "description": "the ecw-churn load, which has ended"}},
    },
)


def drive(load: traffic.Traffic) -> None:
    made = ecw_create.kept(load, load.argument("of"))
    if not made:
        return
    rows = _database(load, made)
    listed = _listed(load)
    told = _told(load, made)
    load.emit("records", load=load.load.name, source="api", records=told, listed=listed)
    mine = {*made, *(rows or {})}
    ecw_create.remove(load, [sandbox for sandbox in dict.fromkeys(listed) if sandbox in mine])


def _listed(load: traffic.Traffic) -> list[str]:
    answer = load.ask(0, "list", "GET", "/v1/sandboxes", timeout_s=20)
    parsed = answer.parsed()
    listed = parsed.get("sandboxes") if isinstance(parsed, Mapping) else None
    return [str(one.get("id")) for one in listed or ()]


def _told(load: traffic.Traffic, made: Sequence[str]) -> dict[str, str]:
    """What the API says of each sandbox: its state, or the status of an answer that is no record."""
    told: dict[str, str] = {}

    def one(number: int) -> None:
        sandbox = made[number]
        answer = load.ask(number + 1, "info", "GET", f"/v1/sandboxes/{sandbox}", timeout_s=20, sandbox=sandbox)
        seen: Any = answer.parsed()
        known = answer.status == 200 and isinstance(seen, Mapping)
        told[sandbox] = str(seen.get("state")) if known else f"status {answer.status or answer.error}"

    load.fan_out(len(made), _READERS, None, one)
    return told


def _database(load: traffic.Traffic, made: Sequence[str]) -> dict[str, str] | None:
    """The rows as an event; None, and a note why, when they could not be had."""
    server = objects.Ref("apps/v1", "StatefulSet", load.namespace, SERVER)
    session = {"role": postgres.SUPERUSER, "database": DATABASE}
    try:
        rows = postgres.Server(load.door.cluster).session(server, session, query(made))
    except (errors.ApiError, postgres.SqlError) as error:
        load.emit("note", sentence=f"load {load.load.name}: the database could not be read: {error}")
        return None
    records = {str(row["id"]): str(row["state"]) for row in rows}
    load.emit("records", load=load.load.name, source="database", records=records)
    return records


def query(made: Sequence[str]) -> str:
    """One JSON array of {id, state}: all sandboxes recorded since the first of these."""
    ids = ", ".join(postgres.literal(sandbox) for sandbox in made)
    return (
        "SELECT coalesce(json_agg(json_build_object('id', id, 'state', state)), '[]') FROM sandboxes"  # noqa: S608 - literals
        f" WHERE created_at >= (SELECT min(created_at) FROM sandboxes WHERE id::text IN ({ids}))"
    )
