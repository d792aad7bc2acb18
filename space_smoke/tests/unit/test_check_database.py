"""The checks of a Postgres' profile, and `attempts`: what they say when something is not known or not as it should be.

That they pass on a real server, and what turns each red there, is held by test_postgres_as_deployed.
"""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import histories

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN
WHOLE: dict[str, Any] = {
    "declared": {
        "server": 15,
        "settings": {"fsync": "on", "TimeZone": ["UTC", "GMT"]},
        "extensions": ["plpgsql"],
        "clients": {"pool": 8, "beside_pool": {"worker": 1}, "migrations": 1},
    },
    "version": 150020,
    "settings": {"fsync": "on", "TimeZone": "GMT", "max_connections": "60", "superuser_reserved_connections": "3"},
    "extensions": ["plpgsql"],
    "role": {
        "name": "app",
        "superuser": False,
        "creates_roles": False,
        "creates_databases": False,
        "bypasses_row_security": False,
        "replicates": False,
        "member_of": [],
    },
    "owned": [],
    "backends": [{"application": "worker-7c4-a", "address": "10.0.0.2", "tls": True, "protocol": "TLSv1.3"}],
    "folders": {"data_directory": "/data/pg/data"},
    "mounts": [
        {"path": "/data", "volume": "cache", "source": "emptyDir", "claim": "", "phase": ""},
        {"path": "/data/pg", "volume": "data", "source": "persistentVolumeClaim", "claim": "d", "phase": "Bound"},
    ],
    "clients": [{"name": "worker", "replicas": 1, "surge": 1, "pool": None}],
}
MORE: dict[str, dict[str, Any]] = {
    "database-encrypted": {"at_least": "TLSv1.2", "clients": ["worker"]},
    "database-role": {},
    "database-settings": {},
    "database-budget": {},
    "database-volume": {"folder": "data_directory"},
}


def told(kind: str, event: str, data: list[dict[str, Any]], **arguments: Any) -> verdict.Verdict:
    story = histories.Story()
    story.load("look", [histories.request("healthz")])
    for one in data:
        story.add(event, load="look", **one)
    return histories.judged(kind, story, load="look", **arguments)


def judged(kind: str, **other: Any) -> verdict.Verdict:
    return told(kind, "database", [{**WHOLE, **other}], **MORE[kind])


@pytest.mark.parametrize("kind", MORE)
def test_a_database_as_declared_passes_and_one_that_was_not_read_is_unknown(kind: str) -> None:
    assert judged(kind).judged == PASS, judged(kind).sentence
    assert told(kind, "database", [], **MORE[kind]).judged == UNKNOWN
    assert told(kind, "database", [{}], **MORE[kind]).judged == UNKNOWN


def test_a_load_that_did_not_end_is_unknown() -> None:
    story = histories.Story()
    story.add("load-started", load="look")
    story.add("database", load="look", **WHOLE)
    assert histories.judged("database-role", story, load="look").judged == UNKNOWN


def backend(**more: Any) -> dict[str, Any]:
    return {**WHOLE["backends"][0], **more}


@pytest.mark.parametrize(
    ("kind", "other", "sentence"),
    [
        ("database-encrypted", {"backends": [backend(), backend(tls=False)]}, "1 that do not: worker-7c4-a: no TLS"),
        ("database-encrypted", {"backends": [backend(protocol="TLSv1.1")]}, "worker-7c4-a: TLSv1.1"),
        ("database-role", {"role": {**WHOLE["role"], "superuser": True}}, "superuser"),
        ("database-role", {"role": {**WHOLE["role"], "creates_roles": True}}, "creates roles"),
        ("database-role", {"role": {**WHOLE["role"], "member_of": ["owner"]}}, "is a member of owner"),
        ("database-role", {"owned": ["table jobs"]}, "owns table jobs"),
        ("database-settings", {"version": 160001}, "expected server 15; saw server 16"),
        ("database-settings", {"settings": {"fsync": "off", "TimeZone": "GMT"}}, "expected fsync on; saw fsync off"),
        ("database-settings", {"settings": {"fsync": "on"}}, "saw TimeZone None"),
        ("database-settings", {"extensions": ["dblink", "plpgsql"]}, "saw extensions ['dblink', 'plpgsql']"),
        ("database-budget", {"clients": [{**WHOLE["clients"][0], "pool": 28}]}, "saw 59 (2 x 29 of worker + 1 of"),
        ("database-budget", {"backends": [backend()] * 10}, "saw worker-7c4-a: 10, its share is 9"),
        ("database-volume", {"mounts": WHOLE["mounts"][:1]}, "it lies on volume cache, which is an emptyDir"),
        ("database-volume", {"mounts": []}, "it lies on no volume at all"),
        (
            "database-volume",
            {"mounts": [{**WHOLE["mounts"][1], "phase": "Pending"}]},
            "saw claim d is Pending",
        ),
    ],
)
def test_what_is_not_as_it_should_be_fails_and_is_named(kind: str, other: dict[str, Any], sentence: str) -> None:
    found = judged(kind, **other)
    assert found.judged == FAIL
    assert sentence in found.sentence


def test_a_budget_that_is_used_up_to_the_last_connection_fits() -> None:
    assert judged("database-budget", clients=[{"name": "worker", "replicas": 6, "surge": 1, "pool": 7}]).judged == PASS
    assert judged("database-budget", clients=[{"name": "api", "replicas": 4, "surge": 3, "pool": 8}]).judged == PASS
    assert judged("database-budget", clients=[{"name": "api", "replicas": 4, "surge": 4, "pool": 8}]).judged == FAIL


@pytest.mark.parametrize(
    ("kind", "other", "sentence"),
    [
        ("database-encrypted", {"backends": [backend(application="other-1")]}, "worker had no connection"),
        ("database-budget", {"settings": {}}, "cannot be added up: KeyError"),
        ("database-budget", {"clients": [{**WHOLE["clients"][0], "pool": "many"}]}, "ValueError"),
        ("database-budget", {"clients": []}, "no Deployment"),
    ],
)
def test_what_cannot_be_told_is_unknown(kind: str, other: dict[str, Any], sentence: str) -> None:
    found = judged(kind, **other)
    assert found.judged == UNKNOWN
    assert sentence in found.sentence


REFUSED = {"attempt": "in", "accepted": False, "code": "42501", "said": "permission\n  denied", "shows": {}}
TAKEN = {"attempt": "in", "accepted": True, "code": "", "said": "TLSv1.3", "shows": {"URL": {"a": "x"}}}


@pytest.mark.parametrize(
    ("seen", "wanted", "sentence"),
    [
        (REFUSED, {"accepted": False, "code": "42501", "says": ["permission denied"]}, ""),
        (TAKEN, {"accepted": True, "says": ["TLSv1.3"], "shows": {"URL": {"a": "x"}}}, ""),
        (TAKEN, {"accepted": False, "says": ["denied"]}, "in to be refused with 'denied'; saw accepted (TLSv1.3)"),
        (REFUSED, {"accepted": True}, "in to be accepted; saw refused: 42501 permission"),
        (REFUSED, {"accepted": False, "says": ["denied", "schema"]}, "refused with 'schema'; saw refused: 42501"),
        (REFUSED, {"accepted": False, "code": "28000", "says": ["denied"]}, "refused with 28000 and 'denied'"),
        (TAKEN, {"accepted": True, "says": ["TLSv1.2"]}, "accepted with 'TLSv1.2'; saw accepted (TLSv1.3)"),
        (TAKEN, {"accepted": True, "shows": {"URL": {}}}, "accepted with URL {}; saw {'a': 'x'}"),
    ],
)
def test_an_attempt_must_end_as_stated_and_for_the_stated_reason(
    seen: dict[str, Any], wanted: dict[str, Any], sentence: str
) -> None:
    found = told("attempts", "attempt", [seen], each=[{"attempt": "in", **wanted}])
    assert found.judged == (FAIL if sentence else PASS), found.sentence
    assert sentence in found.sentence


def test_an_attempt_that_was_not_made_is_unknown() -> None:
    found = told("attempts", "attempt", [TAKEN], each=[{"attempt": "out", "accepted": True}])
    assert found.judged == UNKNOWN
    assert "made no attempt out" in found.sentence
