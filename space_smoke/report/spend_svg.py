"""The picture of one tenant's spend: a line for each site, the sum of what was acknowledged, and bands where faults were up.

Pure; inline SVG, styled by the page's variables as in `svg`. Sites differ by dashes as well as by colour, since their lines lie on
each other wherever all is well.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

from space_smoke.report import outcome, spend, svg

MOST_PANELS = 6
STYLES = 4  # of lines, which the page has
_WIDTH, _LEFT, _TOP, _BOTTOM = svg.WIDTH, 90, 30, 230
_TICKS = 5


def panel(the: spend.Panel, faults: Sequence[outcome.Fault], from_s: float, to_s: float) -> str:
    """From and to: the scenario's seconds, which the axis counts from its beginning."""
    scale = svg.Scale(from_s, max(to_s, from_s + 0.1), _LEFT, _WIDTH - svg.RIGHT)
    dollars = Dollars([cents for points in (*the.shown.values(), the.told) for _, cents in points if cents is not None])
    parts = [
        *_bands(faults, scale, to_s),
        *svg.time_axis(scale, _BOTTOM),
        *_levels(dollars, scale),
        *_line(the.told, "told", "acknowledged on all sites", scale, dollars, to_s),
    ]
    for number, (site, points) in enumerate(the.shown.items()):
        parts += _line(points, f"spend spend{number % STYLES}", f"shown by site {site}", scale, dollars, None)
    label = html.escape(f"Spend of tenant {the.tenant} over time, in USD, by site, beside what was acknowledged")
    return f'<svg viewBox="0 0 {_WIDTH} {_BOTTOM + 26}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


class Dollars:
    """Cents to pixels, over the range of what is drawn: what a bench kept from before would press a scale from zero flat."""

    def __init__(self, cents: Sequence[int]) -> None:
        low, high = (min(cents), max(cents)) if cents else (0, 0)
        rough = max(high - low, 1) / 100 / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        self.step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
        self.low = math.floor(low / 100 / self.step) * self.step
        self.high = max(math.ceil(high / 100 / self.step), math.floor(low / 100 / self.step) + 1) * self.step

    def y(self, usd: float) -> float:
        return round(_BOTTOM - (usd - self.low) / (self.high - self.low) * (_BOTTOM - _TOP), 1)

    def ticks(self) -> list[float]:
        return [self.low + n * self.step for n in range(round((self.high - self.low) / self.step) + 1)]


def _bands(faults: Sequence[outcome.Fault], scale: svg.Scale, to_s: float) -> Iterator[str]:
    for fault in faults:
        begin = fault.up_s if fault.up_s is not None else fault.planned_s
        if begin is None:
            continue
        left, right = scale.x(begin), scale.x(to_s if fault.restored_s is None else fault.restored_s)
        tip = html.escape(f"{fault.name}: {fault.kind} on {fault.target}")
        size = f'width="{max(right - left, 1.5):.1f}" height="{_BOTTOM - _TOP}"'
        yield f'<rect class="fault band" x="{left}" y="{_TOP}" {size}><title>{tip}</title></rect>'
        yield svg.lettering(left + 3, _TOP - 6, fault.name, "start", max(8, int((right - left) / 6.5)), "tick")


def _levels(dollars: Dollars, scale: svg.Scale) -> Iterator[str]:
    yield svg.lettering(scale.left - 8, _TOP - 14, "USD", "end", 8, "tick")
    for usd in dollars.ticks():
        y = dollars.y(usd)
        yield f'<line class="grid" x1="{scale.left}" x2="{scale.right}" y1="{y}" y2="{y}"/>'
        yield svg.lettering(scale.left - 8, y + 4, f"{usd:.2f}", "end", 14, "tick")


def _line(
    points: spend.Points, kind: str, what: str, scale: svg.Scale, dollars: Dollars, until_s: float | None
) -> Iterator[str]:
    """Steps: a sum holds until another one is seen; a gap where none was shown."""
    way: list[str] = []
    last: int | None = None
    end_s = points[-1][0] if points else 0.0
    for at_s, cents in [*points, *([(until_s, points[-1][1])] if until_s and points else [])]:
        if cents is None:
            way += [f"H{scale.x(at_s)}"] if last is not None else []
        elif last is None:
            way.append(f"M{scale.x(at_s)} {dollars.y(cents / 100)}")
        elif cents != last or at_s >= end_s:
            way.append(f"H{scale.x(at_s)} V{dollars.y(cents / 100)}")
        last = cents
    if way:
        final = next((cents for _, cents in reversed(points) if cents is not None), 0)
        tip = html.escape(f"{what}: {(final or 0) / 100:.2f} USD at the end")
        yield f'<path class="{kind}" d="{" ".join(way)}"><title>{tip}</title></path>'


def key(kind: str) -> str:
    """One sign for the legend."""
    return f'<svg class="key wide" viewBox="0 0 30 12" aria-hidden="true"><path class="{kind}" d="M0 6 H30"/></svg>'
