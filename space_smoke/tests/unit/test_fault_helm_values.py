"""helm-values: how values are named, paths of values, and what Helm's store holds."""

from __future__ import annotations

import base64
import gzip
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from space_smoke.bench.outside import helm_storage, place, values
from space_smoke.faults import helm_values as declared
from space_smoke.model import kinds, objects

API = objects.Ref("apps/v1", "Deployment", "space", "api")
TARGET = {
    **API.as_json(),
    "metadata": {
        "name": "api",
        "namespace": "space",
        "annotations": {"meta.helm.sh/release-name": "api", "meta.helm.sh/release-namespace": "space"},
    },
}
ONE = {"values": {"limit.burst": {"value": 9}}}
NONE = {"values": {"limit.burst": {"absent": ["limit"]}}}


def address(given: dict[str, Any]) -> Mapping[str, Any]:
    return declared.address({"values": given}, TARGET)


# -- the declaration


@pytest.mark.parametrize(
    "given",
    [{"a": {"b": 1, "c": [2]}, "d": None}, {"a.b": 1, "a.c": [2], "d": None}, {"a": {"b": 1}, "a.c": [2], "d": None}],
)
def test_values_may_be_nested_or_dotted(given: dict[str, Any]) -> None:
    field = address(given)
    assert field["paths"] == {"a.b": ["a", "b"], "a.c": ["a", "c"], "d": ["d"]}
    assert declared.wanted({}, field) == {"values": {"a.b": {"value": 1}, "a.c": {"value": [2]}, "d": {"value": None}}}


def test_a_dot_of_a_key_is_told_from_one_between_keys() -> None:
    assert address({"notes": {"a\\.example/x": 1}})["paths"] == {"notes.a\\.example/x": ["notes", "a.example/x"]}


def test_a_value_inside_of_another_is_refused() -> None:
    with pytest.raises(kinds.Unfit, match="twice"):
        address({"a": 1, "a.b": 2})


def test_what_no_release_installed_is_refused() -> None:
    with pytest.raises(kinds.Unfit, match="no Helm release"):
        declared.address({"values": {"a": 1}}, {**TARGET, "metadata": {"name": "api", "namespace": "space"}})


# -- values


@pytest.mark.parametrize("before", [{}, {"x": 1}, {"limit": {}}, {"limit": {"other": 1}}, {"limit": {"burst": None}}])
def test_values_that_were_put_back_are_what_they_were_to_the_last_map(before: dict[str, Any]) -> None:
    paths = {"limit.burst": ["limit", "burst"], "limit.rate.fast": ["limit", "rate", "fast"]}
    standing = values.read(before, paths)
    raised = values.written(before, paths, {"limit.burst": {"value": 9}, "limit.rate.fast": {"value": 2}})
    assert raised["limit"]["burst"] == 9
    assert values.written(raised, paths, standing) == before


def test_what_others_added_meanwhile_stays() -> None:
    paths = {"limit.burst": ["limit", "burst"]}
    assert values.written({"limit": {"burst": 9, "new": 1}}, paths, NONE["values"]) == {"limit": {"new": 1}}


def test_a_path_through_a_scalar_is_named() -> None:
    with pytest.raises(ValueError, match=r"limit\.burst: limit is 3"):
        values.read({"limit": 3}, {"limit.burst": ["limit", "burst"]})


def test_a_change_is_seen_by_what_differs_and_quantities_by_their_amount() -> None:
    before, after = spec(cpu="100m", env={"A": "1", "B": "2"}), spec(cpu="0.5", env={"A": "1", "C": "3"})
    changes = values.difference(before, after)
    assert {path[-1] for path in changes} == {"name", "value", "cpu"}
    live = spec(cpu="500m", env={"C": "3", "A": "other"})
    assert values.lacking(live, changes) == []
    assert values.lacking(spec(cpu="500m", env={"B": "2", "C": "3"}), changes) == [
        "containers.[api].env.[B].name",
        "containers.[api].env.[B].value",
    ]
    assert values.lacking(before, changes)


def spec(cpu: str, env: dict[str, str]) -> dict[str, Any]:
    entries = [{"name": name, "value": value} for name, value in env.items()]
    return {"spec": {"containers": [{"name": "api", "cpu": cpu, "env": entries}]}}


# -- Helm's store


def secret(number: int, status: str, config: dict[str, Any]) -> dict[str, Any]:
    manifest = {
        **API.as_json(),
        "metadata": {"name": "api"},
        "spec": {"burst": config.get("limit", {}).get("burst", 1)},
    }
    raw = {
        "name": "api",
        "version": number,
        "info": {"status": status},
        "config": config,
        "manifest": f"---\n{yaml.safe_dump({'kind': 'Service', 'metadata': {'name': 'api'}})}---\n{yaml.safe_dump(manifest)}",
        "chart": {
            "metadata": {"apiVersion": "v2", "name": "api", "version": "1.0.0"},
            "values": {"limit": {"burst": 1}},
            "templates": [{"name": "templates/x.yaml", "data": base64.b64encode(b"a: 1").decode()}],
            "schema": base64.b64encode(b"{}").decode(),
        },
    }
    packed = base64.b64encode(gzip.compress(json.dumps(raw).encode()))
    return {"metadata": {"name": f"v{number}"}, "data": {"release": base64.b64encode(packed).decode()}}


def test_a_revision_is_read_with_its_chart(tmp_path: pathlib.Path) -> None:
    revision = helm_storage.decode(secret(3, "deployed", {"limit": {"burst": 9}}))
    assert (revision.number, revision.deployed, revision.config) == (3, True, {"limit": {"burst": 9}})
    assert revision.rendered(API)["spec"] == {"burst": 9}
    folder = helm_storage.write_chart(revision, tmp_path)
    assert yaml.safe_load((folder / "Chart.yaml").read_text())["name"] == "api"
    assert yaml.safe_load((folder / "values.yaml").read_text()) == {"limit": {"burst": 1}}
    assert (folder / "templates/x.yaml").read_text() == "a: 1"


@pytest.mark.parametrize(
    "change", [{"metadata": {"dependencies": [{"name": "x"}]}}, {"files": [{"name": "../x", "data": ""}]}]
)
def test_a_chart_that_cannot_be_written_again_is_refused(tmp_path: pathlib.Path, change: dict[str, Any]) -> None:
    whole = helm_storage.decode(secret(1, "deployed", {}))
    revision = helm_storage.Revision(1, "deployed", {}, "", {**whole.chart, **change})
    with pytest.raises(place.Refusal) as refused:
        helm_storage.write_chart(revision, tmp_path)
    assert refused.value.status == 422
