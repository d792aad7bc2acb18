"""Records: what is written is what is read, and what cannot be read is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from space_smoke.model import objects, record

_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_word = st.text(min_size=1, max_size=12)
_refs = st.builds(objects.Ref, _word, _word, st.text(max_size=8), _word, _word)
records = st.builds(
    record.Record,
    fault_id=st.from_regex(r"[a-z0-9][a-z0-9-]{0,39}", fullmatch=True),
    name=_word,
    run=_word,
    kind=_word,
    target=_refs,
    field=st.dictionaries(st.text(max_size=5), _json, max_size=3),
    standing=_json,
    fault=_json,
    fence=st.integers(1, 2**53),
    order=st.integers(0, 1000),
    stage=st.sampled_from(record.STAGES),
    attempts=st.integers(0, 1000),
    last_error=st.text(max_size=20),
    cluster=st.text(max_size=20),
)


def example(**changes: Any) -> record.Record:
    target = objects.Ref("apps/v1", "Deployment", "space", "space-redis", "uid-1")
    given_ = {
        "fault_id": "abc",
        "name": "redis-down",
        "run": "r1",
        "kind": "scale",
        "target": target,
        "field": {"path": "spec.replicas"},
        "standing": {"replicas": 1},
        "fault": {"replicas": 0},
        "fence": 3,
        "order": 0,
    }
    return record.Record(**{**given_, **changes})


def raw(**changes: Any) -> str:
    return json.dumps({**json.loads(record.encode(example())), **changes})


@settings(max_examples=100, derandomize=True, deadline=None)
@given(records)
def test_what_is_written_is_what_is_read(item: record.Record) -> None:
    assert record.decode(item.key, record.encode(item)) == item


@settings(max_examples=100, derandomize=True, deadline=None)
@given(records)
def test_equal_records_are_equal_bytes(item: record.Record) -> None:
    again = record.decode(item.key, record.encode(item))
    assert isinstance(again, record.Record)
    assert record.encode(again) == record.encode(item)


def test_absent_null_and_a_value_stay_three_different_things() -> None:
    kept = [record.decode("space-smoke.dev/record.abc", record.encode(example(standing=value))) for value in _THREE]
    assert [item.standing for item in kept if isinstance(item, record.Record)] == _THREE


_THREE = [{"absent": True}, {"value": None}, {"value": "null"}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "is not of type 'object'"),
        ("null", "is not of type 'object'"),
        (raw(schema=2), "schema 2"),
        (raw(schema=0), "1 was expected"),
        (raw(extra=1), "'extra' was unexpected"),
        (raw(id="other"), "does not belong under this key"),
        (raw(fence=0), "less than the minimum"),
        (raw(phase="done"), "is not one of"),
        (raw(target={"kind": "Deployment"}), "is a required property"),
        (raw(field=[]), "is not of type 'object'"),
        (raw(order="0"), "is not of type 'integer'"),
    ],
)
def test_a_record_that_cannot_be_read_is_refused_by_name(text: str, says: str) -> None:
    found = record.decode("space-smoke.dev/record.abc", text)
    assert isinstance(found, record.Unreadable)
    assert found.key == "space-smoke.dev/record.abc"
    assert says in found.reason


def test_records_are_read_in_the_order_they_were_made() -> None:
    notes = {item.key: record.encode(item) for item in (example(fault_id="a", order=2), example(fault_id="b", order=1))}
    found, unreadable = record.read_all({**notes, "other": "note"})
    assert [item.fault_id for item in found] == ["b", "a"]
    assert unreadable == ()


def test_one_unreadable_record_does_not_hide_the_others() -> None:
    found, unreadable = record.read_all({example().key: record.encode(example()), record.PREFIX + "x": "{"})
    assert [item.fault_id for item in found] == ["abc"]
    assert [item.key for item in unreadable] == [record.PREFIX + "x"]


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.text(min_size=300, max_size=900))
def test_whatever_the_error_says_a_record_grows_by_less_than_its_reserve(error: str) -> None:
    grown = example().at("restoring", error=error, tried=True)
    assert len(record.encode(grown)) - len(record.encode(example())) < record.GROWTH_BYTES


def test_an_attempt_is_counted_and_an_error_stays_until_it_is_replaced() -> None:
    item = example().at("failed", error="first", tried=True).at("restoring", tried=True)
    assert (item.stage, item.attempts, item.last_error) == ("restoring", 2, "first")
