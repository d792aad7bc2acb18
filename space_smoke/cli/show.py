"""How results look on a terminal, and as JSON. The same content with and without colour; events go to the console."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from space_smoke.model import history, scenario

Listener = Callable[[history.Event], None]


@contextmanager
def console(options: argparse.Namespace) -> Iterator[Listener]:
    """Where events are shown: standard output, or standard error when --json owns the output."""
    from space_smoke.report import console as showing

    stream = sys.stderr if options.json else sys.stdout
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    shown = showing.Console(stream, terminal=terminal, colour=terminal and not os.environ.get("NO_COLOR"))
    try:
        yield shown
    finally:
        shown.close()


def emitter(listen: Listener) -> Callable[..., None]:
    """An emit function for commands that keep no History."""
    began = time.monotonic()
    past = history.History(lambda: time.monotonic() - began, (listen,))

    def emit(kind: str, /, **data: Any) -> None:
        past.emit(kind, **data)

    return emit


def line(text: str, stream: TextIO | None = None) -> None:
    print(text, file=stream or sys.stdout)


def as_json(value: Any) -> None:
    line(json.dumps(value, indent=2, default=str))


def findings(found: Sequence[Any]) -> None:
    for item in found:
        line(f"{'ok  ' if item.ok else 'LACK'} {item.name}: {item.value}")
        if not item.ok:
            line(f"     rule: {item.rule}\n     fix:  {item.fix}")


def scenarios(chosen: Sequence[scenario.Scenario]) -> None:
    width = max(len(the.id) for the in chosen)
    for the in chosen:
        line(f"{the.id:<{width}}  {the.budget_s:>4.0f} s  [{', '.join(the.labels)}]")
        line(f"{'':<{width}}  {the.claim}")


def plans(found: Sequence[Mapping[str, Any]]) -> None:
    for plan in found:
        line(f"{plan['scenario']}: {plan['claim']}")
        line(f"  under the Leases: {', '.join(plan['domains']) or 'none'}; budget {plan['budget_s']:.0f} s")
        for act in plan["acts"]:
            line(f"  {_act(act)}")
        line(f"  judged by: {', '.join(plan['checks'])}, and that nothing is left\n")


def _act(act: Mapping[str, Any]) -> str:
    arguments = json.dumps(act.get("arguments", {}), sort_keys=True)
    match act["do"]:
        case "enter":
            return f"phase {act['phase']}"
        case "raise":
            return f"  record, then raise {act['fault']}: {act['kind']} on {act['target']} in {act['namespace']} {arguments}"
        case "lower":
            return f"  restore, verify, clear {act['fault']}: {act['kind']} on {act['target']}"
        case "load":
            return f"  load {act['load']}: {act['kind']} {arguments}"
    return "  end of phase"


def status(seen: Mapping[str, Any]) -> None:
    for domain in seen["domains"]:
        holder = f"held by {domain['holder']}" if domain["holder"] else "released"
        line(f"{domain['domain']}: {holder}, fence {domain['fence']}")
        if domain["holder"]:
            line(
                f"  run {domain['run']} (pid {domain['pid']} on {domain['host']}): {domain['life']}, {domain['reason']}"
            )
        if domain["renewed_s"] is not None and domain["holder"]:
            line(f"  last renewed {domain['renewed_s']} s ago by: {domain['command']}")
        for item in domain["unreadable"]:
            line(f"  CANNOT BE READ, left alone: {item['key']}: {item['reason']}")
        for item in domain["faults"]:
            line(f"  FAULT {item['fault']} ({item['kind']}) on {item['target']}, {item['stage']}, by run {item['run']}")
            line(f"    standing: {item['standing']}\n    fault:    {item['value']}\n    now:      {item['now']}")
            if item["last_error"]:
                line(f"    {item['attempts']} attempts, the last: {item['last_error']}")
    if seen["open_faults"]:
        line("next: space_smoke repair, or any `space_smoke run`, which repairs first")
    line(f"{seen['open_faults']} open faults")


def drills(found: Mapping[str, Any], *, as_json: bool) -> None:
    claims = {name: " ".join((drill.__doc__ or "").split()) for name, drill in found.items()}
    if as_json:
        line(json.dumps({"drills": claims}, indent=2))
        return
    for name, claim in claims.items():
        line(f"{name}\n  {claim}")


def report(events: Sequence[history.Event], *, as_json: bool) -> None:
    from space_smoke.report import gathering, summary, text

    if as_json:
        line(json.dumps(summary.build(gathering.run_of(events)), indent=2, default=str))
    else:
        text.write(sys.stdout, events)
