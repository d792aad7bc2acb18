"""Settings: every mistake at once, with name, value and rule, and never a secret."""

from __future__ import annotations

import io
import json
import logging

import pytest

from common import logs, settings
from space_api import config
from tests import process

GOOD = {"SPACE_DATABASE_URL": "postgresql://app@db/space", "SPACE_SANDBOX_IMAGE": "image:1"}


def mistakes(**changed: str) -> tuple[str, ...]:
    with pytest.raises(settings.SettingsError) as raised:
        config.read({**GOOD, **changed})
    return raised.value.mistakes


def test_the_defaults_are_those_of_a_deployment() -> None:
    read = config.read(GOOD)
    assert (read.activation.enabled, read.activation.burst, read.activation.refill_per_second) == (True, 60, 60)
    assert (read.concurrency.mode, read.concurrency.limit, read.concurrency.lease_s) == ("observe", 32, 30)
    assert (read.concurrency.known_clients, read.redis_url, read.own.profile) == ((), "", "deployment")
    assert read.sandbox.start_timeout_s == 30


def test_an_empty_variable_counts_as_unset() -> None:
    names = (
        "SPACE_CLUSTER_ACTIVATION_ADMISSION_ENABLED",
        "SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST",
        "SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND",
        "SPACE_API_CLIENT_CONCURRENCY_MODE",
        "SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS",
        "SPACE_SANDBOX_NODE_SELECTOR",
        "SPACE_MUTATION",
        "SPACE_PROFILE",
    )
    assert config.read({**GOOD, **dict.fromkeys(names, "")}) == config.read(GOOD)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("SPACE_CLUSTER_ACTIVATION_ADMISSION_ENABLED", "maybe", "true or false"),
        ("SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST", "0", "whole number from 1"),
        ("SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST", "2.5", "whole number"),
        ("SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST", "1_000", "whole number"),
        ("SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND", "0", "number from 0.001"),
        ("SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND", "nan", "number from 0.001"),
        ("SPACE_API_CLIENT_CONCURRENCY_MODE", "Enforce", "one of off, observe, enforce"),
        ("SPACE_API_CLIENT_CONCURRENCY_LIMIT", "-1", "whole number from 1"),
        ("SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS", "a,b c", "letters"),
        ("SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS", "a,a", "twice"),
        ("SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS", "unspecified", "the service uses itself"),
        ("SPACE_API_CLIENT_CONCURRENCY_LEASE_S", "1e9", "number from 1"),
        ("SPACE_SANDBOX_IMAGE", "", "must be set"),
        ("SPACE_SANDBOX_NODE_SELECTOR", '["x"]', "JSON object of strings"),
        ("SPACE_SANDBOX_NODE_SELECTOR", '{"x": 1}', "JSON object of strings"),
        ("SPACE_PROFILE", "staging", "one of kind, deployment"),
        ("SPACE_DRAIN_S", "61", "number from 0 to 60"),
    ],
)
def test_a_wrong_value_is_named_with_its_rule(name: str, value: str, rule: str) -> None:
    (mistake,) = mistakes(**{name: value})
    assert mistake.startswith(f"{name}=")
    assert rule in mistake


def test_all_mistakes_come_at_once() -> None:
    found = mistakes(SPACE_DATABASE_URL="", SPACE_SANDBOX_IMAGE="", SPACE_PROFILE="x", SPACE_DRAIN_S="x")
    assert [mistake.partition("=")[0] for mistake in found] == [
        "SPACE_PROFILE",
        "SPACE_DRAIN_S",
        "SPACE_DATABASE_URL",
        "SPACE_SANDBOX_IMAGE",
    ]


def test_a_database_url_is_never_repeated() -> None:
    (mistake,) = mistakes(SPACE_DATABASE_URL="mysql://root:hunter2@db")
    assert "hunter2" not in mistake


def test_a_service_with_wrong_settings_exits_64_and_says_all_of_it() -> None:
    done = process.run("tests.local_api", "1", SPACE_DATABASE_URL="", SPACE_PROFILE="x")
    assert done.returncode == settings.EXIT_CODE
    assert "2 wrong setting(s)" in done.stderr
    assert "SPACE_DATABASE_URL" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_api_outside_a_cluster_says_what_it_lacks() -> None:
    done = process.run("space_api", SPACE_DATABASE_URL="postgresql://db/space", KUBERNETES_SERVICE_HOST="")
    assert done.returncode == settings.EXIT_CODE
    assert "service account" in done.stderr


def test_a_log_line_is_one_json_object_and_facts_cannot_hide_its_frame() -> None:
    stream = io.StringIO()
    record = logging.LogRecord("name", logging.INFO, "path", 1, "two\nlines", (), None)
    record.facts = {"trace_id": "t", "level": "forged"}
    stream.write(logs.JsonFormatter("service").format(record))
    line = json.loads(stream.getvalue())
    assert "\n" not in stream.getvalue()
    assert (line["level"], line["service"], line["trace_id"]) == ("info", "service", "t")
    assert line["ts"].endswith("Z")
