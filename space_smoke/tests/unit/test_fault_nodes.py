"""The kinds that are about nodes, as declared: which targets they take, what they record, what they refuse."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from space_smoke.faults import cordon, network_drop, network_loss, pause_node, stop_node
from space_smoke.model import kinds
from space_smoke.tests.sim import patching


def node(name: str = "b-worker", *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"providerID": f"kind://docker/b/{name}", **spec},
    }


@pytest.mark.parametrize("spec", [{}, {"unschedulable": False}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}])
def test_a_cordoned_node_returns_to_exactly_what_stood(spec: dict[str, Any]) -> None:
    before = node(**spec)
    field = cordon.address({}, before)
    standing = cordon.read(before, field)
    faulted = patching.apply(before, cordon.write(before, field, cordon.wanted({}, field)))
    assert faulted["spec"]["unschedulable"] is True
    assert cordon.read(faulted, field) == {"unschedulable": True}
    assert patching.apply(faulted, cordon.write(faulted, field, standing)) == before


_STATES: tuple[dict[str, Any], ...] = ({}, {"unschedulable": False}, {"unschedulable": True})


def test_absent_false_and_true_are_read_as_three_different_things() -> None:
    found = [cordon.read(node(**spec), {}) for spec in _STATES]
    assert len({str(value) for value in found}) == 3


@pytest.mark.parametrize(("read", "now"), [({}, {"unschedulable": True}), ({"unschedulable": False}, {})])
def test_a_node_that_somebody_else_cordoned_meanwhile_is_not_written(read: dict[str, Any], now: dict[str, Any]) -> None:
    operations = cordon.write(node(**read), {}, {"unschedulable": True})
    with pytest.raises(patching.Failed):
        patching.apply(node(**now), operations)


def test_a_node_that_is_cordoned_already_has_the_fault_value_so_raising_would_change_nothing() -> None:
    assert cordon.read(node(unschedulable=True), {}) == cordon.wanted({}, {})


@pytest.mark.parametrize("kind", [pause_node.KIND, stop_node.KIND])
def test_a_worker_is_addressed_by_its_container(kind: kinds.FaultKind) -> None:
    assert kind.address({}, node()) == {"container": "b-worker"}


@pytest.mark.parametrize("kind", [pause_node.KIND, stop_node.KIND])
def test_a_control_plane_is_not_taken_down(kind: kinds.FaultKind) -> None:
    with pytest.raises(kinds.Unfit, match="the API server would go with it"):
        kind.address({}, node(labels={"node-role.kubernetes.io/control-plane": ""}))


@pytest.mark.parametrize("provider", ["", "aws:///eu/i-1", "kind://docker/b", "kind://podman/b/b-worker"])
@pytest.mark.parametrize("kind", [pause_node.KIND, stop_node.KIND, network_drop.KIND])
def test_a_node_that_is_no_kind_container_is_refused_by_its_provider_id(kind: kinds.FaultKind, provider: str) -> None:
    with pytest.raises(kinds.Unfit, match="only a Kind node"):
        kind.address({"to": {"app": "a"}}, node(providerID=provider))


def test_packets_are_recorded_as_they_are_written() -> None:
    arguments = {"from": {"app": "a"}, "to": "10.1.0.0/16", "protocol": "tcp", "port": 80, "for_s": 30.0}
    assert network_drop.address(arguments, node()) == {
        "container": "b-worker",
        "namespace": "space",
        "protocol": "tcp",
        "from": {"app": "a"},
        "to": "10.1.0.0/16",
        "port": 80,
        "for_s": 30.0,
    }
    more = {"to": {"app": "a"}, "namespace": "other", "both-ways": True, "probability": 1}
    assert network_loss.address(more, node()) == {
        "container": "b-worker",
        "namespace": "other",
        "protocol": "any",
        "to": {"app": "a"},
        "both_ways": True,
        "probability": 1.0,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "say whose packets"),
        ({"protocol": "tcp"}, "say whose packets"),
        ({"from": "10.1.2.3/8"}, "is not a network"),
        ({"to": "300.0.0.0/8"}, "is not a network"),
    ],
)
def test_packets_that_cannot_be_told_are_unfit(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(kinds.Unfit, match=words):
        network_drop.address(arguments, node())


@pytest.mark.parametrize(
    "arguments",
    [
        {"to": "10.0.0.1"},
        {"to": {}},
        {"to": {"app": 1}},
        {"to": 5},
        {"to": {"namespace": ""}},
        {"to": {"app": "a"}, "port": 0, "protocol": "tcp"},
        {"to": {"app": "a"}, "protocol": "icmp"},
        {"to": {"app": "a"}, "probability": 0.5},
    ],
)
def test_a_scenario_that_says_packets_wrongly_is_refused_by_lint(arguments: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(arguments, network_drop.SCHEMA)
    jsonschema.validate({"to": {"app": "a"}, "from": "10.0.0.0/8", "protocol": "tcp", "port": 80}, network_drop.SCHEMA)
    jsonschema.validate(
        {"to": {"namespace": "grid-b"}, "from": {"namespace": "grid-a"}, "port": 80}, network_drop.SCHEMA
    )


@pytest.mark.parametrize("probability", [None, 0, 0.001, 1.5, "half"])
def test_a_loss_needs_a_probability_that_can_be_seen(probability: Any) -> None:
    arguments = {"to": {"app": "a"}} | ({} if probability is None else {"probability": probability})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(arguments, network_loss.SCHEMA)
    jsonschema.validate({"to": {"app": "a"}, "probability": 0.01}, network_loss.SCHEMA)


def test_values_are_described_in_words() -> None:
    assert [cordon.describe(value) for value in ({"unschedulable": True}, {"absent": True})] == [
        "cordoned",
        "schedulable",
    ]
    said = [
        pause_node.describe(value) for value in ({"state": "running"}, {"state": "paused"}, {"state": "exited"}, None)
    ]
    assert said == ["running", "paused", "stopped", "not known"]
    values = ({"rules": True}, {"rules": False}, {"rules": "altered"}, None)
    assert [network_drop.describe(value) for value in values] == [
        "packets dropped",
        "no rules",
        "other rules",
        "not known",
    ]
    assert network_loss.describe({"rules": True}) == "packets lost at random"
