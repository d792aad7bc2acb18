"""Puts views of traffic on a stream: drawn in place on a terminal, a line a second elsewhere, an object a second for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TextIO

from space_smoke.report import lines, live, live_counts

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"


class Terminal:
    """Redraws one frame. `size` gives (columns, rows) now; rows that do not fit are left out."""

    def __init__(self, stream: TextIO, *, unicode: bool, colour: bool, size: Callable[[], tuple[int, int]]) -> None:
        self._stream, self._unicode, self._colour, self._size = stream, unicode, colour, size
        self._drawn = 0

    def show(self, view: live_counts.View) -> None:
        columns, rows = self._size()
        frame = live.frame(view, lines.Style(self._unicode, self._colour, min(columns, 140) - 1))[: max(1, rows - 1)]
        up = f"\x1b[{self._drawn}F" if self._drawn else _HIDE
        # Erased to the end of each line and of the screen: a shorter frame leaves nothing of a longer one.
        self._stream.write(up + "".join(f"{text}\x1b[K\n" for text in frame) + "\x1b[J")
        self._stream.flush()
        self._drawn = len(frame)

    def end(self, view: live_counts.View, ending: live.Ending) -> None:
        style = lines.Style(self._unicode, self._colour, 0)
        for text in live.summary(view, ending):
            self._stream.write(style.spell(text) + "\n")

    def close(self) -> None:
        if self._drawn:
            self._stream.write(_SHOW)
        self._stream.flush()


class Lines:
    """Without colour and without moving a cursor."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, view: live_counts.View) -> None:
        self._write(live.line(view))

    def end(self, view: live_counts.View, ending: live.Ending) -> None:
        for text in live.summary(view, ending):
            self._write(text)

    def close(self) -> None:
        pass

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class Objects(Lines):
    """One JSON object a line; the last one has the key `summary`."""

    def show(self, view: live_counts.View) -> None:
        self._write(json.dumps(live.as_json(view)))

    def end(self, view: live_counts.View, ending: live.Ending) -> None:
        self._write(json.dumps(live.summary_json(view, ending)))
