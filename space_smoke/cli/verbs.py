"""One function per verb: it calls the library and shows the result. Exit codes come from errors and results alone."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from space_smoke import errors, suite
from space_smoke.cli import loading, show


def doctor(options: argparse.Namespace) -> int:
    from space_smoke.engine import doctor as examining

    findings = examining.examine(examining.read())
    if options.json:
        show.as_json(
            {"findings": [{k: getattr(f, k) for k in ("name", "ok", "value", "rule", "fix")} for f in findings]}
        )
    else:
        show.findings(findings)
    return errors.UNFIT if any(finding.blocks and not finding.ok for finding in findings) else errors.PASSED


def up(options: argparse.Namespace) -> int:
    from space_smoke.engine import up as bringing

    wanted = bringing.UpOptions(
        name=options.name,
        images=options.images,
        api_port=options.api_port,
        recreate=options.recreate,
        extras=tuple(options.extras),
    )
    with show.console(options) as listen:
        handle = bringing.up(wanted, show.emitter(listen))
    if options.json:
        show.as_json(
            {
                "bench": handle.name,
                "kubeconfig": str(handle.kubeconfig),
                "kubernetes": handle.kubernetes,
                "images": dict(handle.images),
                "step_seconds": dict(handle.step_seconds),
                "reused": handle.reused,
            }
        )
    return errors.PASSED


def down(options: argparse.Namespace) -> int:
    from space_smoke.bench import register
    from space_smoke.engine import down as removing

    names = [entry.name for entry in register.known()] if options.all else [options.name]
    with show.console(options) as listen:
        for name in names:
            removing.down(name, show.emitter(listen))
    if options.json:
        show.as_json({"removed": names})
    return errors.PASSED


def listing(options: argparse.Namespace) -> int:
    from space_smoke.spec import select

    chosen = _chosen(options)
    if options.json:
        show.as_json(select.as_json(chosen))
    else:
        show.scenarios(chosen)
    return errors.PASSED


def lint(options: argparse.Namespace) -> int:
    from space_smoke.spec import generated, schema

    if options.schema:
        sys.stdout.write(schema.text(suite.tables()))
        return errors.PASSED
    if options.write:
        generated.write(options.folder or suite.SCENARIOS, suite.tables())
    found = suite.choose(options.folder)
    if options.json:
        show.as_json({"scenarios": len(found), "mistakes": []})
    else:
        show.line(f"{len(found)} scenarios, no mistakes")
    return errors.PASSED


def plan(options: argparse.Namespace) -> int:
    from space_smoke.engine import standing

    plans = [standing.planned(the, options.namespace) for the in _chosen(options)]
    if options.json:
        show.as_json({"plans": plans})
    else:
        show.plans(plans)
    return errors.PASSED


def run(options: argparse.Namespace) -> int:
    from space_smoke.engine import suite as running
    from space_smoke.report import journal

    chosen = _chosen(options)
    run_id = running.new_run_id()
    folder: Path = options.runs / run_id
    folder.mkdir(parents=True)
    with show.console(options) as listen, contextlib.closing(journal.Writer(folder / "journal.jsonl")) as write:
        _results, code = running.run_all(chosen, bench_options(options), (write, listen), run_id)
    _reports(folder)
    if write.trouble:
        show.line(f"space_smoke: the journal is not whole: {write.trouble}", sys.stderr)
        code = errors.worst([code, errors.BROKE])
    if options.json:
        show.as_json(json.loads((folder / "report.json").read_text()) | {"exit_code": code, "folder": str(folder)})
    else:
        show.line(f"reports: {folder}", sys.stderr)
    return code


def report(options: argparse.Namespace) -> int:
    given = Path(options.run)
    path = next(
        (p for p in (given, given / "journal.jsonl", options.runs / options.run / "journal.jsonl") if p.is_file()), None
    )
    if path is None:
        raise errors.UsageError(
            f"no journal at {given} or under {options.runs}", next_step="name a run's folder, as `ls runs` shows it"
        )
    events = suite.rejudged(path)
    suite.write_reports(path.parent, events)
    show.report(events, as_json=options.json)
    return errors.PASSED


def status(options: argparse.Namespace) -> int:
    from space_smoke.engine import standing
    from space_smoke.engine import suite as running

    with running.looking(bench_options(options)) as opened:
        seen = standing.status(opened.leases)
    if options.json:
        show.as_json(seen)
    else:
        show.status(seen)
    return errors.PASSED


def repair(options: argparse.Namespace) -> int:
    from space_smoke.engine import preflight, standing
    from space_smoke.engine import suite as running

    with running.looking(bench_options(options)) as opened, show.console(options) as listen:
        opened.past.listeners = (listen,)
        done: dict[str, Any]
        if options.abandon:
            done = standing.abandon(opened.leases, options.abandon)
        else:
            done = {"repaired": standing.repair(opened.leases, opened.past.emit)}
        left = preflight.open_faults(opened.leases, sweep=True)
        opened.past.emit("open-faults", count=len(left), faults=left)
    if options.json:
        show.as_json({**done, "open_faults": left})
    return errors.INCOMPLETE if left else errors.PASSED


def drill(options: argparse.Namespace) -> int:
    from space_smoke.engine import drill as drilling
    from space_smoke.engine import ground
    from space_smoke.engine import suite as running
    from space_smoke.engine.drills import runs

    if not (options.names or options.all or options.kills or options.scenario):
        show.drills(drilling.DRILLS, as_json=options.json)
        return errors.PASSED
    unknown = sorted(set(options.names) - set(drilling.DRILLS))
    if unknown:
        raise errors.UsageError(
            f"no drill is called {unknown[0]!r}", next_step=f"choose from {', '.join(drilling.DRILLS)}"
        )
    given = bench_options(options)
    killing = None
    if options.scenario:
        suite.choose(None, names=[options.scenario])  # a wrong name is told before anything is broken
        where = runs.flags(given)
        killing = runs.Killing(options.scenario, options.kills or 1, options.seed, where, options.namespace)
    names = [*options.names, *(name for name in drilling.ALL if options.all and name not in options.names)]
    for number in (signal.SIGINT, signal.SIGTERM):  # either one unwinds: runners are ended and the ground is removed
        signal.signal(number, signal.default_int_handler)
    with running.looking(given) as opened, show.console(options) as listen:
        opened.past.listeners = (listen,)
        cluster, emit = opened.scene.cluster, opened.past.emit
        bench = given.bench if given.backend == "kind" else ""
        on = ground.Ground(cluster, running.kubeconfig_of(given), cluster.context or "", emit, bench)
        outcome = drilling.run(names, on, emit, wanted=options.kills, seed=options.seed, killing=killing)
    if options.json:
        show.as_json(outcome.as_json())
    asked_in_vain = set(options.names) & set(outcome.not_possible)
    return errors.FAILED if outcome.problems or outcome.left or asked_in_vain else errors.PASSED


VERBS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "doctor": doctor,
    "up": up,
    "down": down,
    "list": listing,
    "lint": lint,
    "plan": plan,
    "run": run,
    "report": report,
    "status": status,
    "repair": repair,
    "drill": drill,
    "load": loading.load,
}


def bench_options(options: argparse.Namespace) -> Any:
    """--context alone means a cluster of the user's; without it, a bench of ours."""
    from space_smoke.engine import suite as running

    backend = options.backend or ("context" if options.context or options.kubeconfig else "kind")
    if backend == "kind" and (options.context or options.kubeconfig):
        raise errors.UsageError(
            "--backend kind and --context or --kubeconfig exclude each other: a Kind bench has a kubeconfig of its own",
            next_step="leave one of them out",
        )
    return running.Options(
        bench=options.name,
        backend=backend,
        context=options.context,
        kubeconfig=options.kubeconfig,
        namespace=options.namespace,
        seed=getattr(options, "seed", 0),
        fail_fast=getattr(options, "fail_fast", False),
        rest_s=_seconds("--rest", getattr(options, "rest", "30s")),
    )


def _seconds(flag: str, text: str) -> float:
    from space_smoke.spec import units

    try:
        return units.duration(text)
    except units.UnitError as error:
        raise errors.UsageError(f"{flag}: {error}", next_step="space_smoke run --help") from None


def _chosen(options: argparse.Namespace) -> Any:
    if options.names and options.all:
        raise errors.UsageError("name scenarios or say --all, not both", next_step="space_smoke list")
    needs_choice = options.verb == "run" and not (options.names or options.all or options.label or options.shard)
    if needs_choice:
        raise errors.UsageError(
            "which scenarios?", next_step="space_smoke run NAME, or --all; space_smoke list shows them"
        )
    return suite.choose(options.scenarios, names=options.names, labels=options.label, shard=options.shard)


def _reports(folder: Path) -> None:
    from space_smoke.report import journal

    suite.write_reports(folder, journal.read(folder / "journal.jsonl"))
