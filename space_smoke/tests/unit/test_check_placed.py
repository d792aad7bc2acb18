"""The checks `placed` and `pending`, which judge where pods are."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN
GROUPS = {"dev-worker": "infra", "dev-worker2": "sandbox", "dev-control-plane": ""}
SAYS = "0/3 nodes are available: 1 node(s) were unschedulable"


def pod(name: str = "sandbox-1", node: str = "dev-worker2", **more: Any) -> dict[str, Any]:
    selector = {"space-smoke.dev/group": GROUPS.get(node, "sandbox")}
    standing = {"phase": "Running", "reason": "", "message": "", "selector": selector, "owner": ""}
    return {"name": name, "node": node, "group": GROUPS.get(node, ""), **standing, **more}


def waiting(**more: Any) -> dict[str, Any]:
    return pod(node="", phase="Pending", **{"reason": "Unschedulable", "message": SAYS, **more})


def judge(kind: str, sandboxes: list[dict[str, Any]] | None, **arguments: Any) -> verdict.Verdict:
    story = histories.Story()
    if sandboxes is not None:
        services = [pod("space-api-1", "dev-worker"), pod("postgres-0", "dev-worker")]
        groups = arguments.pop("groups", GROUPS)
        story.add("placed", load="look", sandboxes=sandboxes, services=services, groups=groups)
    return histories.judged(kind, story, load="look", **arguments)


def test_pods_on_their_group_pass() -> None:
    found = judge("placed", [pod(), pod("sandbox-2")], group="sandbox")
    assert found.judged == PASS, found.sentence
    assert "all 2 sandboxes are on dev-worker2, of group sandbox" in found.sentence
    assert judge("placed", [], group="infra", of="services").judged == PASS


@pytest.mark.parametrize(
    ("pods", "more", "sentence"),
    [
        ([pod(), pod("sandbox-2", "dev-worker")], {}, "saw sandbox-2 on dev-worker (infra)"),
        ([pod(node="dev-control-plane")], {}, "saw sandbox-1 on dev-control-plane (no group)"),
        ([pod()], {"selector": {"a": "b"}}, "with the node selector {'a': 'b'}; saw 1 of 1 without a=b (sandbox-1"),
    ],
)
def test_a_pod_elsewhere_or_without_its_selector_fails(
    pods: list[dict[str, Any]], more: dict[str, Any], sentence: str
) -> None:
    found = judge("placed", pods, group="sandbox", **more)
    assert found.judged == FAIL
    assert sentence in found.sentence


def test_only_the_named_pods_are_asked_for_a_selector() -> None:
    selector = {"space-smoke.dev/group": "infra"}
    assert judge("placed", [], group="infra", of="services", named="space-api-", selector=selector).judged == PASS
    assert judge("placed", [], group="infra", of="services", named="none-", selector=selector).judged == UNKNOWN


@pytest.mark.parametrize(
    ("pods", "more", "sentence"),
    [
        (None, {}, "did not look"),
        ([], {}, "there are no sandboxes"),
        ([pod(), waiting()], {}, "1 are on no node: 0/3 nodes"),
        ([pod()], {"groups": {"dev-worker2": "sandbox"}}, "every node is of group sandbox"),
    ],
)
def test_nothing_to_judge_by_is_unknown(pods: list[dict[str, Any]] | None, more: dict[str, Any], sentence: str) -> None:
    found = judge("placed", pods, group="sandbox", **more)
    assert found.judged == UNKNOWN
    assert sentence in found.sentence


def test_sandboxes_that_wait_with_the_stated_reason_pass() -> None:
    found = judge("pending", [waiting()], says="were unschedulable")
    assert found.judged == PASS, found.sentence
    assert SAYS in found.sentence


@pytest.mark.parametrize(
    ("pods", "sentence"),
    [
        ([waiting(), pod("sandbox-2")], "expected every sandbox to wait on no node; saw sandbox-2 on dev-worker2"),
        ([waiting(message="Insufficient memory")], "saw 1 of 1: Unschedulable: Insufficient memory"),
        ([waiting(reason="", message="")], "saw 1 of 1: no reason: no message"),
    ],
)
def test_a_sandbox_that_runs_or_has_another_reason_fails(pods: list[dict[str, Any]], sentence: str) -> None:
    found = judge("pending", pods, says="were unschedulable")
    assert found.judged == FAIL
    assert sentence in found.sentence


@pytest.mark.parametrize("pods", [None, []])
def test_without_a_sandbox_that_waits_it_is_unknown(pods: list[dict[str, Any]] | None) -> None:
    assert judge("pending", pods, says="were unschedulable").judged == UNKNOWN
