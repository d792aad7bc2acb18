"""Provenance: what differs and is not the scenario's own doing is named, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from space_smoke.bench import kube
from space_smoke.engine import provenance
from space_smoke.faults import kinds as fault_kinds
from space_smoke.model import objects, scenario
from space_smoke.tests.unit import bench_objects as made
from space_smoke.tests.unit import histories

API, REDIS, WORKER = "deployment/space-api", "deployment/space-redis", "node/dev-worker"
STATIC = ("Node", "dev-control-plane")


def facts(**lists: list[dict[str, Any]]) -> provenance.Facts:
    return provenance.read(cast(kube.Kube, made.Cluster(**lists)), made.SPACE)


def of(kind: str, target: str = API, **arguments: Any) -> scenario.Scenario:
    fault = scenario.Fault("broken", kind, scenario.Target(*target.split("/")), arguments, ("only",))
    return histories.of_phases(scenario.Phase("only"), faults=[fault])


def ref_of(target: scenario.Target) -> objects.Ref:
    return objects.Ref("apps/v1", target.kind.capitalize(), made.SPACE, target.name)


def system(restarts: int = 0) -> dict[str, Any]:
    name = "kube-apiserver-dev-control-plane"
    return made.pod(name, owner=STATIC, namespace="kube-system", restarts=restarts, where="dev-control-plane")


def test_the_same_bench_read_twice_has_no_difference() -> None:
    assert provenance.differences(facts(), facts()) == []


def test_what_is_read_is_versions_images_charts_nodes_and_restarts() -> None:
    shown = provenance.shown(facts(Pod=[made.pod(), system()]))
    assert shown["Kubernetes version"] == "v1.34.4"
    assert shown["boot id of node/dev-worker"] == "boot-1"
    assert shown["image ids of deployment/space-api"] == "sha256:aa"
    assert shown["restarts of pod/kube-apiserver-dev-control-plane"] == "0"
    assert shown["release space-api"].startswith("space-api-0.1.0 sha256:")


def test_the_pods_images_and_releases_of_grid_sites_are_read_too() -> None:
    pod = made.pod("grid-a-0", owner=("StatefulSet", "grid-a"), namespace="grid-a")
    installed = made.release("grid-a")
    installed["metadata"]["namespace"] = "grid-a"
    lists = {"StatefulSet": [made.site()], "Pod": [made.pod(), pod], "Secret": [made.release(), installed]}
    found = facts(**lists)
    assert found.keys() >= {"pod/grid-a-0", "image ids of statefulset/grid-a", "release grid-a", "release space-api"}
    killed = facts(**{**lists, "Pod": [made.pod(), {**pod, "metadata": {**pod["metadata"], "uid": "another"}}]})
    assert len(provenance.differences(found, killed)) == 1
    assert provenance.differences(found, killed, {"statefulset/grid-a"}) == []


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        ({"Node": [made.node(boot="boot-2")]}, "boot id of node/dev-worker: boot-1 before, boot-2 after"),
        ({"Node": [made.node(), made.node("other")]}, "node/other: not there before, uid-other after"),
        ({"Pod": [made.pod(restarts=1)]}, "restarts of pod/space-api-7c4-a: 0 before, 1 after"),
        (
            {"Pod": [made.pod(image="sha256:bb")]},
            "image ids of deployment/space-api: sha256:aa before, sha256:bb after",
        ),
        ({"Pod": [made.pod(uid="another")]}, "pod/space-api-7c4-a: uid-space-api-7c4-a before, another after"),
        ({"Pod": []}, "pod/space-api-7c4-a: uid-space-api-7c4-a before, not there after"),
        ({"Pod": [made.pod(), system(restarts=1)]}, "restarts of pod/kube-apiserver-dev-control-plane: not there"),
        ({"Secret": [made.release(replicas=3)]}, "release space-api: space-api-0.1.0 sha256:"),
    ],
)
def test_a_difference_is_named_with_both_values(after: dict[str, Any], sentence: str) -> None:
    assert any(line.startswith(sentence) for line in provenance.differences(facts(), facts(**after)))


REPLACED = {"Pod": [made.pod("space-api-7c4-b")]}
RESTARTED = {"Pod": [made.pod(restarts=1)]}


@pytest.mark.parametrize(
    ("kind", "target", "after"),
    [
        ("set-env", API, REPLACED),
        ("scale", API, REPLACED),
        ("delete-pod", API, REPLACED),
        ("helm-values", API, REPLACED),
        ("stop-node", WORKER, RESTARTED),
        ("pause-node", WORKER, RESTARTED),
    ],
)
def test_a_scenarios_own_fault_explains_the_pods_of_its_target(kind: str, target: str, after: dict[str, Any]) -> None:
    assert provenance.differences(facts(), facts(**after), provenance.explained(of(kind, target), ref_of)) == []


@pytest.mark.parametrize(
    ("kind", "target", "after"),
    [
        ("set-env", REDIS, REPLACED),
        ("redis-config", API, RESTARTED),
        ("cordon", WORKER, RESTARTED),
        ("set-env", API, {"Pod": [made.pod("space-api-7c4-b", image="sha256:bb")]}),
        ("helm-values", API, {"Secret": [made.release(left="over")]}),
        ("set-env", API, {"Pod": [made.pod(), made.pod("etcd", owner=STATIC, namespace="kube-system")]}),
        ("set-env", API, {"Pod": [made.pod(), made.pod("of-the-same-name", namespace="kube-system")]}),
    ],
    ids=[
        "another target",
        "it replaces no pod",
        "a cordon",
        "another image",
        "values not put back",
        "the control plane",
        "another namespace",
    ],
)
def test_a_fault_explains_nothing_else(kind: str, target: str, after: dict[str, Any]) -> None:
    assert provenance.differences(facts(), facts(**after), provenance.explained(of(kind, target), ref_of))


def test_a_release_that_was_put_back_by_another_revision_is_the_same() -> None:
    assert provenance.differences(facts(), facts(Secret=[made.release(revision=3)])) == []


def test_sandboxes_come_and_go_unnoticed() -> None:
    assert provenance.differences(facts(), facts(Pod=[made.pod(), made.pod("sandbox-1", owner=None)])) == []


def test_every_kind_of_fault_says_what_it_explains() -> None:
    assert set(provenance.EXPLAINS) == set(fault_kinds.KINDS)


def test_a_kind_that_nobody_knows_explains_nothing() -> None:
    made_up: Callable[[scenario.Target], objects.Ref] = ref_of
    assert provenance.explained(of("made-up"), made_up) == set()
