"""Loads that go on beside what follows: each in a thread of its own, from its place in the list of acts to the end of the
phase that its argument `through` names. That is how traffic can run while a fault goes up and comes down.

What such a load raises is raised again where it ends, so it cannot fail unseen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from space_smoke import errors
from space_smoke.model import scenario


def through(load: scenario.Load) -> str:
    """The phase at whose end the load ends; "" for one that ends before anything else begins."""
    return str(load.arguments.get("through", ""))


def misplaced(the: scenario.Scenario) -> Iterator[errors.Mistake]:
    """Loads whose `through` is no phase, or one that is over when they begin."""
    names = [phase.name for phase in the.phases]
    for at, phase in enumerate(the.phases):
        for load in phase.loads:
            if through(load) and through(load) not in names[at:]:
                rule = f"through is {through(load)!r}, and must be the load's own phase or a later one"
                yield errors.Mistake(load.place or the.id, f"load {load.name}: {rule}: {', '.join(names[at:])}")


@dataclass(slots=True)
class _Going:
    load: scenario.Load
    stop: threading.Event
    thread: threading.Thread
    raised: list[BaseException] = field(default_factory=list)


class Beside:
    """Those that go on now. Used from one thread."""

    def __init__(self) -> None:
        self._going: list[_Going] = []

    def start(self, load: scenario.Load, drive: Callable[[], None], stop: threading.Event) -> None:
        """`drive` is the traffic alone; it ends soon after `stop` is set."""
        raised: list[BaseException] = []

        def run() -> None:
            try:
                drive()
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run, name=f"load {load.name}", daemon=True)
        self._going.append(_Going(load, stop, thread, raised))
        thread.start()

    def end(self, phase: str) -> None:
        """Stops those that go on through this phase and waits for their last answers. Raises the first error of theirs."""
        self._end([one for one in self._going if through(one.load) == phase])

    def end_all(self) -> None:
        """The same for all that still go on, whatever their phase."""
        self._end(list(self._going))

    def stop_all(self) -> None:
        """Tells all to stop, and waits for none."""
        for one in self._going:
            one.stop.set()

    def _end(self, ending: list[_Going]) -> None:
        for one in ending:
            one.stop.set()
        for one in ending:
            one.thread.join()
            self._going.remove(one)
        for one in ending:
            for error in one.raised:
                raise error
