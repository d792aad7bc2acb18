"""Every crash, loss and delay of a run, one after another. Each function tries all schedules of one family and returns
how many there were; the first one that breaks a promise is raised with its name, so that it can be run alone.

A crash leaves only what was committed and what is still in the network, so "killed before sending" stands for lost
requests too, and one run of the victim, forked at every call, gives all the states that a crash can leave.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from space_smoke import errors
from space_smoke.model import effect
from space_smoke.tests.sim import oracle
from space_smoke.tests.sim import world as worlds

World = worlds.World
EXPIRY_S = 3601.0
_FATES: tuple[worlds.Fate, ...] = ("lost", "reply-lost", 429, 503)


def bases() -> dict[str, World]:
    """Where a run may start: nothing of ours was ever there; or an earlier run came, raised its faults and went."""
    used = worlds.bench()
    used.run(used.start("earlier", worlds.BOTH))
    return {"fresh": worlds.bench(), "used": used}


def is_write(call: effect.Effect | None) -> TypeGuard[worlds.Write]:
    return isinstance(call, worlds.Write)


def named(runner: worlds.Runner) -> str:
    call = runner.wanted
    what = call.purpose if isinstance(call, effect.Patch | effect.Alter) else type(call).__name__
    return f"{runner.name} call {runner.calls} ({what})"


@contextlib.contextmanager
def schedule(name: str) -> Iterator[None]:
    """Puts the schedule's name on what goes wrong in it."""
    try:
        yield
    except Exception as error:
        raise oracle.Broken(f"[{name}] {type(error).__name__}: {error}") from error


def crashes(world: World, runner: worlds.Runner) -> Iterator[tuple[str, World]]:
    """Runs the runner to its end and gives, at every call, the worlds that its death there leaves behind: before the
    call; with it carried out; with it on its way."""
    while runner.wanted is not None:
        name, call = named(runner), runner.wanted
        yield f"{name} before", _without(world, runner)
        if is_write(call):
            done = _without(world, runner)
            done.commit(runner.name, call)
            yield f"{name} committed", done
            on_its_way = _without(world, runner)
            on_its_way.held = (worlds.Held(runner.name, call),)
            yield f"{name} held", on_its_way
        world.call(runner)
    yield f"{runner.name} ended", world.fork()


def _without(world: World, runner: worlds.Runner) -> World:
    left = world.fork()
    left.processes.pop(runner.name, None)
    return left


def killed(base: World, make: worlds.Make = worlds.BOTH) -> int:
    """Depth 1: SIGKILL at every call; a request in the network lands at every call of the successor."""
    count = 0
    for name, left in _crashes_of(base, "a", make):
        count += _after_crash(name, left)
    return count


def killed_twice(
    base: World,
    again: worlds.Make,
    take: Callable[[int], bool] = lambda _number: True,
    make: worlds.Make = worlds.BOTH,
) -> int:
    """Depth 2: SIGKILL at every call of a run, and again at every call of its successor, which runs `again`. What the
    first left in the network lands when the second is dead. `take` picks schedules by number."""
    count = number = 0
    for first, left in _crashes_of(base, "a", make):
        late, left.held = left.held, ()
        for second, left_again in _crashes_of(left, "b", again):
            number += 1
            if not take(number):
                continue
            left_again.held = (*late, *left_again.held)
            with schedule(f"{first}; {second}"):
                while left_again.held:
                    left_again.land()
                worlds.recover(left_again)
            count += 1
    return count


def killed_twice_with_delay(base: World, take: Callable[[int], bool] = lambda _number: True) -> int:
    """Depth 2 with the first one's last request landing at every call of the successor, and the successor killed at
    every call after that."""
    count = number = 0
    for first, left in _crashes_of(base, "a", worlds.BOTH):
        if not left.held:
            continue
        for k in range(_calls_of(left, worlds.REPAIR) + 1):
            number += 1
            if not take(number):
                continue
            world = left.fork()
            successor = world.start("b", worlds.REPAIR)
            _go(world, successor, k)
            name = f"{first} lands after b's call {k}"
            with schedule(name):
                world.land()
            for second, left_again in crashes(world, successor):
                with schedule(f"{name}; {second}"):
                    while left_again.held:
                        left_again.land()
                    worlds.recover(left_again)
                count += 1
    return count


def troubled(base: World, make: worlds.Make = worlds.BOTH) -> int:
    """Nobody dies: every call in turn is lost, or its answer is, or it is refused, or it lands any number of calls
    later. The run itself must come to a clean end."""
    count = 0
    world = base.fork()
    runner = world.start("a", make)
    while runner.wanted is not None:
        for fate in () if isinstance(runner.wanted, effect.Settle) else _FATES:
            trial, again = world.fork(), runner.again()
            with schedule(f"{named(again)} {fate}"):
                trial.call(again, fate)
                _ends_clean(trial, again)
            count += 1
        if is_write(runner.wanted):
            count += _delayed(world.fork(), runner.again())
        world.call(runner)
    return count


def _delayed(world: World, runner: worlds.Runner) -> int:
    """A landing that changes nothing leaves the run as it was: the rest of it is tried once for all of those."""
    count = 0
    name = named(runner)
    world.call(runner, "held")
    while True:
        with schedule(f"{name} lands {count} calls later"):
            if _changes(world):
                trial, again = world.fork(), runner.again()
                trial.land()
                _ends_clean(trial, again)
        count += 1
        if runner.wanted is None:
            break
        with schedule(f"{name} lands more than {count} calls later"):
            world.call(runner)
    with schedule(f"{name} lands at the end"):
        _ends_clean(world, runner)
    return count


def _changes(world: World) -> bool:
    """Whether something in the network would change something if it landed now."""
    trial = world.fork()
    while trial.held:
        trial.land()
    return trial.api.version != world.api.version


def stopped(
    base: World,
    make: worlds.Make = worlds.BOTH,
    successor: worlds.Make = worlds.BOTH,
    *,
    slow_clock: bool,
    take: Callable[[int], bool] = lambda _number: True,
) -> int:
    """SIGSTOP at every call (unsent, or carried out but unheard of), the Lease expires, a successor comes, and at each
    of its calls the stopped one goes on. `slow_clock`: its clock did not count the stop, so only the fence can stop it.

    A stopped one that goes on and writes nothing leaves the successor as it was: the rest is the undisturbed run, which
    is tried once for all of those.
    """
    count = number = 0
    for i in range(_calls_of(base, make)):
        for heard in (False, True):
            number += 1
            if not take(number):
                continue
            world, stale = _with_stopped(base, make, i, heard)
            fresh = world.start("b", successor)
            name = (
                f"a stopped at call {i} {'unheard' if heard else 'unsent'}, clock {'slow' if slow_clock else 'right'}"
            )
            while True:
                with schedule(f"{name}, goes on after b's call {fresh.calls}"):
                    trial = world.fork()
                    _goes_on(trial, stale, slow_clock)
                    if trial.api.version != world.api.version:
                        _disturbed(trial, fresh.again())
                count += 1
                if fresh.wanted is None:
                    break
                world.call(fresh)
            with schedule(f"{name}, never goes on"):
                if fresh.error is not None:
                    raise oracle.Broken(f"the successor ended with {fresh.error!r}")
                worlds.recover(world)
    return count


def stopped_then_killed(base: World, take: Callable[[int], bool] = lambda _number: True) -> int:
    """Depth 2: one stopped at every call, its successor killed at every call, and the stopped one goes on at the end,
    with a slow clock, before or after the third has put things back."""
    count = number = 0
    for i in range(_calls_of(base, worlds.BOTH)):
        for heard in (False, True):
            world, stale = _with_stopped(base, worlds.BOTH, i, heard)
            for second, left in crashes(world, world.start("b", worlds.BOTH)):
                number += 1
                if not take(number):
                    continue
                for repaired in (False, True):
                    trial = left.fork()
                    name = f"a stopped at call {i} {'unheard' if heard else 'unsent'}; {second}"
                    with schedule(f"{name}; a goes on {'after' if repaired else 'before'} the repair"):
                        while trial.held:
                            trial.land()
                        if repaired:
                            worlds.recover(trial)
                        before = trial.api.version
                        _goes_on(trial, stale, slow_clock=True)
                        if trial.api.version != before or not repaired:
                            worlds.recover(trial)
                    count += 1
    return count


RESTARTS = tuple((place, volatile) for place in worlds.PLACES for volatile in (False, True))


def restarted(base: World) -> int:
    """A store restarts before every call of a run that goes on: its fence is gone, and its value too if that was
    volatile. The run may end with an error (its fault is gone, or happened by itself), and everything is put right."""
    count = 0
    world = base.fork()
    runner = world.start("a", worlds.BEYOND)
    while runner.wanted is not None:
        for place, volatile in RESTARTS:
            trial, again = world.fork(), runner.again()
            with schedule(f"{named(again)}: {_restart(trial, place, volatile)}"):
                trial.run(again)
                if again.error is not None and type(again.error) is not errors.BenchError:
                    raise oracle.Broken(f"it ended with {again.error!r}")
                if not worlds.is_clean(trial):
                    raise oracle.Broken(worlds.state(trial))
            count += 1
        world.call(runner)
    return count


def killed_and_restarted(base: World, take: Callable[[int], bool] = lambda _number: True) -> int:
    """SIGKILL at every call of a run; a store restarts at every call of its successor, and what the dead one left in
    the network lands just after that, when no fence is there."""
    count = number = 0
    for first, left in _crashes_of(base, "a", worlds.BEYOND):
        late, left.held = left.held, ()
        successor = left.start("b", worlds.REPAIR)
        while True:
            for place, volatile in RESTARTS:
                number += 1
                if not take(number):
                    continue
                world, again = left.fork(), successor.again()
                world.held = late
                with schedule(f"{first}; after b's call {again.calls}: {_restart(world, place, volatile)}"):
                    while world.held:
                        world.land()
                    world.run(again)
                    worlds.recover(world)
                count += 1
            if successor.wanted is None:
                break
            left.call(successor)
    return count


def stopped_and_restarted(base: World, take: Callable[[int], bool] = lambda _number: True) -> int:
    """SIGSTOP at every call, the Lease expires, a successor comes; at each of its calls a store restarts and the stopped
    one goes on with a slow clock, before the successor has noticed that its fence there is gone."""
    count = number = 0
    for i in range(_calls_of(base, worlds.BEYOND)):
        for heard in (False, True):
            left, stale = _with_stopped(base, worlds.BEYOND, i, heard)
            fresh = left.start("b", worlds.BEYOND)
            name = f"a stopped at call {i} {'unheard' if heard else 'unsent'}"
            while True:
                for place, volatile in RESTARTS:
                    number += 1
                    if not take(number):
                        continue
                    world, again = left.fork(), fresh.again()
                    with schedule(
                        f"{name}; after b's call {again.calls}: {_restart(world, place, volatile)}, a goes on"
                    ):
                        _goes_on(world, stale, True, errors.BenchError)
                        world.run(again)
                        if isinstance(again.error, errors.LeaseLost):
                            raise oracle.Broken(f"the successor ended with {again.error!r}")
                        worlds.recover(world)
                    count += 1
                if fresh.wanted is None:
                    break
                left.call(fresh)
    return count


def _restart(world: World, place: tuple[str, str, str, str], volatile: bool) -> str:
    world.restart(place, volatile=volatile)
    return f"the store of {place[1]} restarts, its value {'volatile' if volatile else 'persisted'}"


@dataclass(frozen=True, slots=True)
class Stopped:
    """A runner that was stopped at a call: unsent, or `heard_of` nothing yet of the reply."""

    runner: worlds.Runner
    heard: bool
    reply: object


def _with_stopped(base: World, make: worlds.Make, i: int, heard: bool) -> tuple[World, Stopped]:
    """A world in which a runner was stopped at its i-th call an hour ago. It may go on in any fork of that world."""
    world = base.fork()
    runner = world.start("a", make)
    _go(world, runner, i)
    reply = world.send(runner) if heard else None
    world.stop(runner)
    world.clock += EXPIRY_S
    return world, Stopped(runner, heard, reply)


def _goes_on(world: World, stale: Stopped, slow_clock: bool, *also: type[Exception]) -> None:
    """`also`: how else it may end than by finding itself succeeded."""
    runner = stale.runner.again()
    world.resume(runner, lag_s=EXPIRY_S if slow_clock else 0.0)
    if stale.heard:
        world.hear(runner, stale.reply)
    world.run(runner)
    if runner.error is not None and type(runner.error) not in (errors.LeaseLost, errors.Refused, *also):
        raise oracle.Broken(f"the stale runner ended with {runner.error!r}")


def _disturbed(world: World, fresh: worlds.Runner) -> None:
    """The rest of the schedule, where the stopped one wrote something: it was not succeeded yet, or this is a defect."""
    world.run(fresh)
    if fresh.error is not None and not isinstance(fresh.error, errors.Refused):
        raise oracle.Broken(f"the successor ended with {fresh.error!r}")
    worlds.recover(world)


def _after_crash(name: str, left: World) -> int:
    """What is on its way lands at each call of the successor; where that changes nothing, its repair is the undisturbed
    one, which is tried once for all of those."""
    if not left.held:
        with schedule(name):
            worlds.recover(left)
        return 1
    count = 0
    world = left.fork()
    successor = world.start("b", worlds.REPAIR)
    while True:
        with schedule(f"{name}, lands after b's call {count}"):
            if _changes(world):
                trial, again = world.fork(), successor.again()
                trial.land()
                trial.run(again)
                _put_right(trial, again)
        count += 1
        if successor.wanted is None:
            break
        world.call(successor)
    with schedule(f"{name}, lands at the end"):
        world.land()
        _put_right(world, successor)
    return count


def _put_right(world: World, successor: worlds.Runner) -> None:
    if successor.error is not None:
        raise oracle.Broken(f"the successor ended with {successor.error!r}")
    worlds.recover(world)


def _crashes_of(base: World, name: str, make: worlds.Make) -> Iterator[tuple[str, World]]:
    world = base.fork()
    return crashes(world, world.start(name, make))


def _calls_of(base: World, make: worlds.Make) -> int:
    world = base.fork()
    return world.run(world.start("count", make)).calls


def _go(world: World, runner: worlds.Runner, calls: int) -> bool:
    """That many calls; False if it ended before."""
    for _ in range(calls):
        if runner.wanted is None:
            return False
        world.call(runner)
    return runner.wanted is not None


def _ends_clean(world: World, runner: worlds.Runner) -> None:
    world.run(runner)
    while world.held:
        world.land()
    if runner.error is not None:
        raise oracle.Broken(f"it ended with {runner.error!r}")
    if not worlds.is_clean(world):
        raise oracle.Broken(worlds.state(world))
