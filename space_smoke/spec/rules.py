"""What must hold in a scenario beyond the shape of its file: names, places, order and what refers to what.

Each rule reads plain data that may still be wrong in shape (the schema speaks of that) and yields (path, message), so
that every mistake of a file is told at once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from space_smoke import errors
from space_smoke.model import scenario
from space_smoke.spec import messages, nodes, schema, units

LONGEST_BUDGET_S = 3600.0

# Arguments of checks that name something of the scenario.
_REFERENCES: Mapping[str, str] = {
    "load": "load",
    "against": "load",
    "after": "load",
    "across": "load",
    "ledger": "load",
    "watch": "load",
    "loads": "load",
    "phase": "phase",
    "phases": "phase",
    "fault": "fault",
    "faults": "fault",
    "store_faults": "fault",
}
_LISTS = ("loads", "phases", "faults", "store_faults")

Findings = Iterator[tuple[nodes.Path, str]]


def broken(document: nodes.Document, tables: schema.Tables) -> Iterator[errors.Mistake]:
    """Every mistake of one file against these rules."""
    data = document.data
    yield from _place(document)
    yield from _bench(document)
    for rule in _RULES:
        for path, message in rule(data):
            yield errors.Mistake(document.at(*path), message)
    for path, message in itertools.chain(_namespaces(data, tables), _checks(data, tables)):
        yield errors.Mistake(document.at(*path), message)


def names(data: Any, sort: str) -> list[tuple[nodes.Path, str]]:
    """(path, name) of each load, phase or fault that has a name, in the order of the file."""
    found: list[tuple[nodes.Path, Mapping[str, Any]]]
    found = _loads(data) if sort == "load" else [((f"{sort}s", i), item) for i, item in _items(data, f"{sort}s")]
    return [((*path, "name"), item["name"]) for path, item in found if isinstance(item.get("name"), str)]


def _place(document: nodes.Document) -> Iterator[errors.Mistake]:
    if not re.fullmatch(schema.NAME, document.area):
        message = f"the folder is the scenario's area and is called {nodes.quoted(document.area)}: {schema.NAME_RULE}"
        yield errors.Mistake(document.at(), message)
    name = document.data.get("name")
    if isinstance(name, str) and name != document.stem:
        message = f"name is {nodes.quoted(name)}, and the file is called {nodes.quoted(document.stem)}: make them equal"
        yield errors.Mistake(document.at("name"), message)


def _claim(data: Any) -> Findings:
    claim = data.get("claim")
    if not isinstance(claim, str):
        return
    said = " ".join(claim.split())
    if not said and claim:
        yield ("claim",), "claim is blank: say in one sentence what this run can prove wrong"
    elif said and (not said.endswith(".") or re.search(r"[.!?]['\")]? [A-Z]", said)):
        yield ("claim",), f"claim is {nodes.quoted(said)}: it must be one sentence that ends with a full stop"


def _budget(data: Any) -> Findings:
    try:
        budget_s = units.duration(data.get("budget"))
    except units.UnitError:
        return  # the schema speaks of it
    if not 0 < budget_s <= LONGEST_BUDGET_S:
        yield ("budget",), f"budget is {nodes.quoted(data['budget'])}: it must be more than 0 and at most 1h"


def _bench(document: nodes.Document) -> Iterator[errors.Mistake]:
    bench = document.data.get("bench")
    charts = bench.get("charts", []) if isinstance(bench, Mapping) else None
    replicas = bench.get("replicas") if isinstance(bench, Mapping) else None
    if isinstance(charts, list) and isinstance(replicas, Mapping):
        for chart in replicas:
            if chart not in charts:
                message = f"bench.replicas: {nodes.quoted(chart)} is not one of bench.charts"
                place = document.at_key("bench", "replicas", chart)
                yield errors.Mistake(place, message + messages.nearest(chart, map(str, charts)))


def _twice(data: Any) -> Findings:
    for sort in ("phase", "load", "fault"):
        seen: set[str] = set()
        for path, name in names(data, sort):
            if name in seen:
                yield path, f"{sort} {nodes.quoted(name)} is declared twice: give each its own name"
            seen.add(name)


def _fault_phases(data: Any) -> Findings:
    order = list(dict.fromkeys(name for _, name in names(data, "phase")))
    for index, fault in _items(data, "faults"):
        path: nodes.Path = ("faults", index, "phases")
        held = _texts(fault.get("phases"))
        unknown = [(at, phase) for at, phase in enumerate(held) if phase not in order]
        for at, phase in unknown:
            yield (
                (*path, at),
                f"{_called(fault)}: there is no phase {nodes.quoted(phase)}{messages.nearest(phase, order)}",
            )
        if held and not unknown and len(set(held)) == len(held):
            first = order.index(held[0])
            if order[first : first + len(held)] != held:
                message = f"{_called(fault)}: phases {', '.join(held)} are not neighbours in order"
                yield path, f"{message}; the order is: {', '.join(order)}"


def _through(data: Any) -> Findings:
    """A load that goes on beside later phases ends with its own or a later one."""
    order = [str(phase.get("name")) for _, phase in _items(data, "phases")]
    for at, phase in _items(data, "phases"):
        for index, load in _items(phase, "loads"):
            through = load.get("through")
            if isinstance(through, str) and through not in order[at:]:
                message = (
                    f"{_called(load, 'load')}: through: {nodes.quoted(through)} is not its own phase or a later one"
                )
                yield ("phases", at, "loads", index, "through"), message + messages.nearest(through, order[at:])


def _kept(data: Any) -> Findings:
    """What a load reads of another one must have been made before it."""
    seen: list[str] = []
    for path, load in _loads(data):
        for word in ("of", "kept_by"):
            named = load.get(word)
            if isinstance(named, str) and named not in seen:
                message = f"{_called(load, 'load')}: {word}: there is no load {nodes.quoted(named)} before it"
                yield (*path, word), message + messages.nearest(named, seen)
        seen.append(str(load.get("name")))


def _one_at_a_time(data: Any) -> Findings:
    """One field of one object carries one fault: of two that hold together only one value could be there."""
    faults = list(_items(data, "faults"))
    for (_, first), (index, second) in itertools.combinations(faults, 2):
        spot = [(f.get("kind"), f.get("target"), _where(f)) for f in (first, second)]
        both = [phase for phase in _texts(first.get("phases")) if phase in _texts(second.get("phases"))]
        if spot[0] == spot[1] and None not in spot[0] and both:
            message = f"{_called(second)}: {_called(first)} is also a {spot[0][0]} of {spot[0][1]} in phase {nodes.quoted(both[0])}"
            yield ("faults", index), f"{message}; make them one fault"


_RULES: tuple[Callable[[Any], Findings], ...] = (
    _claim,
    _budget,
    _twice,
    _fault_phases,
    _one_at_a_time,
    _through,
    _kept,
)


def _where(fault: Mapping[str, Any]) -> str:
    """The namespace of a fault's target. What a fault in a node says of namespaces is about pods, not about its target."""
    wide = str(fault.get("target")).split("/")[0] in scenario.CLUSTER_WIDE
    return "" if wide else str(fault.get(schema.NAMESPACE, ""))


def _namespaces(data: Any, tables: schema.Tables) -> Findings:
    """Every namespace that a fault names, of its target or of pods, is one of the bench's, where those are known."""
    for index, fault in _items(data, "faults"):
        for path in ((), ("from",), ("to",)):
            said = fault.get(path[0]) if path else fault
            name = said.get(schema.NAMESPACE) if isinstance(said, Mapping) else None
            if tables.namespaces and isinstance(name, str) and name not in tables.namespaces:
                where = ".".join((*path, schema.NAMESPACE))
                message = f"{_called(fault)}: {where}: no release of a bench is in namespace {nodes.quoted(name)}"
                yield ("faults", index, *path, schema.NAMESPACE), message + messages.nearest(name, tables.namespaces)


def _checks(data: Any, tables: schema.Tables) -> Findings:
    """Every load, phase and fault that a check names exists. Where a list may stand, a word (`all`) is the schema's matter."""
    known = {sort: [name for _, name in names(data, sort)] for sort in ("load", "phase", "fault")}
    for index, check in _items(data, "checks"):
        declared = tables.checks.get(check["kind"]) if isinstance(check.get("kind"), str) else None
        looks_at = {declared.looks_at: "load"} if declared and declared.looks_at else {}
        for argument, sort in {**_REFERENCES, **looks_at}.items():
            value = check.get(argument)
            named = (
                [((), value)]
                if isinstance(value, str) and argument not in _LISTS
                else [((at,), name) for at, name in enumerate(_texts(value))]
            )
            for inner, name in named:
                if name not in known[sort]:
                    message = f"{_called(check, 'check')}: {argument}: there is no {sort} {nodes.quoted(name)}"
                    yield ("checks", index, argument, *inner), message + messages.nearest(name, known[sort])


def _loads(data: Any) -> list[tuple[nodes.Path, Mapping[str, Any]]]:
    """Every load with its path, in the order in which they begin."""
    return [
        (("phases", p, "loads", i), load) for p, phase in _items(data, "phases") for i, load in _items(phase, "loads")
    ]


def _items(data: Any, key: str) -> list[tuple[int, Mapping[str, Any]]]:
    entries = data.get(key) if isinstance(data, Mapping) else None
    return (
        [(i, entry) for i, entry in enumerate(entries) if isinstance(entry, Mapping)]
        if isinstance(entries, list)
        else []
    )


def _texts(value: Any) -> list[str]:
    return value if isinstance(value, list) and all(isinstance(entry, str) for entry in value) else []


def _called(item: Mapping[str, Any], sort: str = "fault") -> str:
    return f"{sort} {nodes.quoted(item.get('kind' if sort == 'check' else 'name', '(without a name)'))}"
