"""The drawings of report.html: the timeline of a scenario, and each load on its own. Pure; inline SVG, styled by the
page's variables so that it follows light and dark. What colour says, shape and a tooltip say too.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from space_smoke.model import verdict
from space_smoke.report import outcome, words

WIDTH, GUTTER, RIGHT = 1120, 190, 14
MOST_DOTS = 3000  # per load: more would make a page that no browser likes; the rest are left out evenly, and told
_MOST_LANES = 60
_HOLD_S = 0.05  # held longer than this after its answer, a request is shown as a line
_LEAST_MS = 0.1
_PANEL, _TOP, _BOTTOM = 540, 12, 160


@dataclass(frozen=True, slots=True)
class Scale:
    """Seconds to pixels."""

    from_s: float
    to_s: float
    left: float
    right: float

    def x(self, at_s: float) -> float:
        span = max(self.to_s - self.from_s, 1e-3)
        part = (min(max(at_s, self.from_s), self.to_s) - self.from_s) / span
        return round(self.left + part * (self.right - self.left), 1)


@dataclass(frozen=True, slots=True)
class Speeds:
    """Time to answer to pixels: logarithmic, slow at the top, over the whole decades that hold the values. A request
    without an answer sits on the upper edge."""

    low_ms: float
    high_ms: float

    @classmethod
    def of(cls, dots: Iterable[outcome.Dot]) -> Speeds:
        took = [max(dot.took_s * 1000, _LEAST_MS) for dot in dots if dot.took_s is not None] or [10.0]
        low, high = math.floor(math.log10(min(took))), math.ceil(math.log10(max(took)))
        return cls(10.0**low, 10.0 ** max(high, low + 1))

    def ticks_ms(self) -> list[float]:
        decades = round(math.log10(self.high_ms / self.low_ms))
        return [self.low_ms * 10**n for n in range(decades + 1)]

    def y(self, took_s: float | None, top: float, bottom: float) -> float:
        ms = self.high_ms if took_s is None else min(max(took_s * 1000, self.low_ms), self.high_ms)
        part = math.log(ms / self.low_ms) / math.log(self.high_ms / self.low_ms)
        return round(bottom - part * (bottom - top), 1)


def timeline(the: outcome.Scenario, end_s: float) -> str:
    """Phases, faults, waits, loads and pods of one scenario over its whole time, a row each."""
    to_s = end_s if the.to_s is None else the.to_s
    scale = Scale(the.from_s, max(to_s, the.from_s + 0.1), GUTTER, WIDTH - RIGHT)
    parts: list[str] = []
    y = 24.0
    for label, height, marks in _rows(the, scale, to_s):
        parts.append(lettering(GUTTER - 10, y + height / 2 + 4, label, "end", 26))
        parts.append(f'<g transform="translate(0 {y:.0f})">{"".join(marks)}</g>')
        y += height + 6
    borders = "".join(
        f'<line class="border" x1="{scale.x(phase.from_s)}" x2="{scale.x(phase.from_s)}" y1="20" y2="{y:.0f}"/>'
        for phase in the.phases
    )
    axis = "".join(time_axis(scale, y))
    title = f"Timeline of {html.escape(the.id)}"
    return (
        f'<svg class="timeline" viewBox="0 0 {WIDTH} {y + 24:.0f}" role="img" aria-label="{title}">'
        f"{borders}{axis}{''.join(parts)}</svg>"
    )


def _rows(the: outcome.Scenario, scale: Scale, to_s: float) -> Iterator[tuple[str, int, Iterable[str]]]:
    """Label, height and marks of each row, from top to bottom."""
    if the.phases:
        yield "phases", 24, _phases(the.phases, scale, to_s, 24)
    for fault in the.faults:
        yield fault.name, 18, _fault(fault, scale, to_s, 18)
    if the.waits:
        yield "waits", 12, _waits(the.waits, scale, to_s, 12)
    speeds = Speeds.of(dot for load in the.loads for dot in load.dots)
    for load in the.loads:
        if load.kind:
            yield load.name, 34, _load_row(load, scale, speeds, to_s, 34)
    for name in _pod_names(the.pods):
        yield name, 12, _pod(name, the.pods, scale, 12)
    sent = {dot.index: dot.sent_s for load in the.loads for dot in load.dots}
    for one in the.verdicts:
        at = [sent[index] for index in one.proof if index in sent]
        if one.judged != verdict.Judged.PASS and at:
            yield f"{one.judged}: {one.check}", 14, _proof(at, one.check, scale, 14)


def _phases(phases: Sequence[outcome.Stretch], scale: Scale, to_s: float, height: int) -> Iterator[str]:
    for at, phase in enumerate(phases):
        left, right = scale.x(phase.from_s), scale.x(to_s if phase.to_s is None else phase.to_s)
        tip = f"phase {phase.name}: {words.seconds((phase.to_s or to_s) - phase.from_s)}"
        yield _bar(left, right, height, f"phase{at % 2}", tip)
        room = int((right - left) / 7)
        if room >= 3:
            yield lettering(left + 6, height / 2 + 4, phase.name, "start", room)


def _fault(fault: outcome.Fault, scale: Scale, to_s: float, height: int) -> Iterator[str]:
    begin = next((at for at in (fault.planned_s, fault.up_s) if at is not None), None)
    end = to_s if fault.restored_s is None else fault.restored_s
    told = f"{fault.kind} on {fault.target}: {fault.value}"
    if begin is None:
        return
    up = fault.up_s if fault.up_s is not None else end
    if up > begin:
        yield _bar(scale.x(begin), scale.x(up), height, "raising", f"being raised: {told}")
    if fault.up_s is not None:
        yield _bar(scale.x(fault.up_s), scale.x(end), height, "fault", f"up: {told}")
    left = scale.x(up)
    room = int((scale.x(end) - left) / 6.5)
    text = told if fault.restored_s is not None else f"NOT RESTORED: {told}"
    if room >= 8:
        yield lettering(left + 6, height / 2 + 4, text, "start", room, "on-fault")
    if fault.restored_s is None:
        x = scale.x(end)
        yield f'<path class="torn" d="M{x - 4} 0 l4 {height / 3:.0f} l-4 {height / 3:.0f} l4 {height / 3:.0f}"/>'


def _waits(waits: Sequence[outcome.Stretch], scale: Scale, to_s: float, height: int) -> Iterator[str]:
    for wait in waits:
        end = to_s if wait.to_s is None else wait.to_s
        tip = f"waited for {wait.name}: {words.seconds(end - wait.from_s)}, {wait.detail}"
        yield _bar(scale.x(wait.from_s), scale.x(end), height, "wait" if wait.ok else "wait bad", tip)


def _load_row(load: outcome.Load, scale: Scale, speeds: Speeds, to_s: float, height: int) -> Iterator[str]:
    end = to_s if load.to_s is None else load.to_s
    yield _bar(scale.x(load.from_s), scale.x(end), height, "load", f"load {load.name}, {load.kind}")
    for dot in thinned(load.dots):
        yield mark(dot, scale.x(dot.sent_s), speeds.y(dot.took_s, 4, height - 4), 2.6)


def _pod_names(pods: Sequence[outcome.Pods]) -> list[str]:
    return list(dict.fromkeys(words.one_line(pod.get("name")) for read in pods for pod in read.pods))


def _pod(name: str, reads: Sequence[outcome.Pods], scale: Scale, height: int) -> Iterator[str]:
    """A line from the first to the last time that the pod was seen, with a tick at each read."""
    seen = [(read.at_s, pod) for read in reads for pod in read.pods if words.one_line(pod.get("name")) == name]
    y = height / 2
    yield f'<line class="pod" x1="{scale.x(seen[0][0])}" x2="{scale.x(seen[-1][0])}" y1="{y}" y2="{y}"/>'
    for at_s, pod in seen:
        old = pod.get("terminating") is True or pod.get("current") is False
        state = "terminating" if pod.get("terminating") else ("current" if pod.get("current") else "old")
        tip = html.escape(f"{name} on {pod.get('node')}: {state}, at {at_s:.2f} s")
        kind = "pod-old" if old else "pod-now"
        yield f'<circle class="{kind}" cx="{scale.x(at_s)}" cy="{y}" r="3.2"><title>{tip}</title></circle>'


def _proof(at: Sequence[float], check: str, scale: Scale, height: int) -> Iterator[str]:
    for sent_s in at:
        x, tip = scale.x(sent_s), html.escape(f"proves {check}, at {sent_s:.3f} s")
        yield f'<path class="proof" d="M{x} 1 l4 {height - 2} h-8 z"><title>{tip}</title></path>'


def load_panel(load: outcome.Load, proof: frozenset[int]) -> str:
    """One load alone. Requests that hold their place are lines from sent to end, one below the other, so that it shows
    who overlapped; others are dots: when sent, and how long until answered. `proof` are requests to be ringed."""
    scale = _own_time(load)
    held = [dot for dot in load.dots if _held_s(dot) > _HOLD_S]
    lanes = bool(held) and len(load.dots) <= _MOST_LANES
    parts = [*time_axis(scale, _BOTTOM), *(_lanes(load, scale, proof) if lanes else _latencies(load, scale, proof))]
    what = "from sent to end, a line each" if lanes else "time sent against time to answer"
    label = html.escape(f"Requests of load {load.name}: {what}")
    return f'<svg viewBox="0 0 {_PANEL} {_BOTTOM + 26}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _own_time(load: outcome.Load) -> Scale:
    """From the first request of a load to its last end."""
    first = min(dot.sent_s for dot in load.dots)
    last = max(dot.sent_s if dot.ended_s is None else dot.ended_s for dot in load.dots)
    return Scale(first, max(last, first + 0.05), 58, _PANEL - 14)


def _held_s(dot: outcome.Dot) -> float:
    return 0.0 if dot.took_s is None or dot.ended_s is None else dot.ended_s - dot.sent_s - dot.took_s


def _lanes(load: outcome.Load, scale: Scale, proof: frozenset[int]) -> Iterator[str]:
    step = (_BOTTOM - _TOP) / len(load.dots)
    yield lettering(scale.left - 8, _TOP + 8, "first", "end", 9, "tick")
    yield lettering(scale.left - 8, _BOTTOM - 2, "last", "end", 9, "tick")
    for at, dot in enumerate(sorted(load.dots, key=lambda dot: dot.sent_s)):
        x, y = scale.x(dot.sent_s), round(_TOP + (at + 0.5) * step, 1)
        end = scale.x(dot.sent_s if dot.ended_s is None else dot.ended_s)
        yield f'<line class="held {dot.looks}-line" x1="{x}" x2="{end}" y1="{y}" y2="{y}"/>'
        yield _ringed(dot, x, y, proof)


def _latencies(load: outcome.Load, scale: Scale, proof: frozenset[int]) -> Iterator[str]:
    speeds = Speeds.of(load.dots)
    for ms in speeds.ticks_ms():
        y = speeds.y(ms / 1000, _TOP, _BOTTOM)
        yield f'<line class="grid" x1="{scale.left}" x2="{scale.right}" y1="{y}" y2="{y}"/>'
        yield lettering(scale.left - 8, y + 4, f"{ms:g} ms" if ms < 1000 else f"{ms / 1000:g} s", "end", 9, "tick")
    for dot in thinned(load.dots):
        yield _ringed(dot, scale.x(dot.sent_s), speeds.y(dot.took_s, _TOP, _BOTTOM), proof)


def _ringed(dot: outcome.Dot, x: float, y: float, proof: frozenset[int]) -> str:
    ring = f'<circle class="ring" cx="{x}" cy="{y}" r="7"/>' if dot.index in proof else ""
    return ring + mark(dot, x, y, 3.4)


def thinned(dots: Sequence[outcome.Dot]) -> Sequence[outcome.Dot]:
    return dots[:: -(-len(dots) // MOST_DOTS)] if len(dots) > MOST_DOTS else dots


def mark(dot: outcome.Dot, x: float, y: float, r: float) -> str:
    """circle: admitted or plain; square: refused; diamond: let through without the store; cross: failed."""
    answer = f"status {dot.status}" if dot.status is not None else "no answer"
    tip = html.escape(f"#{dot.index} {answer}, {words.milliseconds(dot.took_s)}, at {dot.sent_s:.3f} s, {dot.pod}")
    shape = {
        "refused": f"M{x - r} {y - r} h{2 * r} v{2 * r} h{-2 * r} z",
        "open": f"M{x} {y - 1.3 * r} l{1.3 * r} {1.3 * r} l{-1.3 * r} {1.3 * r} l{-1.3 * r} {-1.3 * r} z",
        "failed": f"M{x - r} {y - r} l{2 * r} {2 * r} m0 {-2 * r} l{-2 * r} {2 * r}",
    }.get(dot.looks)
    if shape is None:
        return f'<circle class="{dot.looks}" cx="{x}" cy="{y}" r="{r}"><title>{tip}</title></circle>'
    return f'<path class="{dot.looks}" d="{shape}"><title>{tip}</title></path>'


def key(looks: str) -> str:
    """One sign for the legend."""
    dot = outcome.Dot(0, 0.0, None, None, None, looks, "")
    return f'<svg class="key" viewBox="0 0 12 12" aria-hidden="true">{mark(dot, 6, 6, 3.6)}</svg>'


def time_axis(scale: Scale, y: float) -> Iterator[str]:
    """Ticks at round numbers of seconds since the scale's beginning."""
    span = max(scale.to_s - scale.from_s, 1e-3)
    rough = span / max(2.0, (scale.right - scale.left) / 90)
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    yield f'<line class="axis" x1="{scale.left}" x2="{scale.right}" y1="{y:.0f}" y2="{y:.0f}"/>'
    for n in range(int(span / step) + 1):
        x = scale.x(scale.from_s + n * step)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="12" y2="{y:.0f}"/>'
        yield lettering(x, y + 15, f"{n * step:g} s", "middle", 12, "tick")


def _bar(left: float, right: float, height: float, kind: str, tip: str) -> str:
    width = max(right - left, 1.5)
    title = html.escape(words.one_line(tip))
    return (
        f'<rect class="{kind}" x="{left}" y="0" width="{width:.1f}" height="{height}" rx="3">'
        f"<title>{title}</title></rect>"
    )


def lettering(x: float, y: float, text: str, anchor: str, room: int, kind: str = "") -> str:
    told = html.escape(words.short(words.one_line(text), max(room, 4)))
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{told}</text>'
