"""One event, as lines for people. Pure: the console prints them as they come, `text` prints them of an old journal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from space_smoke.model import history
from space_smoke.report import outcome, words

Data = Mapping[str, Any]

# What a quiet console holds back until it is known whether the scenario passed.
HELD_BACK = frozenset(
    {
        "phase-started", "phase-ended", "fault-planned", "fault-up", "fault-restored", "load-started", "load-ended",
        "wait-started", "wait-ended", "verdict", "lease-acquired", "lease-released", "pods",
    }
)  # fmt: skip

_COLOURS = {"good": "32", "bad": "31", "odd": "33", "dim": "2", "bold": "1"}
_SIGNS = {
    "good": ("\u2713", "+"),
    "bad": ("\u2717", "x"),
    "odd": ("?", "?"),
    "begun": ("\u2022", "*"),
    "dim": (" ", " "),
}
_BORDERS = {
    "step-started": ("step", True),
    "step-ended": ("step", False),
    "wait-started": ("wait", True),
    "wait-ended": ("wait", False),
    "load-started": ("load", True),
    "load-ended": ("load", False),
    "fault-planned": ("fault", True),
    "fault-up": ("fault", False),
    "fault-restored": ("fault", False),
    "fault-kept": ("fault", False),
}
_FRAMES = ("\u280b\u2819\u2839\u2838\u283c\u2834\u2826\u2827\u2807\u280f", "|/-\\")


@dataclass(frozen=True, slots=True)
class Style:
    """How lines look on one stream. Without colour the same words are there; without Unicode the same signs in ASCII."""

    unicode: bool
    colour: bool
    width: int

    def paint(self, text: str, mood: str) -> str:
        return f"\x1b[{_COLOURS[mood]}m{text}\x1b[0m" if self.colour and mood in _COLOURS and text else text

    def sign(self, mood: str) -> str:
        return _SIGNS[mood][0 if self.unicode else 1]

    def spell(self, text: str) -> str:
        """Text that this stream can carry: without Unicode other characters are escaped."""
        return text if self.unicode else text.encode("ascii", "backslashreplace").decode()


def signed(mood: str, text: str, style: Style, *, indent: int = 1, took: object = None) -> str:
    """` + text            1.2 s`: sign, text, seconds at the right edge if they fit, right behind the text if not."""
    body = f"{' ' * indent}{style.sign(mood)} {style.spell(text)}"
    right = words.seconds(took)
    gap = " " * max(2, style.width - len(body) - len(right)) if right else ""
    start = " " * indent + style.paint(style.sign(mood), mood)
    return start + body[indent + 1 :] + gap + style.paint(right, "dim")


def begun(what: str, text: str, style: Style) -> str:
    return signed("begun", f"{text} ...", style, indent=3 if what == "wait" else 1)


def wrapped(head: str, text: str, style: Style) -> list[str]:
    """A long sentence behind a head, its further lines set under the first."""
    indent = " " * len(head)
    told = style.spell(words.one_line(text))
    return textwrap.wrap(told, style.width, initial_indent=head, subsequent_indent=indent, break_long_words=False)


def spinner(frame: int, text: str, elapsed_s: float, style: Style) -> str:
    """The line that is drawn anew; never longer than the terminal is wide."""
    frames = _FRAMES[0 if style.unicode else 1]
    right = words.seconds(elapsed_s)
    room = style.width - len(right) - 6
    return f" {frames[frame % len(frames)]} {words.short(style.spell(text), room):<{room}}  {right}"


def going(event: history.Event) -> tuple[tuple[str, str], str | None] | None:
    """What this event begins (its key and words) or ends (its key and None); None for all other events."""
    data = event.data
    border = _BORDERS.get(event.kind)
    if border is None:
        return None
    what, begins = border
    key = words.one_line(data.get({"step": "step", "wait": "saying"}.get(what, what)))
    if not begins:
        return (what, key), None
    text = {
        "step": words.one_line(data.get("saying") or key),
        "wait": f"waiting for {key}",
        "load": f"load {key} ({words.one_line(data.get('kind'))})",
        "fault": f"fault {key}: {words.one_line(data.get('kind'))} on {words.one_line(data.get('target'))}",
    }[what]
    return (what, key), text


def of(event: history.Event, style: Style) -> list[str]:
    """The lines of one event; none for what is only a beginning or a detail."""
    maker = _MAKERS.get(event.kind)
    return maker(event.data, style) if maker else []


def _run_started(data: Data, style: Style) -> list[str]:
    return [style.spell(f"{words.command(data)}  ({words.identity(data)})")]


def _scenario_started(data: Data, style: Style) -> list[str]:
    claim = wrapped("   claim: ", str(data.get("claim") or "none"), style)
    return ["", style.paint(style.spell(words.one_line(data.get("scenario"))), "bold"), *claim]


def _phase_started(data: Data, style: Style) -> list[str]:
    held = words.faults(data.get("faults"))
    faults = f", with {', '.join(held)}" if held else ", no fault"
    return [style.spell(f" phase {words.one_line(data.get('phase'))}{faults}")]


def _gate(data: Data, style: Style) -> list[str]:
    return [signed("good", f"bench {words.one_line(data.get('saying'))}", style, took=data.get("seconds"))]


def _progress(data: Data, style: Style) -> list[str]:
    """Of a wait of the health gate; a step's own are many, and its spinner is enough."""
    said = words.one_line(data.get("saying") or "")
    return wrapped("     ", said, style) if said.startswith("not quiet yet") else []


def _environment(data: Data, style: Style) -> list[str]:
    differs = data.get("differs")
    listed = differs if isinstance(differs, list | tuple) else ()
    return [signed("bad", f"the bench changed: {words.one_line(one)}", style) for one in listed]


def _step_ended(data: Data, style: Style) -> list[str]:
    ok = data.get("ok") is True
    text = words.one_line(data.get("saying") or data.get("step"))
    detail = words.one_line(data.get("detail") or "")
    text += f": {detail}" if detail else ""
    return [signed("good" if ok else "bad", text if ok else f"FAILED {text}", style, took=data.get("seconds"))]


def _wait_ended(data: Data, style: Style) -> list[str]:
    ok, last = data.get("ok") is True, words.one_line(data.get("last") or "")
    text = f"{'waited' if ok else 'gave up waiting'} for {words.one_line(data.get('saying'))}"
    text += f": {last}" if last else ""
    return [signed("good" if ok else "bad", text, style, indent=3, took=data.get("seconds"))]


def _fault(mood: str, does: str) -> Callable[[Data, Style], list[str]]:
    def lines(data: Data, style: Style) -> list[str]:
        told = words.value(data.get("value" if does == "up" else "standing"))
        what = f"{words.one_line(data.get('kind'))} on {words.one_line(data.get('target'))}: {told}"
        text = f"fault {words.one_line(data.get('fault'))} {does}: {what}"
        return [signed(mood, text, style, indent=3, took=data.get("seconds"))]

    return lines


def _fault_kept(data: Data, style: Style) -> list[str]:
    text = f"fault {words.one_line(data.get('fault'))} KEPT, its record stays: {words.one_line(data.get('error'))}"
    return [signed("bad", text, style, indent=3)]


def load(the: outcome.Load, style: Style) -> str:
    """A load that ended: its requests by status, and how fast they were answered."""
    text = f"load {the.name} ({the.kind}): {words.count(len(the.dots), 'request')}"
    text += f", {words.tally(the.statuses)}" if the.statuses else ""
    if latencies := the.latencies_s():
        text += f", p50 {words.milliseconds(latencies[0])}, p99 {words.milliseconds(latencies[1])}"
    took = None if the.to_s is None else the.to_s - the.from_s
    return signed("good", text, style, indent=3, took=took)


def _repaired(data: Data, style: Style) -> list[str]:
    return [style.paint(style.spell(words.repaired(data)), "odd")]


def _refused(data: Data, style: Style) -> list[str]:
    return [style.paint(style.spell(words.refused(data)), "bad")]


def _lease_lost(data: Data, style: Style) -> list[str]:
    return [signed("bad", f"LOST the Lease of {words.one_line(data.get('domain'))} to a successor", style)]


def _note(data: Data, style: Style) -> list[str]:
    return [style.spell(f" note: {words.one_line(data.get('sentence'))}")]


def _verdict(data: Data, style: Style) -> list[str]:
    judged = words.one_line(data.get("judged"))
    mood = {"pass": "good", "fail": "bad"}.get(judged, "odd")
    word = judged if judged == "pass" else judged.upper()
    text = f"{word} {words.one_line(data.get('check'))}: {words.one_line(data.get('sentence'))}"
    return [signed(mood, text, style, indent=1)]


def _said(data: Data, style: Style) -> list[str]:
    """Events of bring-up that explain themselves."""
    return wrapped("   ", str(data.get("saying") or ""), style) if data.get("saying") else []


def _finding(data: Data, style: Style) -> list[str]:
    text = f"advice: {data.get('name')} is {data.get('value')}; better {data.get('rule')}: {data.get('fix')}"
    return wrapped("   ", text, style)


def _up(data: Data, style: Style) -> list[str]:
    told = f"bench {data.get('bench')} is up; kubeconfig: {data.get('kubeconfig')}"
    return [*wrapped(" ", told, style), *wrapped(" next: ", str(data.get("next") or ""), style)]


def _drill_started(data: Data, style: Style) -> list[str]:
    return ["", style.spell(str(data.get("drill"))), *wrapped("   ", str(data.get("claim") or ""), style)]


def _drill_ended(data: Data, style: Style) -> list[str]:
    ok = bool(data.get("ok"))
    points = data.get("reached")
    hit = (
        f", {sum(points.values())} kills and stops at {len(points)} points"
        if isinstance(points, Mapping) and points
        else ""
    )
    head = f"{'PASS' if ok else 'FAIL'} {data.get('drill')}: {words.count(int(data.get('cycles') or 0), 'cycle')}{hit}"
    problems = data.get("problems")
    listed = [str(one) for one in problems] if isinstance(problems, list | tuple) else []
    return [
        signed("good" if ok else "bad", head, style, took=data.get("seconds")),
        *(line for one in listed for line in wrapped("     ", one, style)),
    ]


_MAKERS: Mapping[str, Callable[[Data, Style], list[str]]] = {
    "run-started": _run_started,
    "scenario-started": _scenario_started,
    "phase-started": _phase_started,
    "step-ended": _step_ended,
    "gate": _gate,
    "progress": _progress,
    "environment": _environment,
    "wait-ended": _wait_ended,
    "fault-up": _fault("good", "up"),
    "fault-restored": _fault("good", "restored"),
    "fault-kept": _fault_kept,
    "repaired": _repaired,
    "refused": _refused,
    "lease-lost": _lease_lost,
    "note": _note,
    "finding": _finding,
    "up": _up,
    "drill-started": _drill_started,
    "drill-ended": _drill_ended,
    **dict.fromkeys(
        (
            "image-choice",
            "engine-starting",
            "engine-configured",
            "orphans-ended",
            "waiting",
            "release-recovered",
            "release-changed",
            "left-over",
            "reaped",
            "remade",
        ),
        _said,
    ),
    "verdict": _verdict,
}
