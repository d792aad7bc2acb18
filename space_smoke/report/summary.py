"""report.json: the run for machines. Schema, version 1 (times in seconds since the run began; null: not known):

report       1
run          {command, version, bench, backend, seed, run, host, started}: as in the journal's run-started
exit_code    int or null; killed: true when the journal has no end
open_faults  {count: int or null, names: [str]}: the last fresh read
repaired     [{domain, kind, target, fault, standing, run, holder, age_s, proof}]
refused      [{domain, holder, fault, sentence}]; notes: [str]
steps        [{name, from_s, to_s, ok, seconds, detail}]; waits: the same
scenarios    [{
  id, claim, seed, outcome, exit_code, from_s, to_s, seconds,
  results    {hypothesis, injection, restore, harness}: four results that never stand for one another;
             hypothesis is pass, fail, unknown or null, the others "ok", a sentence or null
  environment  [what differed of the bench before and after, a sentence each; empty for all outcomes but ENVIRONMENTAL]
  checks     [{check, judged, sentence, proof: [index of event]}]
  phases     [{name, from_s, to_s, faults}]
  faults     [{name, kind, target, domain, value, standing, planned_s, up_s, restored_s, error}]
  loads      [{name, kind, phase, from_s, to_s, requests, statuses, decisions, p50_s, p99_s, max_s}]
  waits      [as above]; diagnostics: [what was gathered]
}]
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from space_smoke.model import verdict
from space_smoke.report import outcome

VERSION = 1
_RUN = ("command", "version", "bench", "backend", "seed", "run", "host", "started")
_STRETCH = ("name", "from_s", "to_s", "ok", "seconds", "detail")
_LOAD = ("name", "kind", "phase", "from_s", "to_s", "statuses", "decisions")
_SCENARIO = ("id", "claim", "seed", "exit_code", "from_s", "to_s", "seconds")


def render(run: outcome.Run) -> str:
    return json.dumps(build(run), indent=1, default=str) + "\n"


def build(run: outcome.Run) -> dict[str, Any]:
    return {
        "report": VERSION,
        "run": {key: run.started.get(key) for key in _RUN},
        "exit_code": run.exit_code,
        "killed": run.killed,
        "open_faults": {"count": run.open_faults, "names": list(run.open_names)},
        "repaired": [dict(data) for data in run.repaired],
        "refused": [dict(data) for data in run.refused],
        "notes": run.notes,
        "steps": [_some(step, _STRETCH) for step in run.steps],
        "waits": [_some(wait, _STRETCH) for wait in run.waits],
        "scenarios": [_scenario(the) for the in run.scenarios],
    }


def _scenario(the: outcome.Scenario) -> dict[str, Any]:
    hypothesis = verdict.outcome_of(the.verdicts).lower() if the.verdicts else None
    return {
        **_some(the, _SCENARIO),
        "outcome": the.result,
        "results": {
            "hypothesis": hypothesis,
            "injection": the.injection or None,
            "restore": the.restore or None,
            "harness": the.harness or None,
        },
        "environment": list(the.environment),
        "checks": [
            {"check": one.check, "judged": str(one.judged), "sentence": one.sentence, "proof": list(one.proof)}
            for one in the.verdicts
        ],
        "phases": [_some(phase, ("name", "from_s", "to_s", "faults")) for phase in the.phases],
        "faults": [dataclasses.asdict(fault) for fault in the.faults],
        "loads": [_load(load) for load in the.loads],
        "waits": [_some(wait, _STRETCH) for wait in the.waits],
        "diagnostics": [what for what, _ in the.diagnostics],
    }


def _load(load: outcome.Load) -> dict[str, Any]:
    p50_s, p99_s, max_s = load.latencies_s() or (None, None, None)
    latencies = {"p50_s": p50_s, "p99_s": p99_s, "max_s": max_s}
    return {**_some(load, _LOAD), "requests": len(load.dots), **latencies}


def _some(thing: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}
