"""crd-current: the cluster's definitions are the chart's, field by field, and objects that use every field come back as they
were sent. The first path that differs, or was dropped, is named. An object that leaves a field out proves nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from space_smoke.checks import facts, say
from space_smoke.model import history, kinds, scenario, verdict


def judge(check: scenario.Check, events: Sequence[history.Event], _the: scenario.Scenario) -> verdict.Verdict:
    load = check.arguments["load"]
    if why := facts.unfinished(events, load):
        return say.unknown(check, why)
    mine = [event for event in history.of_kind(events, "read-back") if event.data.get("load") == load]
    definitions = [event for event in mine if "crd" in event.data]
    things = [event for event in mine if "object" in event.data]
    if not definitions or not things:
        return say.unknown(check, f"{len(definitions)} definitions and {len(things)} objects were read")
    for event in definitions:
        if found := _first(event, "differs"):
            expected = f"{event.data['crd']} with {found['path']} {found['chart']}, as in the chart"
            return say.failed(check, expected, str(found["cluster"]), [event.index])
    for event in things:
        name = facts.text(event, "object")
        if refused := facts.text(event, "refused"):
            return say.failed(check, f"{name} to be taken", refused, [event.index])
        if pruned := event.data.get("pruned"):
            return say.failed(
                check, f"{name} to come back as it was sent", f"another {say.some(pruned, 5)}", [event.index]
            )
    unused = [(event, event.data["missing"]) for event in things if event.data.get("missing")]
    if unused:
        event, missing = unused[0]
        return say.unknown(check, f"{facts.text(event, 'object')} does not use {say.some(missing, 5)}", [event.index])
    kinds_seen = say.count(len(definitions), "definition")
    sentence = (
        f"{kinds_seen} as in the chart, and {say.count(len(things), 'object')} with every field came back as sent"
    )
    return say.passed(check, sentence, facts.indexes(mine))


def _first(event: history.Event, key: str) -> Mapping[str, object] | None:
    listed = event.data.get(key)
    return listed[0] if isinstance(listed, list | tuple) and listed else None


KIND = kinds.CheckKind(
    name="crd-current",
    summary="the cluster's definitions are the chart's, and objects with every field come back as they were sent",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["load"],
        "properties": {"load": {"type": "string", "description": "the crd-read-back load"}},
    },
    judge=judge,
    looks_at="load",
)
