"""The world that a run meets: one virtual clock, machines with processes, a network that loses and delays, an API server.

A runner is a protocol generator and the process it lives in. Whoever schedules picks which runner makes its next call
and what becomes of that call; between two calls nothing of a runner can be seen from outside, so calls are the only
places where interleaving matters. A world can be forked, which is how every crash of a run is tried without running it again;
so can a runner, by telling a new one the same. Below the world: the bench that stands in it, what others do to
it, and what runs do, in one file because every test takes all three.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from space_smoke import errors
from space_smoke.faults import kinds
from space_smoke.lease import protocol
from space_smoke.model import effect, life, objects
from space_smoke.model import kinds as model_kinds
from space_smoke.tests.sim import api, oracle

Steps = Generator[effect.Effect, Any, Any]
Make = Callable[[protocol.Setting], Steps]
# What becomes of a call. lost: never arrives; reply-lost: carried out, unanswered; held: arrives later (World.land);
# an int: the API server answers with that status and does nothing (from 500 on the sender cannot know that).
Write = effect.Create | effect.Patch | effect.Claim | effect.Alter
Fate = Literal["ok", "lost", "reply-lost", "held"] | int

CALL_S = 0.01
DOMAIN = "public-api-mutation"


@dataclass(frozen=True, slots=True)
class Machine:
    host: str = "here"
    boot: str = "boot-1"
    pidns: int = 4026531836
    user: str = "runner:1000"


@dataclass(frozen=True, slots=True)
class Process:
    machine: Machine
    pid: int
    ticks: int
    group: int
    lock: str = ""
    state: Literal["runs", "stopped", "zombie"] = "runs"


@dataclass(frozen=True, slots=True)
class Held:
    """A request in the network."""

    sender: str
    call: Write


HERE = Machine()


class Runner:
    """`wanted` is the call it is about to make; None when it ended, with `value` or `error`."""

    __slots__ = ("begin", "calls", "error", "lag_s", "machine", "name", "replies", "stays", "steps", "value", "wanted")

    def __init__(self, name: str, machine: Machine, begin: Callable[[], Steps], stays: bool) -> None:
        self.name, self.machine, self.begin, self.steps = name, machine, begin, begin()
        self.replies: list[Any] = []  # all that it was told
        self.stays = stays  # its process lives on when the steps have ended
        self.wanted: effect.Effect | None = None
        self.value: Any = None
        self.error: Exception | None = None
        self.calls = 0
        self.lag_s = 0.0  # by how much its clock stands behind: one that does not count suspend

    def again(self) -> Runner:
        """The same runner at the same point, for a fork of its world: begun anew and told the same. Steps that write
        into something which they were given (a Held) cannot be repeated so."""
        copy = Runner(self.name, self.machine, self.begin, self.stays)
        copy.replies, copy.calls, copy.lag_s = list(self.replies), self.calls, self.lag_s
        copy.value, copy.error = self.value, self.error
        for reply in self.replies if self.wanted is not None else ():
            copy.wanted = copy.steps.send(reply)
        return copy


class World:
    __slots__ = ("api", "clock", "fresh", "held", "lags", "late", "oracle", "pids", "processes", "seen", "told")

    def __init__(self) -> None:
        self.clock = 1000.0
        self.fresh = 0
        self.pids = 100
        self.processes: dict[str, Process] = {}  # runner -> its process; a child is "runner/child"
        self.seen: dict[tuple[str, str], tuple[str, float]] = {}
        self.held: tuple[Held, ...] = ()
        self.lags: dict[str, float] = {}  # runner -> by how much its clock stands behind
        self.late: frozenset[str] = frozenset()  # names of targets that do not settle
        self.told: list[tuple[str, str, Mapping[str, Any]]] = []
        self.api = api.Api()
        self.oracle = oracle.Oracle(self.api.things, self._now, self.alive)
        self.api.committed, self.api.claimed = self.oracle.judge, self.oracle.claimed

    def fork(self) -> World:
        copy = World.__new__(World)
        copy.clock, copy.fresh, copy.pids = self.clock, self.fresh, self.pids
        copy.processes, copy.seen, copy.told = dict(self.processes), dict(self.seen), list(self.told)
        copy.held, copy.late, copy.lags = self.held, self.late, dict(self.lags)
        copy.api = self.api.fork()
        copy.oracle = self.oracle.fork(copy.api.things, copy._now, copy.alive)
        copy.api.committed, copy.api.claimed = copy.oracle.judge, copy.oracle.claimed
        return copy

    def _now(self, name: str) -> float:
        """A runner's own clock; "" for the true one."""
        return self.clock - self.lags.get(name, 0.0)

    def alive(self, name: str) -> bool:
        """Some process of that run is left, stopped ones included."""
        return any(key.split("/")[0] == name and process.state != "zombie" for key, process in self.processes.items())

    # -- runners

    def start(
        self, name: str, make: Make, machine: Machine = HERE, *, lock: bool = True, stays: bool = False
    ) -> Runner:
        """A process of that name starts to run the steps; or goes on with them, if it is there already."""
        process = self.processes.get(name)
        if process is None:
            self.pids += 1
            process = Process(machine, self.pids, int(self.clock * 100), self.pids, f"/locks/{name}" if lock else "")
            self.processes[name] = process
        identity = {
            "run": name,
            "host": machine.host,
            "user": machine.user,
            "boot": machine.boot,
            "pidns": machine.pidns,
            "pid": process.pid,
            "ticks": process.ticks,
            "group": process.group,
            "lock": process.lock,
            "command": "space_smoke run",
        }
        setting = protocol.Setting(identity, kinds.KINDS, tuple(kinds.TARGETS.values()))
        runner = Runner(name, machine, lambda: make(setting), stays)
        self._advance(runner, None)
        return runner

    def call(self, runner: Runner, fate: Fate = "ok") -> None:
        """Makes the call that the runner wants, and lets it go on to the next one."""
        wanted = runner.wanted
        assert wanted is not None, f"{runner.name} has ended"
        self.clock += CALL_S
        runner.calls += 1
        self._advance(runner, self._perform(runner, wanted, fate))

    def send(self, runner: Runner) -> Any:
        """Carries the call out and returns the answer, of which the runner has not heard yet: see `hear`."""
        assert runner.wanted is not None
        self.clock += CALL_S
        return self._perform(runner, runner.wanted, "ok")

    def hear(self, runner: Runner, reply: Any) -> None:
        runner.calls += 1
        self._advance(runner, reply)

    def commit(self, sender: str, call: effect.Effect) -> None:
        """Carries out a request whose sender will never hear of it."""
        assert isinstance(call, Write)
        self.clock += CALL_S
        self._write(sender, call)

    def land(self) -> None:
        """The oldest request in the network arrives."""
        first, *rest = self.held
        self.held = tuple(rest)
        self._write(first.sender, first.call)

    def run(self, runner: Runner, limit: int = 2000) -> Runner:
        """Runs it to its end, undisturbed."""
        for _ in range(limit):
            if runner.wanted is None:
                return runner
            self.call(runner)
        raise oracle.Broken(f"{runner.name} did not end within {limit} calls")

    def act(self, name: str, make: Make, machine: Machine = HERE, *, lock: bool = True) -> Any:
        """Runs the steps in a process that lives on, and returns their value or raises their error."""
        runner = self.run(self.start(name, make, machine, lock=lock, stays=True))
        if runner.error is not None:
            raise runner.error
        return runner.value

    def kill(self, runner: Runner) -> None:
        """SIGKILL. What it sent is still on its way; what it had not sent never will be."""
        self.processes.pop(runner.name, None)
        runner.wanted = None

    def stop(self, runner: Runner) -> None:
        self.processes[runner.name] = replace(self.processes[runner.name], state="stopped")

    def resume(self, runner: Runner, *, lag_s: float = 0.0) -> None:
        """SIGCONT. `lag_s`: its clock did not count that much of the stop."""
        self.processes[runner.name] = replace(self.processes[runner.name], state="runs")
        runner.lag_s += lag_s
        self.lags[runner.name] = runner.lag_s

    def restart(self, place: api.Key, *, volatile: bool) -> None:
        """A store restarts. What is on its way to it arrives all the same, which is more than a real network would do."""
        self.api.restart(place, volatile)

    def recreate(self, fill: Callable[[api.Api], None]) -> None:
        """Another cluster under the same name: uids are new, resourceVersions start again."""
        fresh = api.Api()
        fresh.made = self.api.made
        fill(fresh)
        self.api = fresh
        self.oracle = oracle.Oracle(fresh.things, self._now, self.alive)
        fresh.committed, fresh.claimed = self.oracle.judge, self.oracle.claimed

    # -- effects

    def _advance(self, runner: Runner, reply: Any) -> None:
        """Sends a reply and performs what needs no call, until the next call is wanted."""
        try:
            runner.replies.append(reply)
            wanted = runner.steps.send(reply)
            while type(wanted) not in _CALLS:
                reply = self._local(runner, wanted)
                runner.replies.append(reply)
                wanted = runner.steps.send(reply)
            runner.wanted = wanted
        except StopIteration as end:
            runner.wanted, runner.value = None, end.value
        except (errors.SpaceSmokeError, model_kinds.Unfit) as error:
            runner.wanted, runner.error = None, error
        if runner.wanted is None and not runner.stays:
            self.processes.pop(runner.name, None)

    def _local(self, runner: Runner, wanted: effect.Effect) -> Any:
        match wanted:
            case effect.Boottime():
                return effect.Instant(
                    self.clock - runner.lag_s, f"2026-01-01T00:00:00.{self._number() % 999_999 + 1:06d}Z"
                )
            case effect.Fresh():
                return effect.Text(f"{self._number():012x}")
            case effect.FirstSeen(uid, version):
                known = self.seen.get((runner.machine.host, uid))
                if known is None or known[0] != version:
                    known = self.seen[runner.machine.host, uid] = (version, self.clock - runner.lag_s)
                return effect.Instant(known[1])
            case effect.Examine(who):
                return self.examine(runner.machine, who)
            case effect.Tell(kind, data):
                self.told.append((runner.name, kind, data))
        return None

    def _number(self) -> int:
        self.fresh += 1
        return self.fresh

    def examine(self, machine: Machine, who: Mapping[str, Any]) -> life.Facts:
        """What a machine can tell of a process that a Lease names."""
        same = (who.get("boot") == machine.boot, who.get("pidns") == machine.pidns, who.get("user") == machine.user)
        if not all(same):
            return life.Facts(*same)
        there = [p for p in self.processes.values() if p.machine == machine]
        found = next((p for p in there if p.pid == who.get("pid")), None)
        lock = who.get("lock")
        return life.Facts(
            *same,
            lock_free=all(p.lock != lock or p.state == "zombie" for p in there) if lock else None,
            pid_present=found is not None,
            same_start=found.ticks == who.get("ticks") if found else None,
            zombie=found.state == "zombie" if found else None,
            group_members=sum(p.group == who.get("group") and p.state != "zombie" for p in there),
        )

    def _perform(self, runner: Runner, wanted: effect.Effect, fate: Fate) -> Any:
        if isinstance(wanted, effect.Settle):
            return self._settle(runner, wanted)
        if isinstance(fate, int):
            return effect.No(fate, "refused") if fate < 500 else effect.Lost(f"{fate}")
        if fate == "held":
            assert isinstance(wanted, Write)
            self.held = (*self.held, Held(runner.name, wanted))
        elif fate != "lost":
            reply = self._request(runner.name, wanted)
            if fate == "ok":
                return reply
        return effect.Lost("no answer came")

    def _request(self, sender: str, wanted: effect.Effect) -> Any:
        match wanted:
            case effect.Get(ref):
                return self.api.get(ref.where())
            case effect.ListKind(api_version, kind, namespace, selector):
                return self.api.listed(api_version, kind, namespace, selector)
            case effect.Sense(kind, ref, field):
                place = self.api.things[outside_of(kind, ref)]
                if not kinds.KINDS[kind].reversible:
                    field = {"seen": place["metadata"]["generation"], **field}
                return effect.Done({"field": field, "value": api.value_of(place, field)})
            case effect.Create() | effect.Patch() | effect.Claim() | effect.Alter():
                return self._write(sender, wanted)
        raise TypeError(f"{wanted} is not a request")

    def _write(self, sender: str, call: Write) -> effect.Done | effect.No:
        match call:
            case effect.Create(body):
                return self.api.create(body, sender)
            case effect.Patch(ref, operations, purpose):
                return self.api.patch(ref.where(), operations, sender, purpose)
            case effect.Claim(kind, ref, field, _, fence):
                return self.api.claim(outside_of(kind, ref), field, fence, sender)
        return self.api.alter(
            outside_of(call.kind, call.ref), call.field, call.fence, call.before, call.after, sender, call.purpose
        )

    def _settle(self, runner: Runner, wanted: effect.Settle) -> effect.Done | effect.Late:
        found = self.api.get(wanted.ref.where())
        if wanted.ref.name in self.late or not isinstance(found, effect.Done):
            self.clock += wanted.timeout_s
            return effect.Late("0 of 1 replicas are ready")
        self.oracle.verified(runner.name, found.thing)
        place = self.api.things.get(outside_of(wanted.kind, wanted.ref))
        if place is None:
            return found
        self.oracle.verified(runner.name, place)
        return effect.Done({**found.thing, model_kinds.OUTSIDE: api.value_of(place, wanted.field)})


_CALLS = frozenset(
    (effect.Get, effect.ListKind, effect.Create, effect.Patch, effect.Sense, effect.Claim, effect.Alter, effect.Settle)
)


def outside_of(kind: str, ref: objects.Ref) -> api.Key:
    """Where the value of a fault's kind lies that is outside of the API server."""
    return ("outside", kind, ref.namespace, ref.name)


# -- what stands in the world, and what others do to it


def deployment(name: str, containers: list[dict[str, Any]], replicas: int = 1, **meta: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "space", "labels": {"app": name}, **meta},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}},
    }


API = objects.Ref("apps/v1", "Deployment", "space", "space-api")
REDIS = objects.Ref("apps/v1", "Deployment", "space", "space-redis")
LEASE = ("coordination.k8s.io/v1", "Lease", "space-smoke", DOMAIN)
SETTING = outside_of("redis-config", REDIS)
SERVER = outside_of("postgres-restart", API)
PLACES = (SETTING, SERVER)


def fill(server: api.Api) -> None:
    """The bench: namespaces and two Deployments, one without any annotation, one with several containers."""
    for name in ("kube-system", "space-smoke", "space"):
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    secret = {"secretKeyRef": {"name": "redis", "key": "password"}}
    env: list[dict[str, Any]] = [
        {"name": "FIRST", "value": "1"},
        {"name": "LIMIT", "value": "600"},
        {"name": "PASSWORD", "valueFrom": secret},
        {"name": "LAST", "value": ""},
    ]
    sidecar: dict[str, Any] = {"name": "proxy", "image": "proxy:1"}
    api_containers = [sidecar, {"name": "api", "image": "api:1", "env": env}]
    server.create(deployment("space-api", api_containers, 2, annotations={"team": "space"}))
    server.create(deployment("space-redis", [{"name": "redis", "image": "redis:7"}]))
    server.place(SETTING, {"value": "noeviction"})
    server.place(SERVER, {"done": False})


def edit(world: World, key: api.Key, *operations: objects.Operation) -> effect.Done | effect.No:
    """Somebody else's write."""
    return world.api.patch(key, operations)


def annotate(world: World, key: api.Key, note: str, text: str | None) -> None:
    changes = objects.put_metadata(world.api.things[key], "annotations", {note: text})
    assert isinstance(edit(world, key, *changes), effect.Done)


def drift(world: World, place: api.Key, value: Any) -> None:
    """Somebody else changes a value outside."""
    thing = world.api.things[place]
    meta = {**thing["metadata"], "generation": thing["metadata"]["generation"] + 1}
    world.api.version += 1
    world.api.things[place] = {**thing, "metadata": meta, "value": value}
    world.oracle.tampered.add(place)


def vanish(world: World, key: api.Key) -> None:
    """Deleted by force: finalizers are removed first (the break-glass)."""
    world.api.delete(key)
    if key in world.api.things:
        edit(world, key, objects.drop("metadata", "finalizers"))


def killed_with_faults_up(world: World, *wants: protocol.Wanted, name: str = "dead") -> None:
    """A run took the domain, raised its faults and was killed."""
    held = world.act(name, taken)
    world.act(name, raised(held, *(wants or (CAP, REDIS_DOWN))))
    del world.processes[name]


def bench() -> World:
    """A world with the bench in it, before anything of ours ran."""
    world = World()
    fill(world.api)
    world.oracle.tampered.clear()
    return world


def specs(world: World) -> dict[str, Any]:
    """Specs of Deployments, and values outside of those that can be put back."""
    found = {key[3]: thing["spec"] for key, thing in world.api.things.items() if key[1] == "Deployment"}
    places = {key[1]: thing["value"] for key, thing in world.api.things.items() if key[0] == "outside"}
    return found | {name: value for name, value in places.items() if kinds.KINDS[name].reversible}


SPECS = specs(bench())
CAP = protocol.Wanted(
    "cap", kinds.KINDS["set-env"], API, {"container": "api", "env": {"LIMIT": "3", "PASSWORD": "x", "NEW": "n"}}, "r"
)
REDIS_DOWN = protocol.Wanted("redis-down", kinds.KINDS["scale"], REDIS, {"replicas": 0}, "r")
EVICTING = protocol.Wanted(
    "evicting", kinds.KINDS["redis-config"], REDIS, {"setting": "maxmemory-policy", "value": "allkeys-lru"}, "r"
)
RESTARTED = protocol.Wanted("restarted", kinds.KINDS["postgres-restart"], API, {"mode": "fast"}, "r")


# -- what runners do


def whole_run(*wants: protocol.Wanted) -> Make:
    """As the engine does it: take, raise all, lower all, release; whatever fails, what is up is put back."""

    def steps(setting: protocol.Setting) -> Steps:
        held = yield from protocol.take(DOMAIN, setting)
        failure: Exception | None = None
        try:
            for want in wants:
                yield from protocol.raise_fault(held, want)
        except (errors.BenchError, errors.Refused, model_kinds.Unfit) as error:
            failure = error
        results = yield from protocol.lower_all(held)
        yield from protocol.release(held)
        bad = [result for result in results if not result.ok]
        if bad:
            raise protocol.incomplete(DOMAIN, bad)
        if failure:
            raise failure
        return results

    return steps


def taken(setting: protocol.Setting) -> Steps:
    return protocol.take(DOMAIN, setting)


def raised(held: protocol.Held, *wants: protocol.Wanted) -> Make:
    def steps(_setting: protocol.Setting) -> Steps:
        items = []
        for want in wants:
            items.append((yield from protocol.raise_fault(held, want)))
        return items

    return steps


def lowered(held: protocol.Held) -> Make:
    return lambda _setting: protocol.lower_all(held)


def renewed(held: protocol.Held) -> Make:
    return lambda _setting: protocol.keep_alive(held)


def released(held: protocol.Held) -> Make:
    return lambda _setting: protocol.release(held)


def looked(setting: protocol.Setting) -> Steps:
    return protocol.look((DOMAIN,), setting)


BOTH = whole_run(CAP, REDIS_DOWN)
BEYOND = whole_run(EVICTING, RESTARTED)
REPAIR = whole_run()


def recover(world: World, machine: Machine = HERE) -> int:
    """Takes and releases until nothing is left, twice at the most; how often it took. Raises Broken."""
    runner = None
    for count in itertools.count(1):
        runner = world.run(world.start(f"repair-{count}-{world.fresh}", REPAIR, machine))
        if is_clean(world) and runner.error is None:
            return count
        if count == 2:
            raise oracle.Broken(f"after two acquisitions: {state(world)}; the last one ended with {runner.error!r}")
    raise AssertionError


def is_clean(world: World) -> bool:
    lease = world.api.things.get(LEASE)
    return (
        not oracle.left_over(world.api.things) and specs(world) == SPECS and (lease is None or not oracle.holder(lease))
    )


def state(world: World) -> str:
    lease = world.api.things.get(LEASE)
    changed = [name for name, spec in specs(world).items() if spec != SPECS.get(name)]
    return f"records {oracle.left_over(world.api.things)}, changed {changed}, holder {oracle.holder(lease or {})!r}"
