"""The verb `load`: connects traffic (engine.load) to what shows it (report.live)."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from space_smoke import errors
from space_smoke.cli import show

if TYPE_CHECKING:
    from space_smoke.engine import load as traffic
    from space_smoke.report import live_screen

INTERRUPTED = 130  # as shells tell a command that Ctrl-C ended


def load(options: argparse.Namespace) -> int:
    """PASSED, INTERRUPTED, FAILED when sandboxes are left, UNFIT when the API answered nothing."""
    # Also in the background of a shell, which lets a process ignore Ctrl-C; SIGTERM is to clean up as well.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        return _load(options)
    except KeyboardInterrupt:  # before there was traffic, or for the third time
        show.line("space_smoke: stopped by Ctrl-C", sys.stderr)
        return INTERRUPTED


def _load(options: argparse.Namespace) -> int:
    from space_smoke.cli import verbs
    from space_smoke.engine import load as loading
    from space_smoke.engine import suite as running
    from space_smoke.report import live, live_counts

    plan = _plan(options)
    given = verbs.bench_options(options)
    with running.looking(given) as opened, contextlib.closing(_screen(options)) as screen:
        door = opened.scene.door()
        loading.reach(door)
        counts = live_counts.Counts(
            loading.NAME,
            loading.STATE,
            what=_what(options, plan),
            turns=plan.turns,
            rate_rps=plan.rate_rps,
            for_s=plan.for_s,
        )
        driver = loading.Driver(plan, door, counts, lambda: loading.pods(opened.scene), opened.scene.began_wall_s)
        ended = driver.drive(lambda now_s: screen.show(counts.view(now_s)))
        last = counts.view(door.clock(), ended.left)
        answered = any(name != live_counts.SILENT for name in last.whole.answers)
        code = _code(ended.interrupted, bool(ended.left), answered)
        screen.show(last)
        screen.end(last, live.Ending(ended.interrupted, code))
    if ended.failure is not None:
        raise ended.failure
    return code


def _code(interrupted: bool, left: bool, answered: bool) -> int:
    if interrupted:
        return INTERRUPTED
    if left:
        return errors.FAILED
    return errors.PASSED if answered else errors.UNFIT


def _what(options: argparse.Namespace, plan: traffic.Plan) -> str:
    from space_smoke.report import words

    clients = words.count(plan.clients, "client")
    speed = f"{plan.rate_rps:g}/s for {plan.for_s:g} s, {clients}, seed {plan.seed}"
    return f"load {plan.profile} {speed}, bench {options.context or options.name} (no Lease)"


def _screen(options: argparse.Namespace) -> live_screen.Terminal | live_screen.Lines:
    from space_smoke.report import live_screen

    stream = sys.stdout
    if options.json:
        return live_screen.Objects(stream)
    if not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return live_screen.Lines(stream)
    unicode = (stream.encoding or "ascii").lower().startswith("utf")
    colour = not os.environ.get("NO_COLOR")
    return live_screen.Terminal(stream, unicode=unicode, colour=colour, size=shutil.get_terminal_size)


def _plan(options: argparse.Namespace) -> traffic.Plan:
    """What was typed. Raises UsageError with every mistake."""
    from space_smoke.engine import load as loading
    from space_smoke.spec import units

    mistakes: list[str] = []

    def read(flag: str, text: str, of: Callable[[str], float]) -> float:
        try:
            return of(text)
        except units.UnitError as error:
            mistakes.append(f"{flag}: {error}")
            return 1.0

    rate_rps = read("--rate", options.rate or loading.PROFILES[options.profile], units.rate)
    for_s = read("--for", options.for_, units.duration)
    plan = loading.Plan(options.profile, rate_rps, for_s, options.clients, options.seed)
    mistakes += loading.mistakes(plan)
    if mistakes:
        raise errors.UsageError("\n".join(mistakes), next_step="space_smoke load --help")
    return plan
