"""A document that the schema and the rules accept -> a frozen scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from space_smoke.model import scenario
from space_smoke.spec import arguments, nodes, schema, units


def scenario_of(document: nodes.Document, tables: schema.Tables) -> scenario.Scenario:
    """The scenario. Raises KeyError, TypeError or UnitError for a document that was not validated."""
    data = document.data
    return scenario.Scenario(
        area=document.area,
        name=data["name"],
        claim=" ".join(data["claim"].split()),
        labels=tuple(data["labels"]),
        budget_s=units.duration(data["budget"]),
        bench=scenario.BenchNeeds(tuple(data["bench"]["charts"]), dict(data["bench"]["replicas"])),
        faults=tuple(_faults(document, tables)),
        phases=tuple(_phases(document, tables)),
        checks=tuple(_checks(document, tables)),
        path=document.path,
    )


def _faults(document: nodes.Document, tables: schema.Tables) -> Iterator[scenario.Fault]:
    for index, item in enumerate(document.data["faults"]):
        sort, name = item["target"].split("/")
        words = ["name", "kind", "target", "phases"]
        words += [] if sort in scenario.CLUSTER_WIDE else [schema.NAMESPACE]
        yield scenario.Fault(
            name=item["name"],
            kind=item["kind"],
            target=scenario.Target(sort, name, item.get(schema.NAMESPACE, "") if schema.NAMESPACE in words else ""),
            arguments=_own(item, tables.faults, *words),
            phases=tuple(item["phases"]),
            place=document.at("faults", index),
        )


def _phases(document: nodes.Document, tables: schema.Tables) -> Iterator[scenario.Phase]:
    for index, phase in enumerate(document.data["phases"]):
        loads = tuple(
            scenario.Load(
                name=item["name"],
                kind=item["kind"],
                arguments=_own(item, tables.loads, "name", "kind"),
                place=document.at("phases", index, "loads", number),
            )
            for number, item in enumerate(phase["loads"])
        )
        yield scenario.Phase(phase["name"], loads, document.at("phases", index))


def _checks(document: nodes.Document, tables: schema.Tables) -> Iterator[scenario.Check]:
    """Each with a label of its own: the kind and the load it looks at, and a number where that is not enough."""
    seen: dict[str, int] = {}
    for index, item in enumerate(document.data["checks"]):
        looked_at = item.get(tables.checks[item["kind"]].looks_at or "load")
        label = f"{item['kind']} {looked_at}" if isinstance(looked_at, str) else item["kind"]
        seen[label] = seen.get(label, 0) + 1
        yield scenario.Check(
            kind=item["kind"],
            arguments=_own(item, tables.checks, "kind"),
            label=label if seen[label] == 1 else f"{label} #{seen[label]}",
            place=document.at("checks", index),
        )


def _own(item: Mapping[str, Any], table: Mapping[str, schema.Declared], *words: str) -> dict[str, Any]:
    """The arguments of the item's kind: all keys but those that every item of its sort has."""
    given = {key: value for key, value in item.items() if key not in words}
    return arguments.arrived(table[item["kind"]].schema, given)
