"""Whole runs killed: `space_smoke run NAME` at random steps of its protocol, and the command after it, as a user types them."""

from __future__ import annotations

import json
import random
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from space_smoke import errors
from space_smoke.bench import cache, command, injection, kube
from space_smoke.engine import ground, suite
from space_smoke.engine.drills import score as scoring
from space_smoke.faults import kinds
from space_smoke.model import objects, scenario

_RUN_S = 600.0
_NOT_OURS = (errors.PASSED, errors.FAILED, errors.UNFIT)  # what a whole run finds is not this drill's to judge
_ROUNDS = 3  # a point that a run does not come to is no kill: so many runs per kill that is wanted, and no more


@dataclass(frozen=True, slots=True)
class Killing:
    """`where` are the flags that name the bench, `namespace` where its releases live."""

    scenario: str
    kills: int
    seed: int
    where: Sequence[str]
    namespace: str


def flags(options: suite.Options) -> list[str]:
    """The options that name this bench to another command."""
    kubeconfig = ["--kubeconfig", str(options.kubeconfig)] if options.kubeconfig else []
    context = ["--context", options.context] if options.context else []
    bench = ["--name", options.bench] if options.backend == "kind" else ["--backend", "context", *kubeconfig, *context]
    return [*bench, "--namespace", options.namespace]


def killed_runs(on: ground.Ground, score: scoring.Score, wanted: Killing) -> None:
    """A real run of a scenario is killed at a random step; `space_smoke repair` puts everything right."""
    dice = random.Random(wanted.seed)  # noqa: S311  # the seed repeats a drill
    before = specs(on.cluster, wanted.namespace)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(wanted.kills * _ROUNDS):
            if score.kills >= wanted.kills:
                break
            point = f"{dice.choice(scoring.POINTS)}:{dice.choice((1, 1, 2, 3))}"
            ended = _command(["run", wanted.scenario, "--runs", f"{folder}/{number}"], wanted, f"kill:{point}")
            if ended.code == -signal.SIGKILL:
                score.kills += 1
                score.reached[point.rpartition(":")[0]] += 1
            elif ended.code not in (
                errors.PASSED,
                errors.FAILED,
            ):  # what the scenario finds is not this drill's to judge
                score.problems.append(
                    f"a run that was not killed at {point} ended with {ended.code}: {ended.err[-300:]}"
                )
            repaired = _command(["repair"], wanted)
            score.must(repaired.code == 0, f"repair after {point} ended with {repaired.code}: {repaired.err[-300:]}")
            _judge(on, score, wanted, before, f"{wanted.scenario} killed at {point}")
            score.problems += on.audited()
            on.emit(
                "note",
                sentence=f"{score.kills} of {wanted.kills} kills in {score.cycles} runs, the last at {point} "
                f"({'killed' if ended.code < 0 else f'not reached, exit {ended.code}'}), {len(score.problems)} problems",
            )
    score.must(score.kills >= wanted.kills, f"only {score.kills} of {wanted.kills} kills in {score.cycles} runs")


def specs(cluster: kube.Kube, namespace: str) -> Mapping[str, Any]:
    """The spec of everything that a fault can have for its target, by name."""
    found = {}
    for word, (api_version, kind) in kinds.TARGETS.items():
        try:
            listed = cluster.listed(api_version, kind, "" if word in scenario.CLUSTER_WIDE else namespace)
        except errors.ApiError as error:
            if error.status != 404:  # the cluster has no such kind
                raise
            continue
        for thing in listed:
            found[str(objects.ref_of(thing))] = thing.get("spec")
    return found


def _judge(on: ground.Ground, score: scoring.Score, wanted: Killing, before: Mapping[str, Any], what: str) -> None:
    """By a fresh read: nothing on record, nobody at the Leases, every spec as it was."""
    score.cycles += 1
    shown = _command(["status", "--json"], wanted)
    score.must(shown.code == 0, f"{what}: status ended with {shown.code}: {shown.err[-300:]}")
    for domain in json.loads(shown.out)["domains"] if shown.code == 0 else ():
        score.must(not domain["faults"], f"{what}: faults are left: {domain['faults']}")
        score.must(not domain["holder"], f"{what}: the Lease of {domain['domain']} is held by {domain['holder']}")
    after = specs(on.cluster, wanted.namespace)
    for name in sorted({*before, *after}):
        score.must(before.get(name) == after.get(name), f"{what}: {name} is not as it was")


def _command(arguments: Sequence[str], wanted: Killing, inject: str = "") -> command.Ended:
    started = command.Command([*arguments, *wanted.where], {injection.VARIABLE: inject}, cwd=cache.PROJECT)
    return started.end(_RUN_S)
