"""Runs that end badly: killed, stopped, interrupted. The next command puts the bench back."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from space_smoke.bench import kube
from space_smoke.tests.kind import conftest


def test_a_run_killed_with_redis_at_zero_is_put_right_by_the_next_run(
    start: conftest.Start, command: conftest.Command, cluster: kube.Kube
) -> None:
    killed = start("run", conftest.LIMITER)
    killed.until(conftest.fault_up("no-store"))
    killed.send(signal.SIGKILL)
    assert killed.end().code == -signal.SIGKILL
    assert cluster.read(conftest.REDIS)["spec"]["replicas"] == 0, "the fault should still be up"

    seen = json.loads(command("status", "--json").out)
    domain = next(item for item in seen["domains"] if item["domain"] == conftest.LEASE.name)
    assert domain["life"] == "dead", domain
    assert sorted(fault["fault"] for fault in domain["faults"]) == ["no-store", "smoke-caps"]
    assert {fault["now"] for fault in domain["faults"]} == {"fault value"}

    told = command("report", str(next(killed.runs.iterdir())))
    assert told.code == 0, told.shown
    assert "no-store" in told.out

    after = command("run", "ecw.sandbox_info")
    assert after.code == 0, after.shown
    repaired = [line for line in after.out.splitlines() if "REPAIRED:" in line]
    assert len(repaired) == 2, after.shown
    assert "space-redis" in repaired[0]
    assert "space-api" in repaired[1]


def test_a_live_holder_with_a_fault_up_is_refused_and_nothing_is_written(
    start: conftest.Start, command: conftest.Command, cluster: kube.Kube
) -> None:
    holder = start("run", conftest.LIMITER)
    holder.until(conftest.fault_up("no-store"))
    holder.send(signal.SIGSTOP)  # a stopped process is alive; it also keeps its own renewals out of the comparison
    before = [cluster.read(ref) for ref in (conftest.LEASE, conftest.API, conftest.REDIS)]
    other = command("run", "ecw.sandbox_info")
    after = [cluster.read(ref) for ref in (conftest.LEASE, conftest.API, conftest.REDIS)]
    assert other.code == 2, other.shown
    assert "no-store" in other.out + other.err
    assert json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)

    holder.send(signal.SIGCONT)
    holder.send(signal.SIGINT)
    ended = holder.end()
    assert ended.code == 1, ended.shown  # interrupted: not judged, and put back
    assert "0 open faults" in ended.out.splitlines()[-1], ended.shown


@pytest.mark.parametrize("text", ['{"schema": 2, "id": "later"}', "{not json"], ids=["newer schema", "not JSON"])
def test_a_record_that_cannot_be_read_is_named_and_never_cleared(
    command: conftest.Command, cluster: kube.Kube, text: str
) -> None:
    assert command("run", "ecw.sandbox_info").code == 0  # also makes sure that the namespace is there
    key = "space-smoke.dev/record.later"
    path = kube.path_of(conftest.LEASE)
    if conftest.lease_of(cluster) is None:
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": conftest.LEASE.name}}
        body["metadata"] |= {"namespace": "space-smoke", "labels": {"space-smoke.dev/fault-lease": "true"}}  # type: ignore[operator]
        cluster.create(body)
    merge = "application/merge-patch+json"
    cluster.send("PATCH", path, body={"metadata": {"annotations": {key: text}}}, content=merge)
    try:
        for verb in (("run", "ecw.sandbox_info"), ("repair",)):
            refused = command(*verb)
            assert refused.code == 2, refused.shown
            assert key in refused.out + refused.err
        assert conftest.records(cluster.read(conftest.LEASE)) == {key: text}
    finally:
        cluster.send("PATCH", path, body={"metadata": {"annotations": {key: None}}}, content=merge)


def test_a_target_that_matches_nothing_is_refused_with_its_place(command: conftest.Command, tmp_path: Path) -> None:
    folder = tmp_path / "scenarios" / "local"
    folder.mkdir(parents=True)
    text = (conftest.PROJECT / "scenarios/local/rate_limiters_enforce_and_fail_open.yaml").read_text()
    (folder / "rate_limiters_enforce_and_fail_open.yaml").write_text(
        text.replace("deployment/space-redis", "deployment/space-reddis")
    )
    ended = command("run", conftest.LIMITER, "--scenarios", str(folder.parent))
    assert ended.code == 64, ended.shown
    told = " ".join((ended.out + ended.err).split())  # the console wraps long sentences
    assert "no-store: target deployment/space-reddis matches nothing" in told
    assert "did you mean deployment/space-redis" in told
