"""Writes the reports of a run beside its journal. Everything here can be made anew from the journal at any time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from space_smoke.model import history
from space_smoke.report import gathering, html, junit, outcome, summary

RENDERERS: Mapping[str, Callable[[outcome.Run], str]] = {
    "junit.xml": junit.render,
    "report.json": summary.render,
    "report.html": html.render,
}


def write_all(directory: Path, events: Iterable[history.Event]) -> list[Path]:
    """Each file appears whole or not at all. Raises OSError."""
    run = gathering.run_of(events)
    written = []
    for name, render in RENDERERS.items():
        path = directory / name
        unfinished = path.with_name(f".{name}.{os.getpid()}")
        unfinished.write_text(render(run), encoding="utf-8", errors="replace")
        unfinished.replace(path)
        written.append(path)
    return written
