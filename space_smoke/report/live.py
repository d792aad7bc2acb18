"""How traffic looks while it goes on: a frame for a terminal, a line for a log, an object for a program. Pure.

All three say the same: answers by status, decisions by outcome and reason, latency from the moment a request was due, and
the store as the limiters met it. `live_screen` puts them on a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.report import lines, live_counts, words

_BARS = ("▁▂▃▄▅▆▇█", ".:-=+*#@")
_TABLE, _CELL = 76, 13  # columns of the table and of a cell
_LEAST_WIDTH = 40


@dataclass(frozen=True, slots=True)
class Ending:
    """How the command ends: by Ctrl-C or SIGTERM or by itself, and with which exit code."""

    interrupted: bool
    exit_code: int


def frame(view: live_counts.View, style: lines.Style) -> list[str]:
    """The rows of one moment, none wider than the style says; what matters most stands first, for a low terminal."""
    width = max(_LEAST_WIDTH, style.width)
    rows = [
        ("bold", view.what),
        ("odd", f"{_time(view)}  {words.one_line(view.notes[-1])}")
        if view.notes
        else ("", f"{_time(view)}  {_bar(view, width - len(_time(view)) - 2, style)}"),
        (_mood(view), f" store  {store(view)}"),
        ("dim", f" p99    {_trend(view, style, width - 8)}"),
        ("dim", _row("", "last second", "all", width)),
        (_late(view), _row("requests", str(view.second.answered), str(view.whole.answered), width)),
        (_late(view), _row("waiting, behind", f"{view.waiting}, {words.seconds(view.second.behind_s)}", "", width)),
    ]
    rows += [("", _row(head, second, whole, width)) for head, second, whole in _latencies(view)]
    rows += _counts("status", view.second.answers, view.whole.answers, width)
    for limiter in live_counts.LIMITERS:
        rows += _counts(limiter, view.second.decisions.get(limiter, {}), view.whole.decisions.get(limiter, {}), width)
    rows.append(("", _row("sandboxes made, deleted", "", f"{view.made}, {view.deleted}", width)))
    return [style.paint(words.short(style.spell(text.rstrip()), width), mood) for mood, text in rows]


def line(view: live_counts.View) -> str:
    """One second in one line, for a log."""
    second = view.second
    told = [words.tally(second.answers) or "no answers"]
    told += [
        f"{limiter} {words.tally(made)}" for limiter in live_counts.LIMITERS if (made := second.decisions.get(limiter))
    ]
    told += [f"p50 p95 p99 {_percentiles(second)}"] if second.percentiles_s else []
    told += [f"{view.waiting} waiting, {words.seconds(second.behind_s)} behind"] if _late(view) else []
    told += [f"store {store(view)}", *(f"note: {words.one_line(note)}" for note in view.notes[-1:])]
    return f"{view.at_s:5.0f} s  {second.answered} requests: {'; '.join(told)}"


def summary(view: live_counts.View, ending: Ending) -> list[str]:
    """The last lines: the whole, and which sandboxes are left, if any."""
    whole = view.whole
    how = "stopped after" if ending.interrupted else "in"
    told = [f"{words.count(whole.answered, 'request')} {how} {words.seconds(view.at_s)}: {words.tally(whole.answers)}"]
    told += [
        f"{limiter}: {words.tally(made)}" for limiter in live_counts.LIMITERS if (made := whole.decisions.get(limiter))
    ]
    told += [f"p50 p95 p99 from when due: {_percentiles(whole)}"] if whole.percentiles_s else []
    told += [f"at most {words.seconds(whole.behind_s)} behind the schedule"] if whole.behind_s >= 0.1 else []
    told.append(f"sandboxes: {view.made} made, {view.deleted} deleted, {len(view.left)} left")
    if view.left:
        told.append(f"LEFT: {words.names(view.left)}\n  next: DELETE /v1/sandboxes/ID on the public API removes one")
    return told


def as_json(view: live_counts.View) -> dict[str, Any]:
    """One second as an object: `second` and `all` have the same keys."""
    return {
        "at_s": round(view.at_s, 3),
        "waiting": view.waiting,
        "second": _stretch(view.second),
        "all": _stretch(view.whole),
        "store": {"state": store_state(view.second), "pods": dict(view.pods)},
        "sandboxes": {"made": view.made, "deleted": view.deleted},
    }


def summary_json(view: live_counts.View, ending: Ending) -> dict[str, Any]:
    """The last object, told from the others by its key `summary`."""
    whole = {"at_s": round(view.at_s, 3), **_stretch(view.whole), "store": {"pods": dict(view.pods)}}
    sandboxes = {"made": view.made, "deleted": view.deleted, "left": list(view.left)}
    return {"summary": whole, "sandboxes": sandboxes, "interrupted": ending.interrupted, "exit_code": ending.exit_code}


def store_state(one: live_counts.Stretch) -> str:
    """What the decisions of a stretch say of the store; "not asked" when none was made."""
    if not one.store:
        return "not asked"
    return next(iter(one.store)) if len(one.store) == 1 else "answers some"


def store(view: live_counts.View) -> str:
    """The store in words: how the last second's decisions met it, and how many pods name one."""
    second = view.second
    state = store_state(second)
    if state == "answers some":
        state = ", ".join(f"{name} x{count}" for name, count in sorted(second.store.items()))
    pods = ", ".join(f"{said} on {count}" for said, count in live_counts.merged(view.pods.values()).items())
    return f"{state} ({pods} of {words.count(len(view.pods), 'pod')})" if pods else state


def _stretch(one: live_counts.Stretch) -> dict[str, Any]:
    seconds = one.percentiles_s or (None,) * len(live_counts.PERCENTS)
    named = {
        f"p{percent}_s": None if value is None else round(value, 6)
        for percent, value in zip(live_counts.PERCENTS, seconds, strict=True)
    }
    decisions = {limiter: dict(made) for limiter, made in one.decisions.items()}
    answers: Mapping[str, int] = one.answers
    return {
        "requests": one.answered,
        "answers": dict(answers),
        "decisions": decisions,
        "behind_s": one.behind_s,
        **named,
    }


def _time(view: live_counts.View) -> str:
    return f"{view.at_s:.0f} s of {view.for_s:.0f} s"


def _bar(view: live_counts.View, width: int, style: lines.Style) -> str:
    full, empty = ("━", "─") if style.unicode else ("#", "-")
    done = round(width * min(1.0, view.at_s / view.for_s))
    return full * done + empty * (width - done)


def _late(view: live_counts.View) -> str:
    return "odd" if view.second.behind_s >= 0.1 else ""


def _mood(view: live_counts.View) -> str:
    state = store_state(view.second)
    moods = {live_counts.ANSWERS: "good", live_counts.UNAVAILABLE: "bad", "not asked": "dim"}
    return moods.get(state, "odd")


def _counts(what: str, second: Mapping[str, int], whole: Mapping[str, int], width: int) -> list[tuple[str, str]]:
    """A row for each thing that was ever counted, so that rows stay where they are."""
    heads = {name: name if name == live_counts.SILENT else f"{what} {name}" for name in whole}
    return [("", _row(heads[name], str(second.get(name, 0)), str(count), width)) for name, count in whole.items()]


def _latencies(view: live_counts.View) -> list[tuple[str, str, str]]:
    none = (None,) * len(live_counts.PERCENTS)
    pairs = zip(view.second.percentiles_s or none, view.whole.percentiles_s or none, strict=True)
    return [
        (f"p{percent} from when due", words.milliseconds(second), words.milliseconds(whole))
        for percent, (second, whole) in zip(live_counts.PERCENTS, pairs, strict=True)
    ]


def _percentiles(one: live_counts.Stretch) -> str:
    return " / ".join(words.milliseconds(value) for value in one.percentiles_s) if one.percentiles_s else "-"


def _row(head: str, second: str, whole: str, width: int) -> str:
    room = min(width, _TABLE) - 2 * _CELL - 1
    return f" {words.short(head, room):<{room}}{second:>{_CELL}}{whole:>{_CELL}}"


def _trend(view: live_counts.View, style: lines.Style, width: int) -> str:
    """The last seconds' 99th percentile, each as high as its part of the greatest; a second without answers is a gap."""
    shown = view.trend[-max(1, width - 12) :]
    top = max((value for value in shown if value is not None), default=None)
    if not top:
        return "-"
    bars = _BARS[0 if style.unicode else 1]
    drawn = "".join(" " if v is None else bars[min(len(bars) - 1, int(v / top * len(bars)))] for v in shown)
    return f"{drawn} top {words.milliseconds(top)}"
