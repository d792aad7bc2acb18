"""`ecw-remove`: deletes the sandboxes that an earlier load kept for others."""

from __future__ import annotations

from space_smoke.loads import ecw_create, traffic
from space_smoke.model import kinds

_SIDE_BY_SIDE = 8

KIND = kinds.LoadKind(
    name="ecw-remove",
    summary="deletes the sandboxes that an earlier load kept",
    schema={
        "type": "object",
        "required": ["of"],
        "additionalProperties": False,
        "properties": {"of": {"type": "string", "description": "the ecw-create load, with keep: true"}},
    },
)


def drive(load: traffic.Traffic) -> None:
    kept = ecw_create.kept(load, load.argument("of"))

    def one(number: int) -> None:
        sandbox = kept[number]
        load.ask(number, "delete", "DELETE", f"/v1/sandboxes/{sandbox}", timeout_s=20, sandbox=sandbox)

    if kept:
        load.fan_out(len(kept), min(_SIDE_BY_SIDE, len(kept)), None, one)
