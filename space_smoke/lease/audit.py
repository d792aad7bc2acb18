"""The API server's audit log, replayed through the protocol's invariants. Ground truth for drills: what was really written.

Each entry is one answered request (audit.k8s.io/v1 Event, stage ResponseComplete) with the patch that was asked for. Only
writes of ours count, known by the field manager `space-smoke-<purpose>`; refused ones are counted, not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from space_smoke.lease import view
from space_smoke.model import objects, record

_MANAGER = "space-smoke-"


@dataclass(slots=True)
class Replay:
    """`violations` are sentences; `committed` and `refused` count writes by purpose."""

    violations: list[str] = field(default_factory=list)
    committed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    fences: dict[tuple[str, str, str], int] = field(default_factory=dict)


def replay(entries: Iterable[Mapping[str, Any]], domain: str, since: str = "") -> Replay:
    """Judges the writes of one domain in the order the API server answered them; `since` is an audit timestamp.

    I-fence: no write to a target commits with a fence below the highest that was stamped on it.
    I-record: no fault is written before its record. I-clear: a record goes by a write for clear and by no other.
    """
    result = Replay()
    known: set[str] = set()
    ordered = sorted((e for e in entries if str(e.get("stageTimestamp", "")) >= since), key=_when)
    for entry in ordered:
        purpose = purpose_of(entry)
        if not purpose:
            continue
        status = int(objects.dig(entry, "responseStatus", "code") or 0)
        if not 200 <= status < 300:
            result.refused[purpose] += 1
            continue
        result.committed[purpose] += 1
        if objects.dig(entry, "objectRef", "resource") == "leases":
            _lease(entry, purpose, result, known)
        else:
            _target(entry, purpose, domain, result, known)
    return result


def purpose_of(entry: Mapping[str, Any]) -> str:
    """The step that wrote, or "" for a write that is not ours."""
    manager = parse_qs(urlsplit(str(entry.get("requestURI", ""))).query).get("fieldManager", [""])[0]
    return manager.removeprefix(_MANAGER) if manager.startswith(_MANAGER) else ""


def _lease(entry: Mapping[str, Any], purpose: str, result: Replay, known: set[str]) -> None:
    for operation in _operations(entry):
        if record.PREFIX.replace("/", "~1") not in operation.get("path", ""):
            continue
        fault = operation["path"].rpartition("record.")[2]
        if operation["op"] != "remove":
            known.add(fault)
        elif purpose != "clear":
            result.violations.append(f"record {fault} was removed by a write for {purpose}")


def _target(entry: Mapping[str, Any], purpose: str, domain: str, result: Replay, known: set[str]) -> None:
    ref = entry.get("objectRef") or {}
    where = (str(ref.get("resource")), str(ref.get("namespace")), str(ref.get("name")))
    fence_path = objects.pointer("metadata", "annotations", view.target_fence(domain))
    tested, stamped = None, None
    for operation in _operations(entry):
        path = operation.get("path", "")
        if path == fence_path and str(operation.get("value", "")).isdecimal():
            tested = int(operation["value"]) if operation["op"] == "test" else tested
            stamped = int(operation["value"]) if operation["op"] != "test" else stamped
        if path == objects.pointer("metadata", "annotations") and isinstance(operation.get("value"), Mapping):
            text = operation["value"].get(view.target_fence(domain), "")
            stamped = int(text) if str(text).isdecimal() else stamped
        if purpose == "inject" and "record." in path and path.rpartition("record.")[2] not in known:
            result.violations.append(f"{where[2]} got a fault before its record was on the Lease")
    highest = result.fences.get(where, 0)
    if purpose == "stamp":
        if stamped is not None and stamped < highest:
            result.violations.append(f"{where[2]} was stamped {stamped} after {highest}")
        result.fences[where] = max(highest, stamped or 0)
    elif tested is None:
        result.violations.append(f"{where[2]} was written for {purpose} without a test of its fence")
    elif tested < highest:
        result.violations.append(f"{where[2]} was written for {purpose} under fence {tested} after {highest}")


def _operations(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    body = entry.get("requestObject")
    return [item for item in body if isinstance(item, Mapping)] if isinstance(body, list) else []


def _when(entry: Mapping[str, Any]) -> str:
    return str(entry.get("stageTimestamp", ""))
