"""Choosing scenarios: nothing is left out or run twice, and no choice is empty in silence."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from space_smoke import errors
from space_smoke.model import scenario
from space_smoke.spec import select


def _scenario(name: str, labels: Sequence[str] = ()) -> scenario.Scenario:
    area, stem = name.split(".")
    needs = scenario.BenchNeeds()
    return scenario.Scenario(area, stem, f"{stem} holds.", tuple(labels), 90.0, needs, (), (), ())


_ALL = (
    _scenario("local.caps", ["limiter", "redis"]),
    _scenario("ecw.info", ["ecw"]),
    _scenario("local.restart", ["redis"]),
)


def _ids(scenarios: Sequence[scenario.Scenario]) -> list[str]:
    return [one.id for one in scenarios]


def test_without_names_and_labels_all_are_chosen_by_id() -> None:
    assert _ids(select.choose(_ALL)) == ["ecw.info", "local.caps", "local.restart"]


def test_names_choose_exactly_and_once() -> None:
    assert _ids(select.choose(_ALL, names=["local.restart", "ecw.info", "ecw.info"])) == ["ecw.info", "local.restart"]


def test_every_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(errors.UsageError) as caught:
        select.choose(_ALL, names=["local.cap", "zzz", "ecw.info"])
    assert caught.value.message == (
        'there is no scenario local.cap; did you mean "local.caps"?\n'
        "there is no scenario zzz; there is: ecw.info, local.caps, local.restart"
    )


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        (["redis"], ["local.caps", "local.restart"]),
        (["redis,limiter"], ["local.caps"]),
        (["limiter", "ecw"], ["ecw.info", "local.caps"]),
        (["redis,limiter", "ecw"], ["ecw.info", "local.caps"]),
    ],
)
def test_a_comma_wants_both_labels_and_a_second_expression_is_an_alternative(
    labels: list[str], chosen: list[str]
) -> None:
    assert _ids(select.choose(_ALL, labels=labels)) == chosen


@pytest.mark.parametrize("labels", [["redsi"], ["redis,"], ["ecw", "redsi"]])
def test_a_label_that_no_scenario_has_is_wrong_usage(labels: list[str]) -> None:
    with pytest.raises(errors.UsageError, match="no scenario has the label"):
        select.choose(_ALL, labels=labels)


def test_labels_that_no_scenario_has_together_are_wrong_usage() -> None:
    with pytest.raises(errors.UsageError, match="--label ecw,redis chooses no scenario"):
        select.choose(_ALL, labels=["ecw,redis"])


def test_an_empty_shard_is_wrong_usage() -> None:
    with pytest.raises(errors.UsageError, match="shard 4/4 is empty: there are 3 scenarios for 4 shards"):
        select.choose(_ALL, shard=select.Shard(4, 4))


@pytest.mark.parametrize(
    "written", ["0/2", "3/2", "1/0", "0/0", "1", "1/2/3", "a/b", "-1/2", "1/-2", "", "1 /2", "٣/٤"]
)
def test_a_shard_outside_one_to_n_is_wrong_usage(written: str) -> None:
    with pytest.raises(errors.UsageError, match="--shard"):
        select.parse_shard(written)


def test_a_shard_is_read_as_it_is_written() -> None:
    assert str(select.parse_shard("2/4")) == "2/4"


_NAMES = st.lists(st.from_regex(r"[a-c]{1,3}\.[a-c]{1,4}", fullmatch=True), min_size=1, max_size=30, unique=True)


@given(_NAMES, st.integers(1, 12), st.data())
def test_shards_hold_every_scenario_exactly_once_in_any_order_of_files(
    names: list[str], count: int, data: st.DataObject
) -> None:
    known = data.draw(st.dictionaries(st.sampled_from(names), st.floats(0, 1e6), max_size=len(names)))
    shuffled = data.draw(st.permutations(names))
    parts = select.shards([_scenario(name) for name in names], count, known)
    assert sorted(one.id for part in parts for one in part) == sorted(names)
    assert parts == select.shards([_scenario(name) for name in shuffled], count, known)
    assert len(parts) == count
    assert all(parts) == (count <= len(names)), "a shard is empty only where there are more shards than scenarios"


@given(st.lists(st.floats(0.1, 1000), min_size=1, max_size=30), st.integers(1, 8))
def test_no_shard_is_longer_than_its_fair_part_and_one_scenario(seconds: list[float], count: int) -> None:
    known = {f"a.s{number}": value for number, value in enumerate(seconds)}
    totals = [sum(known[one.id] for one in part) for part in select.shards([_scenario(n) for n in known], count, known)]
    assert max(totals) <= sum(seconds) / count + max(seconds) + 1e-6


def test_the_longest_goes_first_and_the_unmeasured_count_as_the_median() -> None:
    named = [_scenario(f"a.{name}") for name in "abcde"]
    parts = select.shards(named, 2, {"a.a": 10.0, "a.b": 2.0, "a.c": 4.0})
    assert [_ids(part) for part in parts] == [["a.a", "a.b"], ["a.c", "a.d", "a.e"]]


def test_a_shard_is_cut_from_what_labels_leave() -> None:
    halves = [select.choose(_ALL, labels=["redis"], shard=select.Shard(index, 2)) for index in (1, 2)]
    assert [_ids(half) for half in halves] == [["local.caps"], ["local.restart"]]


def test_durations_are_read_by_id_and_an_absent_file_records_none(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "durations.json"
    assert select.durations(path) == {}
    path.write_text('{"a.b": {"p75_s": 12, "runs": 3}}')
    assert select.durations(path) == {"a.b": 12.0}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"a.b": 3}',
        '{"a.b": {}}',
        '{"a.b": {"p75_s": -1}}',
        '{"a.b": {"p75_s": NaN}}',
        '{"a.b": {"p75_s": true}}',
    ],
)
def test_a_broken_file_of_durations_is_wrong_usage_and_names_the_file(text: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "durations.json"
    path.write_text(text)
    with pytest.raises(errors.UsageError, match=r"durations\.json cannot be used to cut shards"):
        select.durations(path)


def test_the_json_of_a_list_names_what_a_script_needs() -> None:
    assert select.as_json(_ALL[:1]) == {
        "scenarios": [
            {
                "id": "local.caps",
                "area": "local",
                "claim": "caps holds.",
                "labels": ["limiter", "redis"],
                "budget_s": 90.0,
            }
        ]
    }
