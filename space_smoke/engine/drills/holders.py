"""Who holds the Lease: runners that were replaced, that live, that left a child, whose clock is wrong; Leases that vanish."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from datetime import UTC, datetime

from space_smoke import errors
from space_smoke.bench import injection, kube
from space_smoke.engine import drilling, ground
from space_smoke.engine.drills import score as scoring
from space_smoke.model import objects

_GONE_S = 10.0
_JUMP_S = 3600.0


def stale_runner(on: ground.Ground, score: scoring.Score) -> None:
    """A runner stopped before each of its writes, replaced after its Lease ran out, and resumed: it writes nothing."""
    for step in ("stamp", "renew", "inject", "mark-up", "restoring", "restore", "clear", "release"):
        stale = on.start("cycle", f"stop:{step}:before:1")
        if not stale.stopped(60):
            score.problems.append(f"a runner ended before it reached {step}")
            on.finish(stale)
            continue
        score.reached[f"{step}:stopped"] += 1
        on.backdate(7200)
        successor = on.held()
        before = on.snapshot()
        stale.send(signal.SIGCONT)
        ended = on.finish(stale)
        # Before its release everything of its own was put back and verified: then there is nothing left to lose.
        fine = (errors.LOST, errors.PASSED) if step == "release" else (errors.LOST,)
        score.must(ended.code in fine, f"the stale runner at {step} ended with {ended.code}, not {errors.LOST}")
        score.must(on.snapshot() == before, f"the stale runner at {step} changed what its successor holds")
        scoring.end(on, successor)
        score.ended_well(on.go("repair"), f"the repair after the successor of {step}")
        score.judge(on, f"stale at {step}")


def live_holder(on: ground.Ground, score: scoring.Score) -> None:
    """A live holder with its faults up, also a stopped one, is refused with 2, and nothing is written."""
    for pause in (False, True):
        holder = on.held("hold-pods")
        if pause:
            holder.send(signal.SIGSTOP)
        _refused(on, score, "beside a live holder")
        scoring.end(on, holder)
        score.ended_well(on.go("repair"), "the repair after the holder's death")
        score.judge(on, "live holder")


def orphaned_child(on: ground.Ground, score: scoring.Score) -> None:
    """The runner is killed while a program that it started lives on: it counts as alive until that one is gone too."""
    holder = on.start("orphan")
    pid = next((event["pid"] for event in holder.events() if event.get("sentence") == "orphan"), 0)
    if not pid:
        score.problems.append(f"the runner left no child: {on.finish(holder).stderr[-300:]}")
        return
    child = os.pidfd_open(pid)
    try:
        scoring.end(on, holder)
        score.must(not select.select([child], (), (), 0)[0], "the child did not outlive its runner")
        score.reached["orphan:left"] += 1
        _refused(on, score, "beside a dead runner's child")
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child, signal.SIGKILL)
        ended, _, _ = select.select([child], (), (), _GONE_S)
        os.close(child)
    score.must(bool(ended), f"the child was still there {_GONE_S:.0f} s after SIGKILL")
    score.ended_well(on.go("repair"), "the repair after the child's end")
    score.judge(on, "orphaned child")


def clock_jump(on: ground.Ground, score: scoring.Score) -> None:
    """The wall clocks of holder and successor are an hour off, either way: who lives and who is dead does not change."""
    for shift in (_JUMP_S, -_JUMP_S):
        theirs, ours = ({injection.WALL: str(seconds)} for seconds in (shift, -shift))
        holder = on.held(env=theirs)
        written = datetime.fromisoformat(str(objects.dig(on.lease().thing, "spec", "renewTime")))
        off_s = (written - datetime.now(UTC)).total_seconds()
        score.must(
            abs(off_s - shift) < _JUMP_S / 2, f"the Lease says {written}, so the clock did not jump by {shift} s"
        )
        score.reached[f"clock:{shift:+.0f}s"] += 1
        _refused(on, score, f"with a renewal {shift:+.0f} s away", env=ours)
        scoring.end(on, holder)
        score.ended_well(on.go("repair", env=ours), f"the repair of a holder whose clock was {shift:+.0f} s off")
        score.judge(on, f"clock {shift:+.0f} s")


def lease_deleted(on: ground.Ground, score: scoring.Score) -> None:
    """The Lease is deleted under two faults: the copies on the targets are enough, and the fence only grows."""
    fence = on.lease().fence
    scoring.end(on, on.held())
    finalizers = {"metadata": {"finalizers": None}}
    on.cluster.send("PATCH", kube.path_of(ground.LEASE), body=finalizers, content="application/merge-patch+json")
    on.cluster.delete(ground.LEASE)
    score.ended_well(on.go("repair"), "the repair without a Lease")
    score.judge(on, "Lease deleted")
    score.must(on.lease().fence > fence, "the new Lease's fence is not above the old one's")


def target_recreated(on: ground.Ground, score: scoring.Score) -> None:
    """A target is deleted and made anew while its fault is up: the fault went with it."""
    scoring.end(on, on.held("hold-pods"))
    on.cluster.delete(ground.SCALE)
    on.cluster.create(ground.manifest(ground.SCALE.name, ground.REPLICAS[ground.SCALE]))
    score.ended_well(on.go("repair"), "the repair after the target was made anew")
    on.standing[ground.SCALE] = on.cluster.read(ground.SCALE)["spec"]
    score.judge(on, "target recreated")


def two_successors(on: ground.Ground, score: scoring.Score) -> None:
    """Two commands find the same dead run at once: one repairs, the other is refused or finds nothing left."""
    for _ in range(3):
        scoring.end(on, on.held())
        pair = [on.start("repair"), on.start("repair")]
        codes = sorted(on.finish(child).code for child in pair)
        score.must(codes[0] == 0 and codes[1] in (0, errors.REFUSED), f"two successors ended with {codes}")
        score.judge(on, "two successors")


def restore_fails(on: ground.Ground, score: scoring.Score) -> None:
    """The API server refuses the restore once, twice, always: kept on record until it goes through."""
    for times, code in (("1", 0), ("1+", errors.INCOMPLETE)):
        ended = on.go("cycle", f"fail:restore:before:{times}")
        said = f"with the restore refused {times} times the run ended with {ended.code}, not {code}"
        score.must(ended.code == code, said)
        score.ended_well(on.go("repair"), f"the repair after {times} refusals")
        score.judge(on, f"restore refused {times} times")


def _refused(on: ground.Ground, score: scoring.Score, where: str, env: dict[str, str] | None = None) -> None:
    before = on.snapshot()
    ended = on.go("repair", env=env)
    score.must(ended.code == errors.REFUSED, f"{where} repair ended with {ended.code}, not {errors.REFUSED}")
    score.must(on.snapshot() == before, f"something was written {where} in {drilling.DOMAIN}")
