"""Giving up a record, status after somebody wiped one, and the API server's own comparison of fences (kind/admission)."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from space_smoke.bench import kube, proc, wait
from space_smoke.bench.outside import fence_note, helm_identity, helm_storage
from space_smoke.engine import preflight, tenure
from space_smoke.model import fence, objects, scenario
from space_smoke.tests.kind import conftest, killing, test_pod_and_helm_faults

DOMAIN = "public-api-mutation"
MERGE = "application/merge-patch+json"
FENCE = fence.key(DOMAIN)
SCALE = scenario.Fault("none", "scale", scenario.Target("deployment", "space-redis"), {"replicas": 0}, ())
MANIFEST = conftest.PROJECT / "kind/admission/fence.yaml"
_COLLECTIONS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def patched(cluster: kube.Kube, ref: objects.Ref, body: dict[str, Any]) -> tuple[int, str]:
    status, answer = cluster.send("PATCH", kube.path_of(ref), body=body, content=MERGE)
    return status, str(answer.get("message", ""))


# -- giving up


def test_a_record_that_cannot_be_put_back_is_given_up_by_its_id_and_leaves_a_trace(
    command: conftest.Command, cluster: kube.Kube
) -> None:
    killing.killed(cluster, SCALE, "mark-up:after")
    patched(cluster, conftest.REDIS, {"spec": {"replicas": 2}})
    try:
        refused = command("repair")
        assert refused.code == 3, refused.shown
        (fault,) = json.loads(command("status", "--json").out)["domains"][0]["faults"]
        assert fault["now"].startswith("drifted"), fault

        unknown = command("repair", "--abandon", "nonsense")
        assert unknown.code == 64, unknown.shown
        assert fault["id"] in unknown.err

        ended = command("repair", "--abandon", fault["id"], "--json")
        assert ended.code == 0, ended.shown
        told = json.loads(ended.out)
        assert (told["abandoned"], told["open_faults"]) == (True, [])
        assert cluster.read(conftest.REDIS)["spec"]["replicas"] == 2
        for ref in (conftest.LEASE, conftest.REDIS):
            assert not conftest.records(cluster.read(ref))
        notes = objects.annotations_of(cluster.read(conftest.LEASE))
        note = json.loads(notes[f"space-smoke.dev/abandoned.{fault['id']}"])
        assert (note["standing"], note["holds"]) == ({"replicas": 1}, "2 replicas")
        seen = [e for e in cluster.listed("v1", "Event", "space-smoke") if e["reason"] == "FaultAbandoned"]
        assert any(fault["id"] in event["message"] for event in seen)
    finally:
        patched(cluster, conftest.REDIS, {"spec": {"replicas": 1}})
        wait.rollout(cluster, conftest.REDIS, timeout_s=90)


def test_a_record_that_cannot_be_read_is_given_up_by_the_id_in_its_key(
    command: conftest.Command, cluster: kube.Kube
) -> None:
    assert command("repair").code == 0
    key = "space-smoke.dev/record.later"
    patched(cluster, conftest.LEASE, {"metadata": {"annotations": {key: '{"schema": 2}'}}})
    try:
        refused = command("repair")
        assert refused.code == 2, refused.shown
        assert "--abandon" in refused.err
        ended = command("repair", "--abandon", "later")
        assert ended.code == 0, ended.shown
        assert "ABANDONED" in ended.out
        assert command("repair").code == 0
    finally:
        patched(cluster, conftest.LEASE, {"metadata": {"annotations": {key: None}}})


def test_status_and_repair_find_a_record_that_was_wiped_from_the_lease(
    command: conftest.Command, cluster: kube.Kube
) -> None:
    killing.killed(cluster, SCALE, "mark-up:after")
    wiped = dict.fromkeys(conftest.records(cluster.read(conftest.LEASE)))
    patched(cluster, conftest.LEASE, {"metadata": {"annotations": wiped}})
    seen = json.loads(command("status", "--json").out)
    assert [fault["fault"] for domain in seen["domains"] for fault in domain["faults"]] == ["none"]
    repaired = command("repair", "--json")
    assert repaired.code == 0, repaired.shown
    assert json.loads(repaired.out)["repaired"] == 1
    assert cluster.read(conftest.REDIS)["spec"]["replicas"] == 1


# -- the policy


@pytest.fixture(scope="module")
def policy(cluster: kube.Kube) -> Iterator[None]:
    """kind/admission applied, and in force. What speaks of every writer is removed at the end; what speaks only of those that
    bear a fence stays, because an API server does not read the Leases again once it was unbound (the manifest says more)."""
    parts = list(yaml.safe_load_all(MANIFEST.read_text()))
    for body in parts:
        status, answer = cluster.send("POST", path(body), body=body)
        assert status in (201, 409), answer
    try:
        canary = {"metadata": {"annotations": {"space-smoke.dev/fence.canary": "7"}}}
        assert patched(cluster, conftest.REDIS, canary)[0] == 200
        lower = {"metadata": {"annotations": {"space-smoke.dev/fence.canary": "6"}}}

        def look() -> wait.State:  # the API server learns of a policy with some delay
            patched(cluster, conftest.REDIS, canary)
            status, words = patched(cluster, conftest.REDIS, lower)
            return wait.State(status in (403, 422), f"{status}: {words}")

        wait.until(cluster, "the policy to be in force", look, watching=[], timeout_s=30)
        yield
    finally:
        for body in (part for part in parts if part["metadata"]["name"] == helm_identity.POLICY):
            cluster.send("DELETE", f"{path(body)}/{body['metadata']['name']}")

        def removed() -> wait.State:
            done = patched(
                cluster, conftest.REDIS, {"metadata": {"annotations": {"space-smoke.dev/fence.canary": None}}}
            )
            return wait.State(done[0] == 200, str(done))

        wait.until(cluster, "the policy to be gone", removed, watching=[], timeout_s=30)


def path(body: dict[str, Any]) -> str:
    return f"/apis/admissionregistration.k8s.io/v1/{_COLLECTIONS[body['kind']]}"


@pytest.fixture
def fenced(cluster: kube.Kube, policy: None) -> int:
    """The fence that space-api carries after a run has been there."""
    leases = tenure.Tenure(cluster, "space", "kind-test-policy", None, lambda *_a, **_k: None)
    preflight.preflight(leases, lambda *_a, **_k: None, free=True)
    leases.take([DOMAIN])
    leases.raise_fault(
        scenario.Fault("s", "set-env", scenario.Target("deployment", "space-redis"), {"env": {"X": "1"}}, ())
    )
    assert not leases.give_back()
    return int(objects.annotations_of(cluster.read(conftest.REDIS))[FENCE])


@pytest.mark.usefixtures("policy")
def test_the_policies_have_no_mistakes_of_type(cluster: kube.Kube) -> None:
    for name in ("space-smoke-fence", "space-smoke-fenced-writer"):
        base = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

        def checked(name: str = name, base: str = base) -> wait.State:
            _, thing = cluster.send("GET", f"{base}/{name}")
            status = thing.get("status") or {}
            seen = status.get("observedGeneration") == thing["metadata"]["generation"]
            return wait.State(seen, json.dumps(status), thing=thing)

        state = wait.until(cluster, "the policy to be checked", checked, watching=[], timeout_s=30)
        assert state.thing is not None
        assert not (state.thing["status"].get("typeChecking") or {}).get("expressionWarnings"), state.words


@pytest.mark.parametrize("value", ["0", None, "none"], ids=["lowered", "removed", "not a number"])
def test_a_write_that_lowers_a_fence_is_denied_and_any_other_is_not(
    cluster: kube.Kube, fenced: int, value: str | None
) -> None:
    status, words = patched(cluster, conftest.REDIS, {"metadata": {"annotations": {FENCE: value}}})
    assert status in (403, 422), words
    assert "would be lowered or removed" in words
    assert patched(cluster, conftest.REDIS, {"metadata": {"annotations": {FENCE: str(fenced), "a/b": "c"}}})[0] == 200
    assert patched(cluster, conftest.REDIS, {"metadata": {"annotations": {"a/b": None}}})[0] == 200


def test_taking_the_label_off_in_the_same_write_does_not_get_past(cluster: kube.Kube, fenced: int) -> None:
    change = {"metadata": {"labels": {"space-smoke.dev/fenced": None}, "annotations": {FENCE: "0"}}}
    assert patched(cluster, conftest.REDIS, change)[0] in (403, 422)


def test_a_helm_child_that_starts_too_late_is_denied_its_first_write(
    cluster: kube.Kube, fenced: int, tmp_path: Path
) -> None:
    before = test_pod_and_helm_faults.last(cluster)
    past = helm_identity.write(cluster, DOMAIN, fenced - 1, tmp_path / "past")
    refused = proc.run(upgrade(past, "drainSeconds=4", "--no-hooks"), timeout_s=60, check=False)
    assert refused.returncode != 0
    assert "this writer is of the past" in refused.stderr, (
        f"{refused.stderr}\n(a bench where it was ever unbound: remake it)"
    )
    assert test_pod_and_helm_faults.last(cluster).number == before.number


def test_a_helm_child_that_was_stopped_is_denied_the_workload_when_it_goes_on_after_a_claim(
    cluster: kube.Kube, fenced: int, tmp_path: Path
) -> None:
    before = cluster.read(conftest.API)["spec"]
    history = helm_storage.revisions(cluster, "space", "space-api")
    (revision,) = [one.number for one in history if one.deployed]
    # As the protocol stamps a target.
    fence_note.raised(cluster, conftest.API, DOMAIN, fenced, 10)
    assert patched(cluster, conftest.API, {"metadata": {"labels": {"space-smoke.dev/fenced": "true"}}})[0] == 200
    mine = helm_identity.write(cluster, DOMAIN, fenced, tmp_path / "mine")
    # Its hook, a Job, keeps it between its new revision and its first write to the Deployment.
    child = subprocess.Popen(upgrade(mine, "drainSeconds=4"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while test_pod_and_helm_faults.last(cluster).status != "pending-upgrade":
            assert child.poll() is None, child.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        child.send_signal(signal.SIGSTOP)
        assert cluster.read(conftest.API)["spec"] == before, "Helm was not stopped in time"
        fence_note.raised(cluster, conftest.API, DOMAIN, fenced + 1, 10)
        child.send_signal(signal.SIGCONT)
        _, said = child.communicate(timeout=120)
        assert child.returncode != 0
        assert "was fenced off from this writer by a successor" in said, said
        assert cluster.read(conftest.API)["spec"] == before
    finally:
        child.kill()
        helm = str(test_pod_and_helm_faults.helm_of())
        where = ["--namespace", "space", "--kubeconfig", str(cluster.kubeconfig), "--no-hooks"]
        proc.run([helm, "rollback", "space-api", str(revision), *where], timeout_s=60)
        wait.rollout(cluster, conftest.API, timeout_s=90)


def upgrade(kubeconfig: Path, value: str, *flags: str) -> list[str]:
    helm, chart = str(test_pod_and_helm_faults.helm_of()), str(conftest.PROJECT / "charts/space-api")
    argv = [helm, "upgrade", "space-api", chart, "--reuse-values", "--set", value, *flags]
    return [*argv, "--namespace", "space", "--kubeconfig", str(kubeconfig)]


@pytest.mark.usefixtures("policy")
def test_a_normal_run_with_every_kind_of_ours_passes_under_the_policy(cluster: kube.Kube) -> None:
    assert helm_identity.guarded(cluster)
    leases = tenure.Tenure(cluster, "space", "kind-test-policy", None, lambda *_a, **_k: None)
    preflight.preflight(leases, lambda *_a, **_k: None, free=True)
    leases.take([DOMAIN])
    try:
        for fault in (SCALE, test_pod_and_helm_faults.UPGRADE, test_pod_and_helm_faults.API_POD):
            leases.raise_fault(fault)
            leases.lower_fault(fault)
    finally:
        assert not leases.give_back()


@pytest.mark.usefixtures("policy")
def test_the_controllers_and_the_scale_subresource_are_not_affected(cluster: kube.Kube) -> None:
    for count in (2, 1):
        body = {"spec": {"replicas": count}}
        status, answer = cluster.send("PATCH", f"{kube.path_of(conftest.REDIS)}/scale", body=body, content=MERGE)
        assert status == 200, answer
        wait.rollout(cluster, conftest.REDIS, timeout_s=90)
