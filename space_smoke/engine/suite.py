"""Several scenarios on one bench: opens the bench, runs one after the other, counts, and never ends quietly short."""

from __future__ import annotations

import dataclasses
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import space_smoke
from space_smoke import errors
from space_smoke.bench import kube, life, register, releases
from space_smoke.engine import gate, scene, tenure
from space_smoke.engine import run as running
from space_smoke.lease import view
from space_smoke.model import history, run, scenario, verdict


@dataclass(frozen=True, slots=True)
class Options:
    """`backend` kind: the bench `bench` of ours, brought up when it is not; context: a cluster of the user's. `rest_s`: for
    how long the pods of young ReplicaSets must have been Ready before anything is judged; another than the rule's is told.
    `extras`: the optional releases that a kind bench must have."""

    bench: str = "space-smoke"
    backend: str = "kind"
    context: str | None = None
    kubeconfig: Path | None = None
    namespace: str = scene.NAMESPACE
    seed: int = 0
    fail_fast: bool = False
    rest_s: float = gate.READY_S
    command: str = ""
    extras: frozenset[str] = frozenset()


@dataclass(slots=True)
class Opened:
    """A command's hold on a bench: its History, its lock (so that its death can be proven), its Leases, and the health gate
    that it passes once."""

    run: str
    past: history.History
    scene: scene.Scene
    leases: tenure.Tenure
    lock: life.Lock = field(repr=False)
    quiet: gate.Gate = field(repr=False)


def new_run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def run_all(
    scenarios: Sequence[scenario.Scenario],
    options: Options,
    listeners: Sequence[Callable[[history.Event], None]],
    run_id: str,
) -> tuple[list[run.Result], int]:
    """Runs the scenarios in order. Returns the results and the exit code, which is never 0 unless all were judged."""
    past, started = _history(listeners), time.time()
    past.emit(
        "run-started",
        command=options.command or "space_smoke " + " ".join(sys.argv[1:]),
        argv=sys.argv[1:],
        version=space_smoke.__version__,
        bench=_named(options),
        backend=options.backend,
        seed=options.seed,
        run=run_id,
        host=socket.gethostname(),
        pid=os.getpid(),
        started=datetime.now(UTC).isoformat(),
    )
    results: list[run.Result] = []
    codes: list[int] = []
    try:
        needed = releases.asked_by({name for the in scenarios for name in the.bench.charts})
        opened = open_bench(dataclasses.replace(options, extras=needed), past, run_id, started)
        for the in scenarios:
            result = _one(the, opened)
            results.append(result)
            codes.append(result.exit_code)
            ends_suite = set(result.codes) & {errors.REFUSED, errors.INCOMPLETE, errors.LOST, errors.BROKE}
            if ends_suite or (options.fail_fast and result.exit_code) or result.harness.startswith("interrupted"):
                break
    except errors.SpaceSmokeError as error:
        codes.append(error.exit_code)
        past.emit("note", sentence=str(error))
    for the in scenarios[len(results) :]:
        skipped = run.Result(the.id, the.claim, verdict.Outcome.SKIPPED, harness="the run ended before it")
        past.emit(
            "scenario-ended", scenario=the.id, outcome="SKIPPED", harness=skipped.harness, seconds=0.0, exit_code=1
        )
        results.append(skipped)
    code = errors.worst(codes)
    if code == errors.PASSED and any(result.outcome is verdict.Outcome.SKIPPED for result in results):
        code = errors.FAILED  # fewer results than selected is never a pass
    if not scenarios:
        code = errors.USAGE
    past.emit("run-ended", exit_code=code)
    return results, code


def open_bench(options: Options, past: history.History, run_id: str, began_wall_s: float | None = None) -> Opened:
    """Connects to the bench; brings a kind bench up when it is not. Raises BenchError."""
    cluster = _cluster(options, past)
    ensure_namespace(cluster)
    lock = life.Lock(run_id)
    began = time.time() - past.clock() if began_wall_s is None else began_wall_s
    return _opened(cluster, options, past, run_id, lock, began)


def _opened(
    cluster: kube.Kube, options: Options, past: history.History, run_id: str, lock: life.Lock, began_wall_s: float
) -> Opened:
    on = scene.Scene(
        cluster, options.namespace, past.emit, past.clock, began_wall_s, options.seed, lambda: tuple(past.events)
    )
    leases = tenure.Tenure(cluster, options.namespace, run_id, lock, past.emit)
    return Opened(
        run_id, past, on, leases, lock, gate.Gate(cluster, options.namespace, past.emit, rest_s=options.rest_s)
    )


@contextmanager
def looking(options: Options) -> Iterator[Opened]:
    """A bench for status and repair: it is not brought up, and nothing is told but what the caller listens to."""
    past = _history(())
    cluster = _cluster(options, past, bring_up=False)
    run_id = new_run_id()
    yield _opened(cluster, options, past, run_id, life.Lock(run_id), time.time())


def kubeconfig_of(options: Options) -> Path:
    """The file that opens this bench; for a context without a file, kubectl's own default."""
    if options.backend == "kind":
        return register.kubeconfig(options.bench)
    return options.kubeconfig or Path(os.environ.get("KUBECONFIG", "").split(":")[0] or Path.home() / ".kube/config")


def ensure_namespace(cluster: kube.Kube) -> None:
    """The Leases' namespace, made where it is missing; somebody else making it at the same time is fine."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": view.NAMESPACE}}
    status, answer = cluster.send("GET", f"/api/v1/namespaces/{view.NAMESPACE}")
    if status == 404:
        status, answer = cluster.send("POST", "/api/v1/namespaces", body=body)
    if status >= 300 and status != 409:
        raise errors.ApiError(f"namespace {view.NAMESPACE}: {answer.get('message', '')}", status=status)


def _named(options: Options) -> str:
    if options.backend == "kind":
        return options.bench
    return options.context or str(options.kubeconfig or "current context")


def _history(listeners: Sequence[Callable[[history.Event], None]]) -> history.History:
    began = time.monotonic()
    return history.History(lambda: time.monotonic() - began, listeners)


def _cluster(options: Options, past: history.History, *, bring_up: bool = True) -> kube.Kube:
    if options.backend == "context":
        return kube.Kube(options.kubeconfig, options.context)
    entry = register.read(options.bench)
    ready = entry is not None and entry.state == register.READY and _answers(options.bench)
    if not ready and not bring_up:
        raise errors.BenchError(f"bench {options.bench} is not up", next_step="space_smoke up")
    if not ready or entry is None or releases.lacking(options.extras, entry.releases):
        from space_smoke.engine import up  # with all that builds benches, which a bench that is up does not need

        up.up(up.UpOptions(name=options.bench, extras=tuple(sorted(options.extras))), past.tell)
    return kube.Kube(register.kubeconfig(options.bench))


def _answers(bench: str) -> bool:
    try:
        status, _ = kube.Kube(register.kubeconfig(bench)).send("GET", "/readyz", timeout_s=5)
    except errors.BenchError:
        return False
    return status == 200


def _one(the: scenario.Scenario, opened: Opened) -> run.Result:
    """A scenario's result, also when it was refused, could not be repaired for, or the harness broke."""
    began_s = opened.past.clock()
    try:
        return running.run_scenario(the, opened.scene, opened.leases, opened.past, opened.quiet)
    except errors.SpaceSmokeError as error:
        code, sentence = error.exit_code, str(error)
    except KeyboardInterrupt:
        code, sentence = errors.FAILED, "interrupted: Ctrl-C"
    except Exception as error:
        code, sentence = errors.BROKE, f"{type(error).__name__}: {error}"
    seconds = round(opened.past.clock() - began_s, 3)
    outcome = verdict.Outcome.UNKNOWN
    # An incomplete repair is the restore's result; everything else that ends a scenario early is the harness's.
    restore, harness = (sentence, run.OK) if code == errors.INCOMPLETE else (run.OK, sentence)
    opened.past.emit(
        "scenario-ended",
        scenario=the.id,
        outcome=str(outcome),
        injection=run.OK,
        restore=restore,
        harness=harness,
        environment=[],
        seconds=seconds,
        exit_code=code,
    )
    return run.Result(the.id, the.claim, outcome, restore=restore, harness=harness, seconds=seconds, codes=(code,))
