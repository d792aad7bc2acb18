"""`scale` as a field: read, written and put back."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.faults import scale
from space_smoke.tests.sim import patching


def target(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize(
    "spec", [{"replicas": 2}, {"replicas": 0}, {"replicas": None}, {}, {"replicas": 1, "other": 1}]
)
def test_a_deployment_returns_to_exactly_what_stood(spec: dict[str, Any]) -> None:
    before = target(spec)
    field = scale.address({"replicas": 5}, before)
    standing = scale.read(before, field)
    faulted = patching.apply(before, scale.write(before, field, scale.wanted({"replicas": 5}, field)))
    assert scale.read(faulted, field) == {"replicas": 5}
    assert patching.apply(faulted, scale.write(faulted, field, standing)) == before


def test_absent_null_and_a_number_are_read_as_three_different_things() -> None:
    found = [scale.read(target(spec), {}) for spec in ({}, {"replicas": None}, {"replicas": 0})]
    assert len({str(value) for value in found}) == 3


def test_a_write_is_refused_when_the_number_changed_after_it_was_read() -> None:
    read = target({"replicas": 2})
    operations = scale.write(read, {}, {"replicas": 0})
    with pytest.raises(patching.Failed):
        patching.apply(target({"replicas": 3}), operations)


def test_values_are_described_in_words() -> None:
    said = [scale.describe(value) for value in ({"replicas": 1}, {"replicas": 0}, {"absent": True})]
    assert said == ["1 replica", "0 replicas", "replicas unset"]
