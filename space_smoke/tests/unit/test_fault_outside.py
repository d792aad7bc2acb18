"""The kinds of Redis and Postgres as declarations: what they address, want and say."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from space_smoke.bench.outside import table
from space_smoke.faults import kinds as fault_kinds
from space_smoke.faults import postgres_setting, redis_config, redis_pause
from space_smoke.model import kinds
from space_smoke.spec import arguments

NAMES = ("redis-config", "redis-pause", "redis-flush-scripts", "postgres-restart", "postgres-setting")


def server(**env: str) -> dict[str, Any]:
    listed = [{"name": key, "value": value} for key, value in env.items()]
    listed.append({"name": "POSTGRES_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}})  # type: ignore[dict-item]
    pod = {"spec": {"containers": [{"name": "postgres", "env": listed}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "postgres", "namespace": "space"},
        "spec": {"template": pod},
    }


CHART = server(POSTGRES_DB="space", POSTGRES_USER="app")


@pytest.mark.parametrize("name", NAMES)
def test_each_kind_has_a_place_and_a_value_that_is_only_read_from_there(name: str) -> None:
    kind = fault_kinds.KINDS[name]
    assert kind.outside
    there = table.places(None)  # type: ignore[arg-type]  # connected only when used
    assert there[name] is there[name]
    assert table.probes(None, there)[name] is there[name]  # type: ignore[arg-type]
    assert kind.read({kinds.OUTSIDE: {"x": 1}}, {}) == {"x": 1}
    assert kind.write({}, {}, {"x": 1}) == []
    assert kind.reversible or kind.waits_for


@pytest.mark.parametrize(
    ("given", "whose"),
    [
        ({}, ("space", "")),
        ({"role": "app"}, ("", "app")),
        ({"database": "other"}, ("other", "")),
        ({"database": "space", "role": "app"}, ("space", "app")),
    ],
)
def test_a_setting_is_the_applications_databases_unless_a_role_or_a_database_is_named(
    given: dict[str, str], whose: tuple[str, str]
) -> None:
    field = postgres_setting.address({"setting": "work_mem", "value": "64kB", **given}, CHART)
    assert (field["database"], field["role"]) == whose
    assert field["session"] == {"database": whose[0] or "space", "role": whose[1] or "app"}


@pytest.mark.parametrize("given", [{"role": "postgres"}, {"database": "postgres"}])
def test_what_faults_are_put_back_through_is_never_a_target(given: dict[str, str]) -> None:
    with pytest.raises(kinds.Unfit, match="put back through"):
        postgres_setting.address({"setting": "work_mem", "value": "64kB", **given}, CHART)


def test_a_setting_of_redis_that_may_shut_us_out_is_never_changed() -> None:
    assert redis_config.address({"setting": "maxmemory", "value": "1"}, CHART) == {"setting": "maxmemory"}
    with pytest.raises(kinds.Unfit, match="requirepass"):
        redis_config.address({"setting": "requirepass", "value": "x"}, CHART)


def test_a_server_that_does_not_name_its_database_has_to_be_told_it() -> None:
    with pytest.raises(kinds.Unfit, match="add `database:`"):
        postgres_setting.address({"setting": "work_mem", "value": "64kB"}, server(POSTGRES_USER="app"))


@pytest.mark.parametrize(("written", "fits"), [("4s", False), ("5s", True), ("30s", True), ("31s", False)])
def test_a_pause_is_long_enough_to_be_seen_and_short_enough_to_be_waited_out(written: str, fits: bool) -> None:
    given = arguments.arrived(redis_pause.SCHEMA, {"for": written})
    if fits:
        assert redis_pause.address(given, CHART) == {"for_s": float(written[:-1]), "mode": "all"}
    else:
        with pytest.raises(kinds.Unfit, match="5s to 30s"):
            redis_pause.address(given, CHART)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("redis-config", {"setting": "max memory", "value": "1"}),
        ("redis-config", {"setting": "maxmemory"}),
        ("redis-pause", {"for": "5s", "mode": "read"}),
        ("redis-flush-scripts", {"mode": "sync"}),
        ("postgres-restart", {"mode": "smart"}),
        ("postgres-setting", {"setting": "work_mem; DROP", "value": "1"}),
        ("postgres-setting", {"setting": "work_mem", "value": "1", "role": ""}),
    ],
)
def test_arguments_that_mean_nothing_are_refused_by_the_schema(name: str, wrong: dict[str, str]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, fault_kinds.KINDS[name].schema)


def test_values_are_described_in_words() -> None:
    said = {name: fault_kinds.KINDS[name].describe for name in NAMES}
    assert said["redis-config"]({"value": "64"}) == "'64'"
    assert [said["redis-pause"]({"paused": paused}) for paused in (True, False)] == ["paused", "answering"]
    assert said["redis-flush-scripts"]({"done": True}) == "scripts flushed"
    assert said["postgres-restart"]({"done": False}) == "not restarted"
    assert [said["postgres-setting"](value) for value in ({"absent": True}, {"value": "on"})] == ["not set", "'on'"]
    assert fault_kinds.KINDS["redis-config"].describe(None) == "not known"
