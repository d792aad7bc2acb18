"""What a person sees while a run goes on. A listener of the History: call it with each event, from any thread.

Every event becomes the same lines with and without a terminal. On a terminal what is going on has one more line, at the
bottom, which is drawn anew until it is done; elsewhere its beginning is a line of its own, so that the log of a killed
job still says what it was waiting for.
"""

from __future__ import annotations

import dataclasses
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from space_smoke.model import history
from space_smoke.report import ending, gathering, lines

_TICK_S = 0.12


@dataclasses.dataclass(slots=True)
class _Going:
    """What is going on now; `since_s` by the console's own clock."""

    text: str
    since_s: float


class Console:
    """`quiet` holds a scenario's lines back and pours them out if it does not pass. `announcing` gives beginnings a line
    where there is no terminal. `clock` and `ticking` are for tests."""

    def __init__(
        self,
        stream: TextIO,
        *,
        terminal: bool = False,
        colour: bool = False,
        quiet: bool = False,
        width: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        ticking: bool = True,
        announcing: bool = True,
    ) -> None:
        self._stream, self._terminal, self._quiet = stream, terminal, quiet
        unicode = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").startswith("utf")
        self.style = lines.Style(unicode, colour, width or _width(terminal))
        self._clock, self._ticking = clock, ticking
        self._announcing = announcing and not terminal
        self._lock = threading.RLock()
        self._events: list[history.Event] = []
        self._going: dict[tuple[str, str], _Going] = {}
        self._held: list[str] = []
        self._drawn = False
        self._frame = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, event: history.Event) -> None:
        with self._lock:
            self._events.append(event)
            self._erase()
            for line in self._lines(event, self._follow(event)):
                self._put(line)
            if event.kind == "scenario-ended":
                self._scenario_ended(event)
            if event.kind == "run-ended":
                self._going.clear()
                self._run_ended()
            self._draw()
        if event.kind == "run-ended":
            self.close()

    def close(self) -> None:
        """Ends the spinner. A run that never ended gets its last words all the same."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        with self._lock:
            self._erase()
            self._pour()
            self._going.clear()
            self._stream.flush()

    def tick(self) -> None:
        """Draws the line of what is going on anew."""
        with self._lock:
            self._frame += 1
            self._erase()
            self._draw()

    def _follow(self, event: history.Event) -> str:
        """Keeps the list of what is going on, newest last; gives the words with which the thing that ends now began."""
        found = lines.going(event)
        if found is None:
            return ""
        key, text = found
        if text is None:
            ended = self._going.pop(key, None)
            return ended.text if ended else ""
        self._going[key] = _Going(text, self._clock())
        if self._announcing and key[0] in ("step", "wait"):
            self._put(lines.begun(key[0], text, self.style))
        return ""

    def _lines(self, event: history.Event, began: str) -> list[str]:
        if event.kind == "load-ended":
            loads = gathering.run_of(self._events).scenarios[-1].loads
            return [lines.load(load, self.style) for load in loads if load.name == event.data.get("load")][-1:]
        if event.kind == "step-ended" and began:
            event = dataclasses.replace(event, data={"saying": began, **event.data})
        return lines.of(event, self.style)

    def _scenario_ended(self, event: history.Event) -> None:
        run = gathering.run_of(self._events)
        the = next((one for one in reversed(run.scenarios) if one.id == event.data.get("scenario")), None)
        self._going.clear()
        if the is None or the.passed:
            self._held.clear()
        self._pour()
        if the is not None:
            for line in ending.scenario(run, the, self.style):
                self._write(line)

    def _run_ended(self) -> None:
        self._pour()
        for line in ending.run(gathering.run_of(self._events), self.style):
            self._write(line)

    def _put(self, line: str) -> None:
        inside = self._events[-1].kind in lines.HELD_BACK
        if self._quiet and inside:
            self._held.append(line)
        else:
            self._write(line)

    def _pour(self) -> None:
        for line in self._held:
            self._write(line)
        self._held.clear()

    def _write(self, line: str) -> None:
        self._stream.write(line.rstrip() + "\n")
        if not self._terminal:
            self._stream.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[2K")
            self._drawn = False

    def _draw(self) -> None:
        if not self._terminal or not self._going:
            self._stream.flush()
            return
        newest = list(self._going.values())[-1]
        beside = len(self._going) - 1
        text = f"{newest.text}{f' (and {beside} more)' if beside else ''}"
        self._stream.write(lines.spinner(self._frame, text, self._clock() - newest.since_s, self.style))
        self._stream.flush()
        self._drawn = True
        if self._ticking and self._thread is None:
            self._thread = threading.Thread(target=self._spin, name="console-spinner", daemon=True)
            self._thread.start()

    def _spin(self) -> None:
        while not self._stop.wait(_TICK_S):
            self.tick()


def for_stream(stream: TextIO, environ: Mapping[str, str], *, quiet: bool = False, **more: Any) -> Console:
    """A console that fits a stream: lines are drawn anew only on a terminal that can, colour unless NO_COLOR is set."""
    terminal = stream.isatty() and environ.get("TERM", "") != "dumb"
    return Console(stream, terminal=terminal, colour=terminal and not environ.get("NO_COLOR"), quiet=quiet, **more)


def _width(terminal: bool) -> int:
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 120)) if terminal else 100
