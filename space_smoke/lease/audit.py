"""The API server's audit log, replayed through the protocol's invariants. Ground truth for drills: what was really written.

Each entry is one answered request (audit.k8s.io/v1 Event, stage ResponseComplete, level RequestResponse) with the patch
that was asked for and the object that came of it. Only writes of ours count, known by the field manager
`space-smoke-<purpose>`; refused ones are counted, not judged. The order is the order of commits: every object's
resourceVersion is the revision of the one etcd, while an entry's time is when its answer was ready.
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
_FENCE_KEY = objects.pointer("metadata", "annotations", view.FENCE)
_HOLDER_KEY = objects.pointer("spec", "holderIdentity")


@dataclass(slots=True)
class Replay:
    """The writes of one domain, judged chunk by chunk; a chunk ends where no request is under way.

    `violations` are sentences; `committed` and `refused` count writes by purpose; `stale_writes` counts the committed writes
    to targets under a fence below the highest that was stamped there (each is a violation too).
    """

    domain: str
    violations: list[str] = field(default_factory=list)
    committed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    fences: dict[tuple[str, str, str], int] = field(default_factory=dict)
    stale_writes: int = 0
    _recorded: set[str] = field(default_factory=set)
    _holder: str | None = None  # None: the log began while somebody had it, and its next taker was not seen yet
    _fence: int = 0

    def add(self, entries: Iterable[Mapping[str, Any]]) -> list[str]:
        """Judges a chunk and returns its violations.

        I-fence: no write to a target commits with a fence below the highest that was stamped on it.
        I-record: no fault is written unless its record is on the Lease. I-clear: a record goes by a write for clear and
        by no other. I-holder: the Lease is written by who took it, until it is released or taken. I-grow: every
        acquisition has a higher fence than all before, and no write lowers it.
        """
        before = len(self.violations)
        ours = [(purpose, entry) for entry in entries if (purpose := purpose_of(entry))]
        for purpose, entry in sorted(ours, key=lambda pair: _when(pair[1])):
            resource = objects.dig(entry, "objectRef", "resource")
            lease = resource == "leases"
            # An Event only tells; it is nobody's target.
            if resource == "events" or self._is_other(entry, lease):
                continue
            if not _good(entry):
                self.refused[purpose] += 1
                continue
            self.committed[purpose] += 1
            if lease:
                self._lease(entry, purpose)
            elif resource == "replicasets":
                self._copies(entry, purpose)
            else:
                self._target(entry, purpose)
        return self.violations[before:]

    def _is_other(self, entry: Mapping[str, Any], lease: bool) -> bool:
        """Whether the write belongs to another domain. One to a target without any fence belongs to every domain."""
        if lease:
            named = objects.dig(entry, "objectRef", "name") or objects.dig(entry, "requestObject", "metadata", "name")
            return bool(named != self.domain)
        prefix = objects.pointer("metadata", "annotations", view.target_fence(""))
        domains = {op["path"].removeprefix(prefix) for op in _operations(entry) if op["path"].startswith(prefix)}
        domains |= {
            key.removeprefix(view.target_fence(""))
            for op in _operations(entry)
            if op["path"] == objects.pointer("metadata", "annotations") and isinstance(op.get("value"), Mapping)
            for key in op["value"]
            if key.startswith(view.target_fence(""))
        }
        return bool(domains) and self.domain not in domains

    def _lease(self, entry: Mapping[str, Any], purpose: str) -> None:
        operations = _operations(entry)
        taken = purpose in ("acquire", "create")
        if not taken and self._holder is not None:
            claimed = next((op["value"] for op in operations if op["op"] == "test" and op["path"] == _HOLDER_KEY), None)
            if claimed != self._holder:
                who = self._holder or "nobody"
                self.violations.append(f"the Lease was written for {purpose} as {claimed}, and {who} held it")
        if taken:
            self._taken(entry, operations)
        else:
            self._keeps_fence(operations)
        if purpose == "release":
            self._holder = ""
        for operation in operations:
            if record.PREFIX.replace("/", "~1") not in operation["path"]:
                continue
            fault = operation["path"].rpartition("record.")[2]
            if operation["op"] in ("add", "replace"):
                self._recorded.add(fault)
            elif operation["op"] == "remove":
                self._recorded.discard(fault)
                if purpose not in ("clear", "abandon"):
                    self.violations.append(f"record {fault} was removed by a write for {purpose}")

    def _taken(self, entry: Mapping[str, Any], operations: list[Mapping[str, Any]]) -> None:
        made = entry.get("requestObject")
        if isinstance(made, Mapping):
            holder = objects.dig(made, "spec", "holderIdentity")
            fence = (objects.dig(made, "metadata", "annotations") or {}).get(view.FENCE, "")
        else:
            values = {op["path"]: op.get("value") for op in operations if op["op"] == "add"}
            holder = values.get(_HOLDER_KEY)
            whole = values.get(objects.pointer("metadata", "annotations"))
            fence = values.get(_FENCE_KEY) or (whole or {}).get(view.FENCE, "")
        number = int(fence) if str(fence).isdecimal() else 0
        # A Lease that is made anew knows the stamps on targets only: a fence that never reached one guards nothing.
        highest = max(self.fences.values(), default=0) if isinstance(made, Mapping) else self._fence
        if number <= highest:
            self.violations.append(f"the Lease was taken with fence {number} after {highest}")
        self._fence = number
        self._holder = str(holder or "")

    def _keeps_fence(self, operations: list[Mapping[str, Any]]) -> None:
        text = next((str(op.get("value")) for op in operations if op["op"] == "add" and op["path"] == _FENCE_KEY), "")
        if text.isdecimal() and int(text) < self._fence:
            self.violations.append(f"the fence of the Lease went from {self._fence} to {text}")
        self._fence = max(self._fence, int(text) if text.isdecimal() else 0)

    def _copies(self, entry: Mapping[str, Any], purpose: str) -> None:
        """A ReplicaSet is no target: what the Deployment controller copied there may be taken off, and nothing else."""
        taken = objects.pointer("metadata", "annotations", record.PREFIX)
        for operation in _operations(entry):
            if operation["op"] != "test" and not (operation["op"] == "remove" and operation["path"].startswith(taken)):
                name = objects.dig(entry, "objectRef", "name")
                self.violations.append(f"ReplicaSet {name} was written for {purpose}: {operation['path']}")

    def _target(self, entry: Mapping[str, Any], purpose: str) -> None:
        ref = entry.get("objectRef") or {}
        where = (str(ref.get("resource")), str(ref.get("namespace")), str(ref.get("name")))
        tested, stamped = _fences(_operations(entry), self.domain)
        if purpose == "inject":
            paths = [op["path"] for op in _operations(entry) if "record." in op["path"]]
            paths += [
                key
                for op in _operations(entry)
                if op["path"] == objects.pointer("metadata", "annotations") and isinstance(op.get("value"), Mapping)
                for key in op["value"]
                if key.startswith(record.PREFIX)
            ]
            if any(path.rpartition("record.")[2] not in self._recorded for path in paths):
                self.violations.append(f"{where[2]} got a fault whose record was not on the Lease")
        highest = self.fences.get(where, 0)
        if purpose == "stamp":
            if stamped is not None and stamped < highest:
                self.violations.append(f"{where[2]} was stamped {stamped} after {highest}")
                self.stale_writes += 1
            self.fences[where] = max(highest, stamped or 0)
        elif tested is None:
            self.violations.append(f"{where[2]} was written for {purpose} without a test of its fence")
        elif tested < highest:
            self.violations.append(f"{where[2]} was written for {purpose} under fence {tested} after {highest}")
            self.stale_writes += 1


def replay(entries: Iterable[Mapping[str, Any]], domain: str) -> Replay:
    """Judges the writes of one domain, all at once."""
    result = Replay(domain)
    result.add(entries)
    return result


def purpose_of(entry: Mapping[str, Any]) -> str:
    """The step that wrote, or "" for a write that is not ours."""
    manager = parse_qs(urlsplit(str(entry.get("requestURI", ""))).query).get("fieldManager", [""])[0]
    return manager.removeprefix(_MANAGER) if manager.startswith(_MANAGER) else ""


def _fences(operations: Iterable[Mapping[str, Any]], domain: str) -> tuple[int | None, int | None]:
    """The fence that a write tests and the one that it sets."""
    path = objects.pointer("metadata", "annotations", view.target_fence(domain))
    tested, stamped = None, None
    for operation in operations:
        value = operation.get("value")
        if operation["path"] == objects.pointer("metadata", "annotations") and isinstance(value, Mapping):
            value = value.get(view.target_fence(domain), "")
        elif operation["path"] != path:
            continue
        if str(value).isdecimal():
            tested = int(str(value)) if operation["op"] == "test" else tested
            stamped = int(str(value)) if operation["op"] != "test" else stamped
    return tested, stamped


def _operations(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    body = entry.get("requestObject")
    return [item for item in body if isinstance(item, Mapping)] if isinstance(body, list) else []


def _good(entry: Mapping[str, Any]) -> bool:
    return 200 <= int(objects.dig(entry, "responseStatus", "code") or 0) < 300


def _when(entry: Mapping[str, Any]) -> tuple[int, str]:
    """A committed write's place among all. A patch that changed nothing has the revision of what was there before."""
    version = str(objects.dig(entry, "responseObject", "metadata", "resourceVersion") or "")
    return (int(version) if version.isdecimal() else 0, str(entry.get("stageTimestamp", "")))
