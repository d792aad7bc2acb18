"""A write that is under way when its sender is replaced: it is held by a proxy and delivered to the API server afterwards.

Nothing of ours can stop it then: only the tests inside the patch, evaluated by the API server, can.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

from space_smoke import errors
from space_smoke.bench import holding_proxy, runner
from space_smoke.engine import ground
from space_smoke.engine.drills import score as scoring

_ARRIVES_S = 60.0
_REFUSED = (404, 409, 422)
STEPS = ("acquire", "stamp", "record", "renew", "inject", "mark-up", "restoring", "restore", "clear", "release")


def held_request(on: ground.Ground, score: scoring.Score) -> None:
    """Each write of a run is held on its way; its sender is killed or its Lease runs out, a successor repairs or raises faults
    of its own; then the write arrives: the API server refuses it, and nothing changes."""
    with tempfile.TemporaryDirectory() as folder:
        proxy = holding_proxy.Proxy(on.cluster, Path(folder))
        try:
            for step in STEPS:
                for case in (_sender_killed, _sender_stale):
                    _one(on, score, proxy, step, case)
        finally:
            proxy.close()


Case = Callable[[ground.Ground, scoring.Score, runner.Runner, str], "runner.Runner | None"]


def _one(on: ground.Ground, score: scoring.Score, proxy: holding_proxy.Proxy, step: str, case: Case) -> None:
    held = proxy.hold(step)
    sender = on.start("cycle", kubeconfig=proxy.kubeconfig)
    if not held.arrived.wait(_ARRIVES_S):
        sender.send(signal.SIGKILL)
        said = [event.get("sentence") or event["event"] for event in on.finish(sender).events]
        raise errors.BenchError(f"no write for {step} came to the proxy in {_ARRIVES_S:.0f} s; its sender told: {said}")
    score.reached[f"{step}:held"] += 1
    successor = case(on, score, sender, step)
    before = on.snapshot()
    status = held.deliver()
    score.must(status in _REFUSED, f"the held write for {step} was answered {status}: {held.answer[:200]}")
    score.must(on.snapshot() == before, f"the held write for {step} changed something")
    on_record = on.replay.refused[step]
    score.problems += on.audited()
    if on.bench:
        score.must(on.replay.refused[step] > on_record, f"the audit log has no refused write for {step}")
    for child in (sender, successor):
        if child is not None and child in on.started:
            scoring.end(on, child)
    score.ended_well(on.go("repair"), f"the repair after the held write for {step}")
    score.judge(on, f"{step} held, {case.__name__.strip('_').replace('_', ' ')}")


def _sender_killed(on: ground.Ground, score: scoring.Score, sender: runner.Runner, step: str) -> None:
    """The successor is gone when the write arrives. A dead run that has not taken the Lease leaves nothing to repair, and its
    late acquisition harms nobody: so there the successor is a whole run, after which it must be refused."""
    scoring.end(on, sender)
    score.ended_well(on.go("cycle" if step == "acquire" else "repair"), "the successor of a killed sender")


def _sender_stale(on: ground.Ground, _score: scoring.Score, _sender: runner.Runner, step: str) -> runner.Runner:
    """The sender lives; the successor has the same faults up itself when the write arrives."""
    if step != "acquire":
        on.backdate(7200)
    return on.held()
