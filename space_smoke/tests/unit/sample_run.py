"""A whole run of the limiter scenario, as its events would read: bring-up, a left-over, four phases, verdicts, the end.

Deterministic. `broken` makes the limiter admit twice its burst, so that a check fails and diagnostics are gathered.
Run as a module it writes journal and reports into a directory, to be looked at.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from space_smoke.checks import judge
from space_smoke.model import history, scenario, verdict
from space_smoke.report import journal, write_all
from space_smoke.tests.unit import histories

ID = "local.rate_limiters_enforce_and_fail_open"
CAPS = "CONCURRENCY_LIMIT=3, BURST=2, REFILL_PER_SECOND=5"
NEW = ("space-api-5d9f7c6b8-k2xqp", "space-api-5d9f7c6b8-w8rtn")
LOST = "store_unavailable"


def limiter_scenario() -> scenario.Scenario:
    api, store = scenario.Target("deployment", "space-api"), scenario.Target("deployment", "space-redis")
    checks: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("token-bucket", {"load": "drain", "burst": 2, "refill_rps": 5.0, "refusals_carry": ["retry-after"]}),
        ("concurrency-cap", {"load": "hold", "limit": 3}),
        ("all-admitted", {"load": "open", "reason": LOST, "added_latency_p99_s": 0.25, "against": "hold"}),
        ("refused-on-each-pod", {"load": "again", "within_s": 5.0}),
        ("decisions-add-up", {"phases": "all"}),
    )
    return scenario.Scenario(
        area="local",
        name="rate_limiters_enforce_and_fail_open",
        claim="With its store up the public API admits exactly its activation budget and its per-client cap; with the"
        " store gone it admits everything and is not slower; with the store back every pod enforces again within five"
        " seconds.",
        labels=("limiter",),
        budget_s=90.0,
        bench=scenario.BenchNeeds(("postgres", "space-redis", "space-api"), {"space-api": 2}),
        faults=(
            scenario.Fault("smoke-caps", "set-env", api, {}, ("enforced", "store-lost", "recovered")),
            scenario.Fault("no-store", "scale", store, {"replicas": 0}, ("store-lost",)),
        ),
        phases=(
            scenario.Phase(
                "enforced", (scenario.Load("drain", "ecw-create", {}), scenario.Load("hold", "ecw-connect", {}))
            ),
            scenario.Phase("store-lost", (scenario.Load("open", "ecw-connect", {}),)),
            scenario.Phase("recovered", (scenario.Load("again", "ecw-connect", {}),)),
        ),
        checks=tuple(scenario.Check(kind, given, f"{kind} {given.get('load', '')}".strip()) for kind, given in checks),
    )


def events(*, broken: bool = False) -> list[history.Event]:
    story, chance = histories.Story(), random.Random(7)
    story.add(
        "run-started", command=f"space_smoke run {ID} --seed 7", argv=["run", ID, "--seed", "7"], version="0.1.0",
        bench="dev", backend="kind", seed=7, run="20261130-031502-a1b2c3", host="bench-1",
        started="2026-11-30T03:15:02+00:00",
    )  # fmt: skip
    _steps(story)
    the = limiter_scenario()
    story.add(
        "scenario-started", story.at_s + 0.1, scenario=the.id, claim=the.claim, seed=7, budget_s=the.budget_s,
        phases=[phase.name for phase in the.phases], checks=[check.label for check in judge.every_check(the)],
    )  # fmt: skip
    story.add(
        "repaired", story.at_s + 0.9, domain="public-api-mutation", kind="scale", target="deployment/space-redis",
        fault="no-store", standing="1 replica", run="20261130-030911-77aa01", holder="5f3c", age_s=341.0,
        proof="its lock is free: no process of that run is left",
    )  # fmt: skip
    _enforced(story, chance, broken)
    _lost(story, chance)
    _recovered(story, chance)
    _fault(story, "fault-restored", "smoke-caps", 6.2)
    story.add("lease-released", domain="public-api-mutation", records=0)
    story.add("open-faults", story.at_s + 0.05, count=0, faults=[])
    verdicts = judge.judge_all(the, story.events)
    for one in verdicts:
        story.add("verdict", check=one.check, judged=str(one.judged), sentence=one.sentence, proof=list(one.proof))
    outcome = verdict.outcome_of(verdicts)
    code = 0 if outcome is verdict.Outcome.PASS else 1
    story.add(
        "scenario-ended", scenario=the.id, outcome=str(outcome), injection="ok", restore="ok", harness="ok",
        seconds=round(story.at_s - 12.6, 2), exit_code=code,
    )  # fmt: skip
    story.add("run-ended", exit_code=code)
    return story.events


def _steps(story: histories.Story) -> None:
    for step, saying, took_s, detail in (
        ("cluster", 'cluster "dev" is there', 0.4, "kind v1.31.4, 3 nodes"),
        ("images", "images onto nodes", 1.9, "4 images, 3 already there"),
        ("services", "postgres, redis and the API", 9.3, "3 releases"),
    ):
        story.add("step-started", step=step, saying=saying)
        if step == "services":
            _wait(story, "deployment/space-api to be rolled out", 8.8, "2 of 2 pods ready, no old pod left")
        story.add("step-ended", story.at_s + took_s * 0.05, step=step, ok=True, seconds=took_s, detail=detail)


def _wait(story: histories.Story, saying: str, took_s: float, last: str, ok: bool = True) -> None:
    story.add("wait-started", saying=saying)
    story.add("wait-ended", story.at_s + took_s, saying=saying, ok=ok, last=last, seconds=took_s)


_FAULTS = {
    "smoke-caps": ("set-env", "deployment/space-api", CAPS, "absent"),
    "no-store": ("scale", "deployment/space-redis", "0 replicas", "1 replica"),
}


def _fault(story: histories.Story, kind: str, name: str, took_s: float) -> None:
    what, target, value, standing = _FAULTS[name]
    told: dict[str, Any] = {"fault": name, "domain": "public-api-mutation", "value": value, "standing": standing}
    told |= {"kind": what, "target": target}
    if kind == "fault-up":
        story.add("fault-planned", **told)
    _wait(story, f"{target} to be rolled out", took_s, "2 of 2 pods ready, no old pod left")
    story.add(kind, story.at_s + 0.05, seconds=took_s + 0.05, **told)


def _spread(request: Mapping[str, Any], chance: random.Random, n: int) -> dict[str, Any]:
    """The same request answered by the pods in turn, a little slower or faster."""
    more_s = abs(chance.gauss(0.0, 0.006))
    moved = {key: request[key] + more_s for key in ("answered_s", "ended_s") if request[key] is not None}
    return {**request, "pod": NEW[n % 2], **moved}


def _enforced(story: histories.Story, chance: random.Random, broken: bool) -> None:
    story.add("phase-started", phase="enforced", faults=["smoke-caps"])
    story.add("lease-acquired", domain="public-api-mutation", fence=12, how="released")
    _fault(story, "fault-up", "smoke-caps", 7.4)
    began_s, tokens, requests = story.at_s + 0.1, 2.0, []
    for n in range(24):
        tokens = min(2.0, tokens + (5.0 / 30 if n else 0.0))
        yes = tokens >= 1.0 or (broken and n < 5)
        tokens -= 1.0 if yes and tokens >= 1.0 else 0.0
        drawn = histories.drawn(began_s + n / 30, yes, limiter_ms=0.8 + chance.random())
        requests.append(_spread(drawn, chance, n))
    story.pods("drain", NEW)
    story.load("drain", requests, phase="enforced")
    story.pods("hold", NEW)
    began_s = story.at_s + 0.2
    burst = [histories.held(began_s + n / 200, 3.0) for n in range(3)]
    burst += [histories.turned_away(began_s + n / 200) for n in range(3, 12)]
    story.load("hold", [_spread(r, chance, n) for n, r in enumerate(burst)], kind="ecw-connect", phase="enforced")
    if broken:
        story.add("diagnostics", what=f"logs of pod {NEW[0]}", text=_LOG)


_LOG = """{"level":"info","msg":"listening","port":8080}
{"level":"warning","msg":"bucket read back <empty>","key":"space:activation"}
{"level":"info","msg":"create","activation":"admitted","trace_id":"4bf92f3577b34da6"}
"""


def _lost(story: histories.Story, chance: random.Random) -> None:
    story.add("phase-ended", phase="enforced", ok=True)
    story.add("phase-started", phase="store-lost", faults=["smoke-caps", "no-store"])
    _fault(story, "fault-up", "no-store", 1.8)
    story.pods("open", NEW)
    began_s, accepted = story.at_s + 0.1, histories.decision("accepted", LOST, client="smoke-b", would_reject=False)
    requests = [
        histories.request("connect", at_s=began_s + n / 10, took_s=0.03 + 0.1 * chance.random() ** 3)
        | {"client": "smoke-b", "concurrency": accepted, "limiter_ms": 5.0}
        for n in range(80)
    ]
    story.load("open", [_spread(r, chance, n) for n, r in enumerate(requests)], kind="ecw-connect", phase="store-lost")
    _fault(story, "fault-restored", "no-store", 2.4)
    story.add("phase-ended", phase="store-lost", ok=True)


def _recovered(story: histories.Story, chance: random.Random) -> None:
    story.add("phase-started", phase="recovered", faults=["smoke-caps"])
    story.pods("again", NEW)
    began_s = story.at_s + 0.1
    burst = [histories.held(began_s + n / 200, 3.0) for n in range(3)]
    burst += [histories.turned_away(began_s + n / 200) for n in range(3, 12)]
    story.load("again", [_spread(r, chance, n) for n, r in enumerate(burst)], kind="ecw-connect", phase="recovered")
    story.add("phase-ended", phase="recovered", ok=True)


def write(directory: Path, told: list[history.Event]) -> None:
    """Journal and reports, as a run leaves them."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / journal.NAME).unlink(missing_ok=True)
    writer = journal.Writer(directory / journal.NAME)
    for event in told:
        writer(event)
    writer.close()
    write_all(directory, told)


if __name__ == "__main__":
    write(Path(sys.argv[1]) / "passed", events())
    write(Path(sys.argv[1]) / "failed", events(broken=True))
    write(Path(sys.argv[1]) / "killed", events()[:120])
