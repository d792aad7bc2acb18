"""Traffic for somebody who watches: a steady, seeded stream of ECW requests for a while, and what each pod says of its store.

Reads only, apart from sandboxes of its own, which it deletes at its end, also after Ctrl-C. It takes no Lease: a drill or a
run goes on beside it. Open loop: a request is due at its time whatever became of the others, and is late when too many
wait. Called by the command, which connects the events to what is shown.
"""

from __future__ import annotations

import dataclasses
import math
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from space_smoke import errors
from space_smoke.bench import http, wait
from space_smoke.engine import scene
from space_smoke.loads import api_state, ecw_create, ecw_session, traffic
from space_smoke.model import history, objects, scenario

NAME, STATE = "load", "state"
MOST_RPS, MOST_S, MOST_CLIENTS = 500.0, 24 * 3600.0, 200
MOST_TURNS = 100_000  # each is kept until the end: about 100 MB for so many
# What can be driven, with the default rate: what a bench on two cores keeps up with.
PROFILES: Mapping[str, str] = {"connect": "20/s", "create": "1/s", "session": "20/m"}
_UNDER_WAY = 128  # requests at a time; a further one waits, and is told as behind
_HOLD_S = 0.5  # how long a connection is held: long enough for several of one client to be held at once
_STATE_EVERY_S = 1.0
_REACH_S = 5.0

Listen = Callable[[history.Event], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is driven: `rate_rps` turns a second for `for_s` seconds, each by one of `clients` that the seed chooses."""

    profile: str
    rate_rps: float
    for_s: float
    clients: int
    seed: int

    @property
    def turns(self) -> int:
        return math.ceil(self.rate_rps * self.for_s)

    def client(self, turn: int) -> str:
        return f"client-{random.Random(f'{self.seed}-{turn}').randrange(self.clients)}"  # noqa: S311 (no secret)


@dataclass(frozen=True, slots=True)
class Ended:
    """`left` are sandboxes that could not be deleted; `failure` is what broke the traffic itself, if anything did."""

    left: Sequence[str]
    interrupted: bool
    failure: BaseException | None = None


def mistakes(the: Plan) -> list[str]:
    """What is wrong with a plan, each with its value and its rule."""
    found = [
        f"--{flag} is {value:g} {unit} and must be {least:g} to {most:g}"
        for flag, value, least, most, unit in (
            ("rate", the.rate_rps, 0.01, MOST_RPS, "a second"),
            ("for", the.for_s, 1.0, MOST_S, "seconds"),
            ("clients", the.clients, 1, MOST_CLIENTS, "clients"),
        )
        if not least <= value <= most
    ]
    if not found and the.turns > MOST_TURNS:
        found.append(f"--rate times --for is {the.turns} requests and must be at most {MOST_TURNS}")
    return found


def reach(door: http.Door) -> None:
    """Raises BenchError when the public API does not answer, from here and now."""
    answer = door.ask("GET", "/healthz", timeout_s=_REACH_S)
    if answer.status != 200:
        said = answer.error or f"it answered {answer.status}"
        raise errors.BenchError(
            f"the public API ({door.service} in namespace {door.namespace}) cannot be reached: {said}",
            next_step="space_smoke status shows what is broken on purpose; space_smoke up brings the bench up",
        )


def pods(on: scene.Scene) -> list[str]:
    """The ready pods of the public API; none when the cluster does not say."""
    try:
        deployment = on.cluster.read(objects.Ref("apps/v1", "Deployment", on.namespace, scene.SERVICE))
        return [pod.name for pod in wait.pods_of(on.cluster, deployment) if pod.ready]
    except errors.ApiError:
        return []


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn of the schedule. `shared` is the sandbox that all turns of a profile use, or None."""

    number: int
    client: str
    shared: str | None
    more: Mapping[str, Any]


@dataclass(slots=True)
class Driver:
    """One traffic. `listen` is told every request of it; `ready` names the pods that are asked for their state."""

    plan: Plan
    door: http.Door
    listen: Listen
    ready: Callable[[], list[str]]
    began_wall_s: float
    stop: threading.Event = field(default_factory=threading.Event)
    _made: dict[str, None] = field(default_factory=dict)  # sandboxes that are not known to be gone, oldest first
    _done: threading.Event = field(default_factory=threading.Event)
    _failure: BaseException | None = None

    def drive(self, each_second: Callable[[float], None]) -> Ended:
        """Drives the traffic to its end, and calls `each_second` with the door's time, from this thread.

        Ctrl-C ends the traffic and waits for what is under way and for the deletions; a second one ends the waiting.
        """
        works = [threading.Thread(target=work, daemon=True) for work in (self._states, self._traffic)]
        for work in works:
            work.start()
        interrupted = False
        try:
            try:
                self._tick(each_second)
            except KeyboardInterrupt:
                interrupted = True
                self.stop.set()
                told = "stopped: waiting for what is under way, then deleting the sandboxes of this load"
                self._tell("note", sentence=told, stopped=True)
                self._tick(each_second)
            works[0].join(_REACH_S)  # its last round belongs to what is shown at the end
        except KeyboardInterrupt:
            self._tell("note", sentence="stopped again: not waiting any longer", stopped=True)
        return Ended(tuple(self._made), interrupted, self._failure)

    def _tick(self, each_second: Callable[[float], None]) -> None:
        due_s = self.door.clock() + 1.0
        while not self._done.wait(max(0.0, due_s - self.door.clock())):
            each_second(self.door.clock())
            due_s += 1.0

    def _traffic(self) -> None:
        try:
            flow = self._flow(NAME, self.stop)
            take = {"connect": self._connect, "create": self._create, "session": self._session}[self.plan.profile]
            shared = self._make(flow, 0, part="setup") if self.plan.profile == "connect" else None
            if self.plan.profile == "connect" and not shared:
                self._tell(
                    "note", sentence="the sandbox to connect to could not be made: one that never was is asked for"
                )
            # What was made beforehand is no part of the schedule.
            began_s = self._tell("load-started", load=NAME, kind=flow.load.kind, arguments={}).at_s

            def one(turn: int) -> None:
                behind_s = max(0.0, self.door.clock() - (began_s + turn / self.plan.rate_rps))
                take(flow, _Turn(turn, self.plan.client(turn), shared, {"behind_s": behind_s}))

            flow.fan_out(self.plan.turns, _UNDER_WAY, self.plan.rate_rps, one)
            self._clean()
        except BaseException as failure:  # told by whoever waits in the other thread
            self._failure = failure
        finally:
            self._done.set()

    def _states(self) -> None:
        """Asks each ready pod, or the Service when none is known, once and until the traffic has ended."""
        ended = False
        while not ended:
            named = self.ready()
            asked = {"pods": "each" if named else "service"}
            flow = self._flow(STATE, threading.Event())
            api_state.drive(
                dataclasses.replace(flow, load=scenario.Load(STATE, api_state.KIND.name, asked), pods=named)
            )
            ended = self._done.wait(_STATE_EVERY_S)

    def _connect(self, flow: traffic.Traffic, turn: _Turn) -> None:
        _step(flow, turn, "connect", turn.shared or "sb-none")

    def _create(self, flow: traffic.Traffic, turn: _Turn) -> None:
        sandbox = self._make(flow, turn.number, client=turn.client, **turn.more)
        if sandbox:
            self._delete(flow, turn.number, sandbox, part="cleanup")

    def _session(self, flow: traffic.Traffic, turn: _Turn) -> None:
        """A caller's way through the API; only its create is due at a time, the further steps follow one another."""
        sandbox = self._make(flow, turn.number, client=turn.client, **turn.more)
        for do in ("info", "command", "pause", "connect") if sandbox else ():
            if not flow.stop.is_set():
                _step(flow, dataclasses.replace(turn, more={}), do, sandbox or "")
        if sandbox:
            self._delete(flow, turn.number, sandbox, client=turn.client)

    def _flow(self, name: str, stop: threading.Event) -> traffic.Traffic:
        load = scenario.Load(name, f"ecw-{self.plan.profile}", {})
        return traffic.Traffic(load, self.door, self._tell, [], self.began_wall_s, self.plan.seed, stop)

    def _tell(self, kind: str, /, **data: Any) -> history.Event:
        event = history.Event(0, self.door.clock(), kind, data)
        self.listen(event)
        return event

    def _make(self, flow: traffic.Traffic, number: int, **more: Any) -> str | None:
        sandbox = ecw_create.make(flow, number, **more)
        if sandbox:
            self._made[sandbox] = None
        return sandbox

    def _delete(self, flow: traffic.Traffic, number: int, sandbox: str, **more: Any) -> None:
        answer = flow.ask(number, "delete", "DELETE", f"/v1/sandboxes/{sandbox}", timeout_s=20, sandbox=sandbox, **more)
        if answer.status in (204, 404):
            self._made.pop(sandbox, None)

    def _clean(self) -> None:
        """Deletes what is left, once each. The stop of the traffic does not stop this."""
        flow, left = self._flow(NAME, threading.Event()), tuple(self._made)
        if left:
            flow.fan_out(len(left), min(8, len(left)), None, lambda n: self._delete(flow, n, left[n], part="cleanup"))


def _step(flow: traffic.Traffic, turn: _Turn, do: str, sandbox: str) -> http.Answer:
    method, path, body = ecw_session.request({"do": do, "hold_s": _HOLD_S}, sandbox)
    return flow.ask(
        turn.number,
        do,
        method,
        path,
        body=body,
        client=turn.client,
        timeout_s=ecw_create.START_S,
        sandbox=sandbox,
        **turn.more,
    )
