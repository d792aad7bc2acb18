"""Bring-up and removal of a bench killed at steps that they told of. A bench of the drill's own: no other is touched."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from space_smoke import errors
from space_smoke.bench import cache, command, engine, kind, proc, register
from space_smoke.engine import ground
from space_smoke.engine.drills import score as scoring

_UP_S = 900.0
_DOWN_S = 300.0
_EVENTS_S = 120.0
_LINES = 32  # a bring-up tells about so many before it is done
_DRILL_KILLS = 3
_SEED = 1


@dataclass(frozen=True, slots=True)
class Machine:
    """What the machine has: container ids by name, volumes, those of them that no container has, networks."""

    containers: dict[str, str]
    volumes: frozenset[str]
    loose_volumes: frozenset[str]
    networks: frozenset[str]

    @staticmethod
    def now() -> Machine:
        pairs = (line.partition(" ") for line in _docker("ps", "-a", "--no-trunc", "--format", "{{.Names}} {{.ID}}"))
        return Machine(
            {name: key for name, _, key in pairs},
            frozenset(_docker("volume", "ls", "--quiet")),
            frozenset(_docker("volume", "ls", "--quiet", "--filter", "dangling=true")),
            frozenset(_docker("network", "ls", "--format", "{{.Name}}")),
        )


def killed_bring_up(on: ground.Ground, score: scoring.Score) -> None:
    """`up` and `down` of a second bench are killed at random steps; `down` leaves nothing of it and the first one as it was."""
    for told in kill_bring_ups(beside(on.bench), on.bench, _DRILL_KILLS, _SEED, score):
        on.emit("note", sentence=told)


def beside(bench: str) -> str:
    """The name of the bench that the drill makes and removes."""
    return f"{bench[:36]}-kb"


def kill_bring_ups(name: str, witness: str, kills: int, seed: int, score: scoring.Score) -> Iterator[str]:
    """At least `kills` SIGKILLs to `up` and `down` of bench `name`, each round ended by a `down` that must leave nothing; tells
    each round in a sentence. The containers of bench `witness` must stay the same ones.

    A round kills an `up` at a random line; then, by the dice, a second `up` too, or its `down`, or lets a second `up` finish
    and kills its `down` when some of the nodes are gone.
    """
    dice = random.Random(seed)  # noqa: S311  # the seed repeats a drill
    before = Machine.now()
    if register.folder(name).exists() or engine.node_containers(name):
        raise errors.Refused(f"bench {name} is there already", next_step=f"space_smoke down --name {name}")
    while score.kills < kills:
        began = time.monotonic()
        pids: list[int] = []
        told: list[str] = []
        for act in dice.choice((("up",), ("up",), ("up", "up"), ("up", "down"), ("up", "whole", "removal"))):
            pids.append(_act(act, name, dice, score, told))
        last = command.Command(["down", "--name", name], cwd=cache.PROJECT, together=True)
        ended = last.end(_DOWN_S)
        what = ", ".join(told)
        score.must(ended.code == 0, f"down after {what} ended with {ended.code}: {ended.out[-300:]}")
        score.cycles += 1
        score.problems += [f"after {what}: {left}" for left in _left(name, witness, before, pids)]
        yield f"{score.kills} of {kills}: {what}; down, all in {time.monotonic() - began:.0f} s"


def _act(act: str, name: str, dice: random.Random, score: scoring.Score, told: list[str]) -> int:
    """One command, killed or not; its pid."""
    verb = "up" if act in ("up", "whole") else "down"
    since = time.time()
    started = command.Command([verb, "--name", name], cwd=cache.PROJECT, together=True)
    if act == "whole":
        ended = started.end(_UP_S)
        score.must(ended.code == 0, f"up after {', '.join(told)} ended with {ended.code}: {ended.out[-300:]}")
        told.append("up to its end")
        return started.pid
    if act == "removal":
        gone = dice.randint(1, len(kind.roles()))
        _until_gone(name, since, gone)
        where = f"with {gone} nodes gone"
    else:
        line = dice.randint(1, _LINES) if verb == "up" else 1
        seen = 0
        for seen, _text in enumerate(started.lines(), 1):
            if seen == line:
                break
        where = f"at line {seen}"
    started.kill()
    if started.end(_DOWN_S).code < 0:
        score.kills += 1
        score.reached[f"{verb} {where}"] += 1
        told.append(f"{verb} killed {where}")
    else:
        told.append(f"{verb} not killed")
    return started.pid


class _Enough(Exception):
    """So many events were seen."""


def _until_gone(name: str, since_s: float, count: int) -> None:
    """Waits until `count` containers of the bench were removed since then, by the engine's own events. Raises BenchError."""
    seen: list[str] = []

    def hear(line: str) -> None:
        seen.append(line)
        if len(seen) >= count:
            raise _Enough

    flags = ["--filter", f"label=io.x-k8s.kind.cluster={name}", "--filter", "event=destroy", "--format", "{{.ID}}"]
    with contextlib.suppress(_Enough):
        proc.run(["docker", "events", "--since", f"{since_s:.3f}", *flags], timeout_s=_EVENTS_S, on_line=hear)


def _left(name: str, witness: str, before: Machine, pids: list[int]) -> list[str]:
    """What there still is of the bench, and what has changed of the one beside it."""
    now = Machine.now()
    found = [f"container {one} is left" for one in engine.node_containers(name)]
    found += [f"volume {one} is left" for one in sorted(now.loose_volumes - before.volumes)]
    found += [f"network {one} is left" for one in sorted(now.networks - before.networks)]
    files = [register.folder(name), cache.folder() / "locks" / f"bench-{name}.lock"]
    found += [f"file {path} is left" for path in files if path.exists()]
    found += [f"process {pid} is left" for pid in _children(pids)]
    theirs = {one: key for one, key in before.containers.items() if one.startswith(f"{witness}-")}
    found += [f"container {one} is not the one it was" for one, key in theirs.items() if now.containers.get(one) != key]
    return found


def _children(pids: list[int]) -> list[int]:
    """Processes that bear the mark of one of those commands (bench.proc.STARTED_BY)."""
    marks = tuple(f"{proc.STARTED_BY}={pid}.".encode() for pid in pids)
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if any(item.startswith(marks) for item in path.read_bytes().split(b"\0")):
                found.append(int(path.parent.name))
    return sorted(pid for pid in found if pid != os.getpid())


def _docker(*argv: str) -> list[str]:
    return engine.docker(*argv).stdout.splitlines()
