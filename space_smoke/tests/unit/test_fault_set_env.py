"""`set-env` as a field: variables by name, whole entries, order kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from space_smoke.faults import set_env
from space_smoke.model import kinds
from space_smoke.tests.sim import patching

_REFERENCE = {"secretKeyRef": {"name": "redis", "key": "password"}}


def target(*env: dict[str, Any], sidecars: int = 0) -> dict[str, Any]:
    containers: list[dict[str, Any]] = [{"name": f"side-{i}"} for i in range(sidecars)]
    containers.append({"name": "api", "image": "api:1", "env": list(env)} if env else {"name": "api", "image": "api:1"})
    spec = {"template": {"spec": {"containers": containers}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "space"},
        "spec": spec,
    }


def there_and_back(before: dict[str, Any], env: dict[str, str]) -> tuple[Any, Any]:
    """The target with the fault up, and after it was put back, as an API server stores them."""
    arguments = {"container": "api", "env": env}
    field = set_env.address(arguments, before)
    standing = set_env.read(before, field)
    value = set_env.wanted(arguments, field)
    faulted = stored(patching.apply(before, set_env.write(before, field, value)))
    assert set_env.read(faulted, field) == value
    return faulted, stored(patching.apply(faulted, set_env.write(faulted, field, standing)))


def stored(thing: dict[str, Any]) -> dict[str, Any]:
    """Without the values of variables that are empty (contract case an_empty_value_of_a_variable_is_not_stored)."""
    for container in thing["spec"]["template"]["spec"]["containers"]:
        for entry in container.get("env") or ():
            if entry.get("value") == "":
                del entry["value"]
    return thing


_entries = st.lists(
    st.one_of(
        st.builds(
            lambda n, v: {"name": n, "value": v}, st.sampled_from("ABCDEF"), st.text("01", min_size=1, max_size=2)
        ),
        st.builds(lambda n: {"name": n, "valueFrom": _REFERENCE}, st.sampled_from("ABCDEF")),
        st.builds(lambda n: {"name": n}, st.sampled_from("ABCDEF")),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda entry: entry["name"],
)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    _entries,
    st.dictionaries(st.sampled_from("ABCDEFGH"), st.sampled_from(["fault", ""]), min_size=1),
    st.integers(0, 2),
)
def test_the_list_is_byte_identical_after_the_restore(
    entries: list[dict[str, Any]], env: dict[str, str], sidecars: int
) -> None:
    before = target(*entries, sidecars=sidecars)
    _faulted, after = there_and_back(before, env)
    assert json.dumps(after) == json.dumps(before)


def test_a_variable_from_a_secret_returns_to_it() -> None:
    faulted, after = there_and_back(target({"name": "A", "valueFrom": _REFERENCE}), {"A": "x"})
    assert faulted["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "x"}]
    assert after["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "valueFrom": _REFERENCE}]


def test_absent_empty_and_a_value_are_read_as_three_different_things() -> None:
    field = {"container": "api", "names": ["A"]}
    found = [
        set_env.read(thing, field) for thing in (target(), target({"name": "A"}), target({"name": "A", "value": "x"}))
    ]
    assert found == [
        {"A": {"absent": True}},
        {"A": {"entry": {"name": "A"}}},
        {"A": {"entry": {"name": "A", "value": "x"}}},
    ]
    assert set_env.read(target({"name": "A", "value": ""}), field) == found[1]


def test_a_container_without_variables_has_none_again() -> None:
    _faulted, after = there_and_back(target(), {"A": "x"})
    assert not after["spec"]["template"]["spec"]["containers"][0].get("env")


def test_the_container_is_found_by_name_wherever_it_stands() -> None:
    field = {"container": "api", "names": ["A"]}
    before, moved = target({"name": "A", "value": "1"}), target({"name": "A", "value": "1"}, sidecars=2)
    assert set_env.read(before, field) == set_env.read(moved, field)


def test_a_container_that_changed_after_it_was_read_is_not_written() -> None:
    operations = set_env.write(target({"name": "A", "value": "1"}), {"container": "api", "names": ["A"]}, {})
    with pytest.raises(patching.Failed):
        patching.apply(target({"name": "A", "value": "2"}), operations)


def test_an_unnamed_container_among_several_is_unfit() -> None:
    with pytest.raises(kinds.Unfit, match="say which one"):
        set_env.address({"env": {"A": "x"}}, target(sidecars=1))
    assert set_env.address({"env": {"A": "x"}}, target())["container"] == "api"


def test_a_container_that_is_not_there_is_unfit() -> None:
    with pytest.raises(kinds.Unfit, match="no container 'web'"):
        set_env.address({"container": "web", "env": {"A": "x"}}, target())
    assert set_env.read(target(), {"container": "web", "names": ["A"]}) == {}
    with pytest.raises(kinds.Unfit, match="any more"):
        set_env.write(target(), {"container": "web", "names": ["A"]}, {})


def test_values_are_described_without_showing_where_secrets_lie() -> None:
    said = set_env.describe(
        {
            "A": {"absent": True},
            "B": {"entry": {"name": "B", "valueFrom": _REFERENCE}},
            "C": {"entry": {"name": "C", "value": "1"}},
        }
    )
    assert said == "A=(unset), B=(from a reference), C='1'"
