"""Judging a whole scenario, and what every kind of check promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from space_smoke.checks import judge, kinds
from space_smoke.model import history, scenario, verdict
from space_smoke.tests.unit import histories

ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "has-store": {"load": "drain"},
    "token-bucket": {"load": "drain", "burst": 4, "refill_rps": 1.0, "refusals_carry": ["retry-after"]},
    "concurrency-cap": {"load": "drain", "limit": 3},
    "all-admitted": {"load": "drain", "reason": "none", "added_latency_p99_s": 0.2, "against": "drain"},
    "refused-on-each-pod": {"load": "drain", "within_s": 5.0},
    "decisions-add-up": {"phases": "all"},
    "answers": {
        "load": "drain",
        "each": [{"step": 0, "status": 200, "body": {"a": [1]}, "ended": {"state": "failed"}}],
    },
    "bucket-full-again": {"load": "drain", "after": "drain", "burst": 3, "refill_rps": 0.1},
    "leases-gone": {"load": "drain", "across": "drain", "limit": 3},
    "writes-survive": {"load": "drain", "ledger": "drain"},
    "outage-bounded": {"load": "drain", "faults": ["gone"], "within_s": 5.0},
    "readiness-follows": {"load": "drain", "faults": ["gone"], "within_s": 5.0},
    "placed": {"load": "drain", "group": "sandbox"},
    "pending": {"load": "drain", "says": "no room"},
    "counted": {"load": "drain", "after": "drain", "metric": "all_total", "by": 0},
    "token-scopes": {"load": "drain", "needs": {"create": "write"}},
    "telemetry-arrived": {"load": "drain", "what": "logs", "within_s": 5.0},
    "attempts": {"load": "drain", "each": [{"attempt": "first", "accepted": True}]},
    "nothing-new": {"load": "drain", "against": "drain"},
    "database-encrypted": {"load": "drain", "at_least": "TLSv1.3", "clients": ["api"]},
    "database-role": {"load": "drain"},
    "database-settings": {"load": "drain"},
    "database-budget": {"load": "drain"},
    "database-volume": {"load": "drain", "folder": "data_directory"},
    "spend-converges": {"watch": "drain", "loads": ["drain"], "sites": ["a"]},
    "spend-monotone": {"watch": "drain", "loads": ["drain"], "sites": ["a"], "samples": 2},
    "spend-replayed": {"load": "drain", "after": "drain"},
    "spend-apart": {"watch": "drain", "loads": ["drain"], "groups": [["a"], ["b"]]},
    "providers-unchanged": {"watch": "drain", "sites": ["a"], "samples": 2},
    "status-quiet": {"watch": "drain", "sites": ["a"], "for_s": 1.0, "samples": 2},
    "condition": {"watch": "drain", "site": "a", "type": "MeshHealthy", "status": "True"},
    "budget-rows": {"watch": "drain", "sites": ["a"], "rows": []},
    "crd-current": {"load": "drain"},
    "current-pods": {"loads": "all"},
    "nothing-left": {},
}


def story(count: int = 0) -> histories.Story:
    told = histories.Story()
    told.add("scenario-started", scenario="local.tried")
    told.load("drain", [histories.drawn(1.0, True)])
    told.add("open-faults", count=count, faults=["left"][:count])
    return told


def test_every_kind_is_listed_under_its_own_name_and_tried_here() -> None:
    assert all(name == kind.name and kind.summary for name, kind in kinds.KINDS.items())
    assert set(ARGUMENTS) == set(kinds.KINDS)
    assert set(kinds.ALWAYS) <= set(kinds.KINDS)


@pytest.mark.parametrize("kind", kinds.KINDS.values(), ids=lambda kind: kind.name)
def test_every_schema_is_valid_and_closed(kind: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(kind.schema)
    assert kind.schema["additionalProperties"] is False
    assert not kind.looks_at or kind.looks_at in kind.schema["properties"]


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_every_kind_says_unknown_of_an_empty_history(kind: str) -> None:
    found = histories.judged(kind, histories.Story(), **ARGUMENTS[kind])
    assert found.judged == verdict.Judged.UNKNOWN
    assert found.sentence.startswith("could not be judged: ")


def test_the_checks_that_are_always_judged_are_added_once() -> None:
    found = judge.judge_all(histories.one_load(), story().events)
    assert [one.check for one in found] == ["current-pods", "nothing-left"]
    assert {one.judged for one in found} == {verdict.Judged.PASS}
    named = replace(histories.one_load(), checks=(scenario.Check("current-pods", {"loads": []}, "current-pods none"),))
    assert [one.check for one in judge.judge_all(named, story().events)] == ["current-pods none", "nothing-left"]


def test_a_check_that_crashes_is_unknown_and_names_the_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> verdict.Verdict:
        raise ZeroDivisionError("division by zero")

    table = {**kinds.KINDS, "has-store": replace(kinds.KINDS["has-store"], judge=broken)}
    monkeypatch.setattr(kinds, "KINDS", table)
    the = histories.of_phases(checks=[scenario.Check("has-store", {}, "has-store probe")])
    found = judge.judge_all(the, story().events)[0]
    assert found.judged == verdict.Judged.UNKNOWN
    assert "ZeroDivisionError: division by zero" in found.sentence


def test_a_kind_that_is_not_there_is_unknown() -> None:
    the = histories.of_phases(checks=[scenario.Check("guesswork", {}, "guesswork")])
    assert judge.judge_all(the, story().events)[0].judged == verdict.Judged.UNKNOWN


def test_another_scenario_of_the_same_run_is_not_judged_along() -> None:
    told = story(count=1)
    told.add("scenario-started", scenario="local.other")
    told.add("open-faults", count=0, faults=[])
    found = judge.judge_all(histories.one_load(), told.events)
    assert found[-1].sentence == "expected 0 open faults; saw 1 (left)"


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 600) | st.floats(-1, 5) | st.sampled_from(["drain", "create", "429"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["outcome", "name"]), inner),
    max_leaves=5,
)
fields = st.sampled_from([*histories.request(), "load", "step", "body", "state", "pods", "count", "requests", "faults"])
tangled = st.lists(
    st.tuples(
        st.sampled_from(["request", "pods", "load-started", "load-ended", "open-faults"]),
        st.dictionaries(fields, values),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(tangled)
def test_no_history_makes_a_check_raise(drawn: list[tuple[str, dict[str, Any]]]) -> None:
    events = [history.Event(n, float(n), kind, {"load": "drain", **data}) for n, (kind, data) in enumerate(drawn)]
    for kind, arguments in ARGUMENTS.items():
        check = scenario.Check(kind, arguments, kind)
        kinds.KINDS[kind].judge(check, events, histories.one_load())
