"""The durable description of one fault, as it stands on the Lease and, while the fault is up, on its target.

Written before the act and removed only after a verified restore, so whoever finds it can undo the fault with nothing
else at hand. It is data, never code, and carries a schema number: a reader that meets a newer or broken record refuses
it by name and leaves it where it is.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import jsonschema

from space_smoke.model import objects

SCHEMA = 1
PREFIX = "space-smoke.dev/record."
GROWTH_BYTES = 1024  # by how much a record may grow after it was planned: stage, attempts, last error

Stage = Literal["planned", "injecting", "up", "restoring", "drifted", "failed"]
STAGES: tuple[Stage, ...] = ("planned", "injecting", "up", "restoring", "drifted", "failed")


@dataclass(frozen=True, slots=True)
class Record:
    """`field` is the kind's own address inside the target; `standing` and `fault` are that field's values, as the kind
    encodes them. `fence` is that of the acquisition that wrote the record. `order` grows within a run: restoring goes
    from the highest down."""

    fault_id: str
    name: str
    run: str
    kind: str
    target: objects.Ref
    field: Mapping[str, Any]
    standing: objects.Json
    fault: objects.Json
    fence: int
    order: int
    stage: Stage = "planned"
    attempts: int = 0
    last_error: str = ""
    cluster: str = ""  # uid of the kube-system namespace: the cluster this record belongs to

    @property
    def key(self) -> str:
        return PREFIX + self.fault_id

    def at(self, stage: Stage, *, error: str | None = None, tried: bool = False) -> Record:
        """The same record one step on. `tried` counts an attempt; an error is kept until a later success clears it."""
        return replace(
            self,
            stage=stage,
            attempts=self.attempts + tried,
            last_error=self.last_error if error is None else _printable(error)[:400],
        )


def _printable(text: str) -> str:
    """One byte per character, two at the most in JSON, so that what a record may grow by is known beforehand."""
    return "".join(sign if " " <= sign <= "~" else "?" for sign in text)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that this version must not touch: where it is, and which rule it broke."""

    key: str
    reason: str


_REF = {
    "type": "object",
    "required": ["apiVersion", "kind", "namespace", "name", "uid"],
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"type": "string", "minLength": 1},
        "kind": {"type": "string", "minLength": 1},
        "namespace": {"type": "string"},
        "name": {"type": "string", "minLength": 1},
        "uid": {"type": "string", "minLength": 1},
    },
}
_SHAPE = {
    "type": "object",
    "required": [
        "schema",
        "id",
        "name",
        "run",
        "kind",
        "target",
        "field",
        "standing",
        "fault",
        "fence",
        "order",
        "phase",
    ],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": SCHEMA},
        "id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,39}$"},
        "name": {"type": "string", "minLength": 1},
        "run": {"type": "string", "minLength": 1},
        "kind": {"type": "string", "minLength": 1},
        "target": _REF,
        "field": {"type": "object"},
        "standing": {},
        "fault": {},
        "fence": {"type": "integer", "minimum": 1},
        "order": {"type": "integer", "minimum": 0},
        "phase": {"enum": list(STAGES)},
        "attempts": {"type": "integer", "minimum": 0},
        "lastError": {"type": "string"},
        "cluster": {"type": "string"},
    },
}
_VALIDATOR = jsonschema.Draft202012Validator(_SHAPE)


def encode(record: Record) -> str:
    """JSON with sorted keys and no spaces, so that equal records are equal bytes."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "id": record.fault_id,
            "name": record.name,
            "run": record.run,
            "kind": record.kind,
            "target": record.target.as_json(),
            "field": record.field,
            "standing": record.standing,
            "fault": record.fault,
            "fence": record.fence,
            "order": record.order,
            "phase": record.stage,
            "attempts": record.attempts,
            "lastError": record.last_error,
            "cluster": record.cluster,
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def decode(key: str, text: str) -> Record | Unreadable:
    """The record under annotation `key`, or why it must be left alone."""
    reason = _broken_rule(text)
    if reason:
        return Unreadable(key, reason)
    raw = json.loads(text)
    if key != PREFIX + raw["id"]:
        return Unreadable(key, f"its id is {raw['id']!r}, which does not belong under this key")
    target = raw["target"]
    return Record(
        fault_id=raw["id"],
        name=raw["name"],
        run=raw["run"],
        kind=raw["kind"],
        target=objects.Ref(target["apiVersion"], target["kind"], target["namespace"], target["name"], target["uid"]),
        field=raw["field"],
        standing=raw["standing"],
        fault=raw["fault"],
        fence=raw["fence"],
        order=raw["order"],
        stage=cast(Stage, raw["phase"]),
        attempts=raw.get("attempts", 0),
        last_error=raw.get("lastError", ""),
        cluster=raw.get("cluster", ""),
    )


@functools.lru_cache(maxsize=1024)
def _broken_rule(text: str) -> str:
    """Which rule of the shape a record's text breaks, or "". A runner reads its records again at every write, and judging
    them against the schema costs more than all the rest of a renewal: the same text is judged once."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        return f"it is not JSON ({error})"
    if isinstance(raw, dict) and isinstance(raw.get("schema"), int) and raw["schema"] > SCHEMA:
        return f"it has schema {raw['schema']}, and this version of space_smoke knows {SCHEMA}"
    problem = next(iter(_VALIDATOR.iter_errors(raw)), None)
    return "" if problem is None else f"{problem.json_path}: {problem.message[:200]}"


def read_all(annotations: Mapping[str, str]) -> tuple[tuple[Record, ...], tuple[Unreadable, ...]]:
    """Every record among an object's annotations in the order they were made, and those that cannot be read."""
    decoded = [decode(key, text) for key, text in sorted(annotations.items()) if key.startswith(PREFIX)]
    records = sorted((r for r in decoded if isinstance(r, Record)), key=lambda r: (r.order, r.fault_id))
    return tuple(records), tuple(r for r in decoded if isinstance(r, Unreadable))
