"""The public door for library users: choose scenarios, run them, judge a journal again. The command uses nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from space_smoke.model import history, run, scenario, verdict

if TYPE_CHECKING:
    from space_smoke.engine import suite as running
    from space_smoke.spec import schema

__all__ = ["choose", "rejudged", "run_scenarios", "tables", "write_reports"]

_JUDGED = ("PASS", "FAIL", "UNKNOWN")
SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"


def tables() -> schema.Tables:
    """Every kind of fault, load and check that scenarios may name, and the namespaces of a bench."""
    from space_smoke.bench import releases
    from space_smoke.checks import kinds as checks
    from space_smoke.faults import kinds as faults
    from space_smoke.loads import kinds as loads
    from space_smoke.spec import schema

    return schema.Tables(faults.KINDS, loads.KINDS, checks.KINDS, releases.namespaces())


def choose(
    folder: Path | None = None, *, names: Sequence[str] = (), labels: Sequence[str] = (), shard: str | None = None
) -> tuple[scenario.Scenario, ...]:
    """Reads all scenarios of a folder (default: the project's) and chooses. Raises SpecError or UsageError."""
    from space_smoke.spec import load, select

    root = folder or SCENARIOS
    return select.choose(
        load.scenarios(root, tables()),
        names=names,
        labels=labels,
        shard=select.parse_shard(shard) if shard else None,
        durations=select.durations(root / "durations.json"),
    )


def run_scenarios(
    names: Sequence[str],
    options: running.Options | None = None,
    *,
    folder: Path | None = None,
    listeners: Sequence[Callable[[history.Event], None]] = (),
) -> list[run.Result]:
    """Runs the named scenarios in order, as `space_smoke run` does; one Result each, see model.run.

    Raises SpecError or UsageError before anything is touched; whatever happens later is in the results.
    """
    from space_smoke.engine import suite as running

    chosen = choose(folder, names=names)
    results, _code = running.run_all(chosen, options or running.Options(), listeners, running.new_run_id())
    return results


def rejudged(journal_path: Path) -> list[history.Event]:
    """The events of a journal with the verdicts made anew by today's checks, for every scenario that still exists."""
    from space_smoke.checks import judge
    from space_smoke.report import journal

    events = journal.read(journal_path)
    known = {the.id: the for the in choose()}
    fresh: list[history.Event] = []
    following = 1 + max((event.index for event in events), default=0)  # new events must not take the index of a proof
    for event in events:
        the = known.get(str(event.data.get("scenario")))
        if event.kind == "verdict":
            continue
        if event.kind != "scenario-ended" or the is None or event.data["outcome"] not in (*_JUDGED, "ENVIRONMENTAL"):
            fresh.append(event)
            continue
        verdicts = judge.judge_all(the, events)
        for item in verdicts:
            data = {"check": item.check, "judged": str(item.judged), "sentence": item.sentence, "proof": item.proof}
            fresh.append(history.Event(following, event.at_s, "verdict", data))
            following += 1
        broken = event.data["outcome"] == "UNKNOWN" and event.data.get("harness") != run.OK
        kept = broken or event.data["outcome"] not in _JUDGED  # ENVIRONMENTAL: no verdict can change what the bench did
        outcome = event.data["outcome"] if kept else str(verdict.outcome_of(verdicts))
        fresh.append(replace(event, data={**event.data, "outcome": outcome}))
    return fresh


def write_reports(folder: Path, events: Sequence[history.Event]) -> None:
    """junit.xml, report.json and report.html of a run, from its events alone."""
    from space_smoke import report

    report.write_all(folder, events)
