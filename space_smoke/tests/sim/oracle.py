"""What must hold at every single commit, whoever crashed or was delayed before it; and what must hold at the end.

The judge sees the store's changes with their true sender, which the protocol itself cannot know. It says nothing of
writes by others (sender "").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.faults import kinds
from space_smoke.lease import view
from space_smoke.model import kinds as model_kinds
from space_smoke.model import objects, record
from space_smoke.tests.sim import api


class Broken(AssertionError):
    """The protocol did something that it promises never to do."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """Who holds a Lease in truth. `renewed_at` is by the holder's own clock, which is all that it can write down."""

    sender: str
    renewed_at: float


class Oracle:
    """`now` and `alive` are the world's: a runner's clock (the true one for ""), and whether a runner's process is left (a stopped one is)."""

    __slots__ = ("alive", "claims", "landed", "now", "settled", "stampers", "tampered", "tenures", "things", "written")

    def __init__(
        self, things: dict[api.Key, api.Thing], now: Callable[[str], float], alive: Callable[[str], bool]
    ) -> None:
        self.things, self.now, self.alive = things, now, alive
        self.stampers: dict[api.Key, tuple[str, str]] = {}  # target -> its uid, the runner that stamped it last
        self.claims: set[tuple[str, api.Key]] = set()  # runner, place
        self.landed: set[str] = set()  # records whose copy came to a target: nothing of the others was ever there
        self.settled: dict[tuple[str, api.Key], int] = {}  # runner, target -> generation that it waited for
        self.written: dict[api.Key, int] = {}  # target -> generation that our last change made
        self.tenures: dict[api.Key, Tenure] = {}
        self.tampered: set[api.Key] = set()  # changed by others

    def fork(
        self, things: dict[api.Key, api.Thing], now: Callable[[str], float], alive: Callable[[str], bool]
    ) -> Oracle:
        copy = Oracle(things, now, alive)
        copy.stampers, copy.settled, copy.written = dict(self.stampers), dict(self.settled), dict(self.written)
        copy.tenures, copy.tampered, copy.claims = dict(self.tenures), set(self.tampered), set(self.claims)
        copy.landed = set(self.landed)
        return copy

    def judge(self, commit: api.Commit) -> None:
        if not commit.sender:
            self.tampered.add(commit.key)
            if commit.after is None:
                self.tenures.pop(commit.key, None)
        elif commit.key[1] == "Lease":
            self._lease(commit)
        elif commit.key[0] == "outside":
            self._outside(commit)
        elif commit.key[1] != "Event":
            self._target(commit)

    def claimed(self, sender: str, place: api.Key) -> None:
        """A place outside granted a claim, also one that raised nothing."""
        self.stampers[place] = ("", sender)
        self.claims.add((sender, place))

    def verified(self, sender: str, thing: objects.Object) -> None:
        """A runner waited for a target and was told that it is what its spec says."""
        self.settled[sender, key_of(thing)] = thing["metadata"]["generation"]

    def _lease(self, commit: api.Commit) -> None:
        before, after = commit.before or {}, commit.after
        was, now = holder(before), holder(after or {})
        tenure = self.tenures.get(commit.key)
        if tenure is not None and was and tenure.sender != commit.sender:
            stated_s = view.parse(before).duration_s
            over = self.now("") - tenure.renewed_at > stated_s or not self.alive(tenure.sender)
            if not over:
                raise Broken(f"{commit.sender} wrote to the Lease of {tenure.sender}, which lives ({commit.purpose})")
            if now == was:
                raise Broken(f"{commit.sender} wrote to the Lease of {tenure.sender} ({commit.purpose})")
        for key, text in (objects.annotations_of(before) if before else {}).items():
            given_up = key.replace("/record.", "/abandoned.") in (objects.annotations_of(after) if after else {})
            if commit.purpose == "abandon" and given_up:
                continue
            if key.startswith(record.PREFIX) and key not in (objects.annotations_of(after) if after else {}):
                self._cleared(commit, record.decode(key, text))
        if now and now != was:
            if commit.key not in self.tampered and fence(after or {}) <= fence(before):
                raise Broken(f"the fence did not grow: {fence(before)} -> {fence(after or {})} at {commit.purpose}")
            self.tenures[commit.key] = self._tenure(commit.sender, after or {})
        elif now and tenure is not None:
            self.tenures[commit.key] = self._tenure(tenure.sender, after or {})
        else:
            self.tenures.pop(commit.key, None)

    def _tenure(self, sender: str, lease: api.Thing) -> Tenure:
        """From when the write was begun, however late it landed."""
        now, stamp = self.now(sender), view.parse(lease).info.get("boottime")
        return Tenure(sender, min(now, stamp) if isinstance(stamp, int | float) else now)

    def _cleared(self, commit: api.Commit, item: record.Record | record.Unreadable) -> None:
        if isinstance(item, record.Unreadable):
            raise Broken(f"{commit.sender} removed a record that nobody can read: {item.key}")
        key, kind = item.target.where(), kinds.KINDS[item.kind]
        thing = self.things.get(key)
        if thing is None:
            return
        same = thing["metadata"]["uid"] == item.target.uid and key not in self.tampered
        if same and item.key in objects.annotations_of(thing):
            raise Broken(f"{commit.sender} cleared {item.name} while its copy is on the target")
        if kind.outside:
            key = ("outside", item.kind, item.target.namespace, item.target.name)
            thing = {**thing, model_kinds.OUTSIDE: api.value_of(self.things[key], item.field)}
            same = same and key not in self.tampered
            if (commit.sender, key) not in self.claims:
                raise Broken(f"{commit.sender} cleared {item.name}, whose place it never claimed")
        elif not same:
            return
        if kind.reversible and kind.read(thing, item.field) == item.fault:
            raise Broken(f"{commit.sender} cleared {item.name} while its fault value stands")
        if same and kind.reversible and kind.read(thing, item.field) != item.standing:
            raise Broken(f"{commit.sender} cleared {item.name}, which does not hold what stood before")
        if same and item.key in self.landed and self.settled.get((commit.sender, key), 0) < self.written.get(key, 0):
            raise Broken(f"{commit.sender} cleared {item.name} before it had verified the restore")

    def _target(self, commit: api.Commit) -> None:
        before, after = commit.before or {}, commit.after or {}
        uid = after["metadata"]["uid"]
        if commit.purpose == "stamp":
            if view_fence(after) <= view_fence(before):
                raise Broken(
                    f"{commit.sender} stamped {commit.key[3]} with {view_fence(after)} over {view_fence(before)}"
                )
            self.stampers[commit.key] = (uid, commit.sender)
            return
        if self.stampers.get(commit.key) != (uid, commit.sender):
            raise Broken(
                f"{commit.purpose} of {commit.sender} landed on {commit.key[3]}, stamped last by "
                f"{self.stampers.get(commit.key)}"
            )
        self.written[commit.key] = after["metadata"]["generation"]
        for note in objects.annotations_of(after).keys() - objects.annotations_of(before).keys():
            if note.startswith(record.PREFIX):
                self.landed.add(note)
                if not self._recorded(note):
                    raise Broken(f"{commit.sender} changed {commit.key[3]} before its record was durable")
        if (
            commit.purpose == "inject"
            and not objects.annotations_of(after).keys() - objects.annotations_of(before).keys()
        ):
            raise Broken(f"{commit.sender} changed {commit.key[3]} without a record on it")

    def _outside(self, commit: api.Commit) -> None:
        before, after = commit.before or {}, commit.after or {}
        if commit.purpose == "claim":
            if after["fence"] <= before["fence"]:
                raise Broken(f"{commit.sender} claimed {commit.key[1]} with {after['fence']} over {before['fence']}")
            return
        if self.stampers.get(commit.key) != ("", commit.sender):
            raise Broken(
                f"{commit.purpose} of {commit.sender} landed in {commit.key[1]}, claimed last by "
                f"{self.stampers.get(commit.key)}"
            )
        self.written[commit.key] = after["metadata"]["generation"]
        target = ("apps/v1", "Deployment", *commit.key[2:])
        found = objects.annotations_of(self.things[target])
        copies = [record.decode(key, text) for key, text in found.items() if key.startswith(record.PREFIX)]
        items = [item for item in copies if isinstance(item, record.Record) and item.kind == commit.key[1]]
        if commit.purpose == "act":
            lawful = any(item.fault == after["value"] and self._recorded(item.key) for item in items)
        else:
            lawful = any(item.standing == after["value"] and item.fault == before["value"] for item in items)
        if not lawful and target not in self.tampered:
            raise Broken(
                f"{commit.purpose} of {commit.sender} in {commit.key[1]} is not what a record on its target says"
            )

    def _recorded(self, note: str) -> bool:
        leases = [(key, thing) for key, thing in self.things.items() if key[1] == "Lease"]
        return any(note in objects.annotations_of(thing) or key in self.tampered for key, thing in leases) or not leases


def key_of(thing: objects.Object) -> api.Key:
    return objects.ref_of(thing).where()


def holder(lease: Mapping[str, Any]) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity", ""))


def fence(lease: Mapping[str, Any]) -> int:
    return int(objects.annotations_of(lease).get(view.FENCE, "0")) if lease else 0


def view_fence(target: objects.Object) -> int:
    """The highest fence of any domain on a target."""
    notes = objects.annotations_of(target).items()
    return max((int(text) for key, text in notes if key.startswith(f"{view.FENCE}.")), default=0)


def left_over(things: Mapping[api.Key, api.Thing]) -> list[str]:
    """Every record that still stands anywhere, as where/key."""
    return [
        f"{key[1]}/{key[3]}: {note}"
        for key, thing in things.items()
        for note in objects.annotations_of(thing)
        if note.startswith(record.PREFIX)
    ]
