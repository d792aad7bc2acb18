"""The list of a scenario's run: the gate once, what it runs on read before and after, loads beside the phases."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from space_smoke import errors
from space_smoke.engine import gate, provenance, scene, tenure
from space_smoke.engine import run as running
from space_smoke.loads import traffic
from space_smoke.model import history, run, scenario, verdict
from space_smoke.tests.unit import histories

FAULT = scenario.Fault("broken", "set-env", scenario.Target("deployment", "space-api"), {}, ("second",))


class Leases:
    """A bench with nothing on its Leases; tells what is done to it."""

    def __init__(self, told: list[str]) -> None:
        self._told = told

    def look(self, *, sweep: bool = False) -> list[Any]:
        return []

    def take(self, _domains: set[str]) -> None:
        self._told.append("take")

    def check(self) -> None:
        """It is never lost here."""

    def raise_fault(self, fault: scenario.Fault) -> None:
        self._told.append(f"raise {fault.name}")

    def lower_fault(self, fault: scenario.Fault) -> None:
        self._told.append(f"lower {fault.name}")

    def give_back(self) -> list[Any]:
        self._told.append("give back")
        return []

    def target(self, target: scenario.Target) -> scenario.Target:
        return target


class Scene:
    """Loads here do nothing but begin, wait until they are stopped where they are to go on, and end."""

    cluster, namespace, seed = None, "space", 0

    def __init__(self, past: history.History, told: list[str]) -> None:
        self.emit, self.clock, self._told = past.emit, past.clock, told

    def fit(self, _the: scenario.Scenario) -> str:
        return ""

    def settle(self, _the: scenario.Scenario) -> None:
        """Nothing is under way."""

    def find_targets(self, _the: scenario.Scenario, _ref_of: object) -> None:
        """Every target is there."""

    def prepared(self, load: scenario.Load, stop: threading.Event) -> traffic.Traffic:
        return cast(traffic.Traffic, (load, stop))

    def drive(self, flow: Any, _phase: str) -> None:
        load, stop = flow
        self._told.append(f"begin {load.name}")
        if load.arguments:
            assert stop.wait(10), "nobody stopped it"
        self._told.append(f"end {load.name}")


class Quiet:
    def __init__(self, told: list[str], error: errors.WaitFailed | None = None) -> None:
        self._told, self._error = told, error

    def once(self) -> None:
        self._told.append("gate")
        if self._error:
            raise self._error


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> list[provenance.Facts]:
    """What provenance reads, one after the other; nothing is gathered for the reader."""
    reads: list[provenance.Facts] = []

    def read(*_arguments: object) -> provenance.Facts:
        told.append("read")
        return reads.pop(0) if reads else {}

    monkeypatch.setattr(provenance, "read", read)
    monkeypatch.setattr(scene, "everything", lambda *_arguments: None)
    return reads


def the() -> scenario.Scenario:
    beside = scenario.Load("beside", "ecw-churn", {"through": "second"})
    plain = scenario.Load("plain", "api-state", {})
    phases = [scenario.Phase("first", (beside,)), scenario.Phase("second", (plain,)), scenario.Phase("third")]
    return histories.of_phases(*phases, faults=[FAULT])


def ran(
    told: list[str], one: scenario.Scenario | None = None, error: errors.WaitFailed | None = None
) -> tuple[run.Result, history.History]:
    past = history.History(lambda: 0.0)
    result = running.run_scenario(
        one or the(),
        cast(scene.Scene, Scene(past, told)),
        cast(tenure.Tenure, Leases(told)),
        past,
        cast(gate.Gate, Quiet(told, error)),
    )
    return result, past


def test_the_order_of_a_run(bench: list[provenance.Facts], told: list[str]) -> None:
    result, past = ran(told)
    own = [what for what in told if what != "begin beside"]  # a thread of its own: when it begins is not fixed
    assert own == [
        "gate", "read", "take", "raise broken", "begin plain", "end plain", "end beside", "lower broken", "give back", "read",
    ]  # fmt: skip
    assert [event.data["when"] for event in history.of_kind(past.events, "provenance")] == ["before", "after"]
    assert result.environment == ()


def test_a_bench_that_changed_is_environmental_and_its_verdicts_are_kept(
    bench: list[provenance.Facts], told: list[str]
) -> None:
    bench += [{"Kubernetes version": provenance.Fact("v1")}, {"Kubernetes version": provenance.Fact("v2")}]
    result, past = ran(told)
    assert result.outcome is verdict.Outcome.ENVIRONMENTAL
    assert result.exit_code == errors.UNFIT
    assert result.environment == ("Kubernetes version: v1 before, v2 after",)
    assert result.verdicts
    ended = next(history.of_kind(past.events, "scenario-ended"))
    assert (ended.data["outcome"], ended.data["environment"]) == ("ENVIRONMENTAL", list(result.environment))


def test_behind_a_gate_that_does_not_open_nothing_is_done(bench: list[provenance.Facts], told: list[str]) -> None:
    result, _ = ran(told, error=errors.WaitFailed("node dev is not Ready", last="node dev is not Ready"))
    assert told == ["gate"]
    assert result.outcome is verdict.Outcome.ENVIRONMENTAL
    assert result.exit_code == errors.UNFIT
    assert result.harness == "the health gate did not open: node dev is not Ready"


def test_a_load_that_names_no_phase_is_a_mistake_before_anything_is_done(
    bench: list[provenance.Facts], told: list[str]
) -> None:
    wrong = histories.of_phases(scenario.Phase("only", (scenario.Load("beside", "ecw-churn", {"through": "none"}),)))
    with pytest.raises(errors.SpecError, match="through is 'none'"):
        ran(told, wrong)
    assert told == []


def test_a_load_beside_the_phases_that_breaks_is_the_harness_result_and_everything_is_put_back(
    bench: list[provenance.Facts], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: Scene, flow: Any, _phase: str) -> None:
        if flow[0].name == "beside":
            raise ValueError("no such thing")

    monkeypatch.setattr(Scene, "drive", broken)
    result, _ = ran(told)
    assert result.harness == "ValueError: no such thing"
    assert result.outcome is verdict.Outcome.UNKNOWN
    assert told[-2:] == ["give back", "read"]


def test_a_run_that_ends_early_stops_the_loads_beside_it(
    bench: list[provenance.Facts], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_self: Leases, _fault: scenario.Fault) -> None:
        raise errors.BenchError("it cannot be raised")

    stops: list[threading.Event] = []
    stopped_before_restore: list[bool] = []

    def prepared(_self: Scene, load: scenario.Load, stop: threading.Event) -> traffic.Traffic:
        stops.append(stop)
        return cast(traffic.Traffic, (load, stop))

    def give_back(_self: Leases) -> list[Any]:
        stopped_before_restore.extend(stop.is_set() for stop in stops)
        return []

    monkeypatch.setattr(Leases, "raise_fault", refused)
    monkeypatch.setattr(Leases, "give_back", give_back)
    monkeypatch.setattr(Scene, "prepared", prepared)
    result, _ = ran(told)
    assert result.injection == "broken: it cannot be raised"
    assert stopped_before_restore == [True]
    assert "end beside" in told
