"""Performs the protocol's effects on a real API server, one request each, and drives its generators."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode

from space_smoke import errors
from space_smoke.bench import injection, kube, life
from space_smoke.bench.outside import place
from space_smoke.model import effect

T = TypeVar("T")
Settler = Callable[[effect.Settle], effect.Done | effect.Late]


class Performer:
    """`places` are what lies outside of the API server, by fault kind; `settle` waits for a target (the engine picks the
    wait by fault kind); `tell` appends to the History; `reached` is called before and after every write with the step's
    purpose: drills kill, stop and refuse there."""

    def __init__(
        self,
        cluster: kube.Kube,
        *,
        places: Mapping[str, place.Place],
        settle: Settler,
        tell: Callable[..., Any],
        reached: injection.Reached = injection.nothing,
    ) -> None:
        self._cluster = cluster
        self._places = places
        self._settle = settle
        self._tell = tell
        self._reached = reached
        self._turn = threading.RLock()

    def drive(self, steps: Generator[effect.Effect, Any, T]) -> T:
        """Runs one protocol function to its end. One at a time: the renewal in the background waits its turn."""
        with self._turn:
            try:
                wanted = next(steps)
                while True:
                    wanted = steps.send(self.perform(wanted))
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def try_drive(self, steps: Generator[effect.Effect, Any, T]) -> bool:
        """Like drive, but gives up at once when another protocol function is under way (which renews by itself)."""
        if not self._turn.acquire(blocking=False):
            steps.close()
            return False
        try:
            self.drive(steps)
            return True
        finally:
            self._turn.release()

    def perform(self, wanted: effect.Effect) -> Any:
        match wanted:
            case effect.Get(ref):
                return self._reply("GET", kube.path_of(ref), ref.api_version, ref.kind)
            case effect.ListKind(api_version, kind, namespace, selector):
                return self._list(api_version, kind, namespace, selector)
            case effect.Create(body):
                path = kube.collection(body["apiVersion"], body["kind"], body["metadata"].get("namespace", ""))
                return self._write("POST", path, body, "create", body["apiVersion"], body["kind"], 10.0)
            case effect.Patch(ref, operations, purpose, timeout_s):
                return self._write(
                    "PATCH", kube.path_of(ref), list(operations), purpose, ref.api_version, ref.kind, timeout_s
                )
            case effect.Sense(kind, ref, field):
                return self._outside("", lambda: _sensed(self._places[kind].sense(ref, field)))
            case effect.Claim(kind, ref, field, domain, fence, timeout_s):
                there = self._places[kind]
                return self._outside("claim", lambda: {"value": there.claim(ref, field, domain, fence, timeout_s)})
            case effect.Alter(kind, ref, field, domain, fence, before, after, purpose, timeout_s):
                there = self._places[kind]
                return self._outside(
                    purpose, lambda: {"value": there.alter(ref, field, domain, fence, before, after, timeout_s)}
                )
            case effect.Boottime():
                return effect.Instant(life.boottime(), wall())
            case effect.FirstSeen(uid, version):
                return effect.Instant(life.first_seen(uid, version))
            case effect.Fresh():
                return effect.Text(secrets.token_hex(6))
            case effect.Examine(holder):
                return life.examine(holder)
            case effect.Settle():
                return self._settle(wanted)
            case effect.Tell(kind, data):
                self._tell(kind, **data)
        return None

    def _list(
        self, api_version: str, kind: str, namespace: str, selector: str
    ) -> effect.Found | effect.No | effect.Lost:
        try:
            return effect.Found(tuple(self._cluster.listed(api_version, kind, namespace, selector)))
        except errors.ApiError as error:
            return effect.No(error.status, error.message) if error.status else effect.Lost(error.message)

    def _write(
        self, method: str, path: str, body: Any, purpose: str, api_version: str, kind: str, timeout_s: float
    ) -> effect.Done | effect.No | effect.Lost:
        refused = self._reached(purpose, "before")
        if refused is not None:
            return refused
        # The server's own deadline, so that a request we gave up on does not go on for its default minute. The purpose
        # travels as the field manager: the audit log then says which step wrote.
        query = urlencode({"timeout": f"{max(1, int(timeout_s))}s", "fieldManager": f"space-smoke-{purpose}"})
        content = "application/json-patch+json" if method == "PATCH" else "application/json"
        reply = self._reply(method, f"{path}?{query}", api_version, kind, body, content, timeout_s)
        self._reached(purpose, "after")
        return reply

    def _outside(self, purpose: str, act: Callable[[], Mapping[str, Any]]) -> effect.Done | effect.No | effect.Lost:
        refused = self._reached(purpose, "before") if purpose else None
        if refused is not None:
            return refused
        reply: effect.Done | effect.No | effect.Lost
        try:
            reply = effect.Done(act())
        except place.Refusal as refusal:
            reply = effect.No(refusal.status, refusal.message)
        except (errors.SpaceSmokeError, OSError) as error:
            reply = effect.Lost(str(error).splitlines()[0][:400])
        if purpose:
            self._reached(purpose, "after")
        return reply

    def _reply(
        self,
        method: str,
        path: str,
        api_version: str,
        kind: str,
        body: Any = None,
        content: str = "application/json",
        timeout_s: float = 10.0,
    ) -> effect.Done | effect.No | effect.Lost:
        try:
            status, answer = self._cluster.send(method, path, body=body, content=content, timeout_s=timeout_s)
        except errors.ApiError as error:
            return effect.Lost(error.message)
        if status < 300:
            return effect.Done({"apiVersion": api_version, "kind": kind, **answer})
        message = f"{status} {answer.get('reason', '')}: {answer.get('message', '')}"[:400]
        # From 500 on the API server may have passed the write to its store before it gave up.
        return effect.No(status, message) if status < 500 else effect.Lost(message)


def _sensed(found: tuple[Mapping[str, Any], Any]) -> Mapping[str, Any]:
    return {"field": found[0], "value": found[1]}


def wall() -> str:
    """Time of day as MicroTime: six fractional digits and never all zero, which some parsers refuse."""
    now = datetime.now(UTC) + timedelta(seconds=injection.wall_shift_s())
    return now.replace(microsecond=now.microsecond or 1).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
