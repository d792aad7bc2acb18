"""Scenario files through load, defaults and validation: the exact words of every mistake, and what right files become."""

from __future__ import annotations

import copy
import json
import pathlib
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from space_smoke import errors
from space_smoke.model import scenario
from space_smoke.spec import arguments, load, nodes
from space_smoke.tests.unit import spec_tables

_CASES = pathlib.Path(__file__).parent / "spec_cases"


def _cases(pattern: str) -> list[Any]:
    tables = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(_CASES.glob(pattern))}
    return [pytest.param(case, id=f"{stem}: {case['case']}") for stem, cases in tables.items() for case in cases]


def _changed(case: dict[str, Any]) -> str:
    text = spec_tables.RIGHT
    for change in case["change"]:
        if change["from"] == "*":
            return str(change["to"])
        assert text.count(change["from"]) == 1, f"the case changes {change['from']!r}, which is not there exactly once"
        text = text.replace(change["from"], change["to"])
    return text


def _write(root: pathlib.Path, text: str, name: str = "local/caps_hold.yaml") -> pathlib.Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def _mistakes(root: pathlib.Path) -> list[str]:
    with pytest.raises(errors.SpecError) as caught:
        load.scenarios(root, spec_tables.TABLES)
    return [str(mistake).removeprefix(f"{root}/") for mistake in caught.value.mistakes]


def _one(root: pathlib.Path, text: str) -> scenario.Scenario:
    _write(root, text)
    return load.scenarios(root, spec_tables.TABLES)[0]


@pytest.mark.parametrize("case", _cases("invalid-*.yaml"))
def test_each_mistake_is_told_with_place_value_rule_and_nearest_word(
    case: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    _write(tmp_path, _changed(case))
    assert _mistakes(tmp_path) == [f"local/caps_hold.yaml:{told}" for told in case["mistakes"]]


@pytest.mark.parametrize("case", _cases("valid-*.yaml"))
def test_a_right_file_becomes_one_scenario(case: dict[str, Any], tmp_path: pathlib.Path) -> None:
    assert _one(tmp_path, _changed(case)).id == "local.caps_hold"


def test_a_right_file_arrives_whole(tmp_path: pathlib.Path) -> None:
    path = _write(tmp_path, spec_tables.RIGHT)
    assert load.scenarios(tmp_path, spec_tables.TABLES) == (
        scenario.Scenario(
            area="local",
            name="caps_hold",
            claim="The caps hold.",
            labels=("limiter",),
            budget_s=90.0,
            bench=scenario.BenchNeeds(("space-redis", "space-api"), {"space-api": 2}),
            faults=(
                scenario.Fault(
                    "no-store",
                    "scale",
                    scenario.Target("deployment", "space-redis"),
                    {"replicas": 0},
                    ("lost",),
                    f"{path}:9:5",
                ),
            ),
            phases=(
                scenario.Phase(
                    "standing",
                    (scenario.Load("drain", "ecw-create", {"requests": 3, "rate_rps": 1.5}, f"{path}:17:9"),),
                    f"{path}:15:5",
                ),
                scenario.Phase(
                    "lost",
                    (scenario.Load("open", "ecw-connect", {"hold_s": 0.25, "pods": "each"}, f"{path}:20:9"),),
                    f"{path}:18:5",
                ),
                scenario.Phase("back", (), f"{path}:21:5"),
            ),
            checks=(
                scenario.Check(
                    "token-bucket",
                    {"load": "drain", "burst": 2, "refill_rps": 5.0},
                    "token-bucket drain",
                    f"{path}:23:5",
                ),
                scenario.Check("decisions-add-up", {"phases": "all"}, "decisions-add-up", f"{path}:24:5"),
            ),
            path=str(path),
        ),
    )


def test_a_namespace_is_the_targets_or_else_the_kinds_own_argument(tmp_path: pathlib.Path) -> None:
    site = "target: deployment/grid-a\n    namespace: grid-a"
    made = _one(tmp_path, spec_tables.RIGHT.replace("target: deployment/space-redis", site)).faults[0]
    assert (made.target, made.arguments) == (scenario.Target("deployment", "grid-a", "grid-a"), {"replicas": 0})
    cut = "kind: cut\n    target: node/infra\n    namespace: grid-a"
    changed = spec_tables.RIGHT.replace("kind: scale\n    target: deployment/space-redis\n    replicas: 0", cut)
    made = _one(tmp_path, changed).faults[0]
    assert (made.target, made.arguments) == (scenario.Target("node", "infra"), {"namespace": "grid-a"})


def test_units_and_defaults_reach_into_lists(tmp_path: pathlib.Path) -> None:
    steps = "kind: ecw-session, steps: [{do: create}, {do: command, timeout: 2m}]"
    made = _one(tmp_path, spec_tables.RIGHT.replace("kind: ecw-connect, hold: 250ms", steps))
    assert made.phases[1].loads[0].arguments == {
        "steps": [{"do": "create", "timeout_s": 10.0}, {"do": "command", "timeout_s": 120.0}]
    }


def test_units_reach_into_the_branches_of_a_choice_and_leave_other_values_alone() -> None:
    branches = [{"properties": {"wait": spec_tables.DURATION}}, {"properties": {"wait": {"type": "integer"}}}]
    for word in ("oneOf", "anyOf", "allOf"):
        assert arguments.arrived({word: branches}, {"wait": "2m"}) == {"wait_s": 120.0}
        assert arguments.arrived({word: branches}, {"wait": 3}) == {"wait": 3}
    by_name = {"properties": {"each": {"additionalProperties": {"properties": {"at": spec_tables.RATE}}}}}
    assert arguments.arrived(by_name, {"each": {"a": {"at": "90/m"}}}) == {"each": {"a": {"at_rps": 1.5}}}


def test_checks_that_look_alike_get_labels_of_their_own(tmp_path: pathlib.Path) -> None:
    check = "  - {kind: token-bucket, load: drain, burst: 2, refill: 5/s}\n"
    made = _one(tmp_path, spec_tables.RIGHT.replace(check, check * 2))
    assert [one.label for one in made.checks] == ["token-bucket drain", "token-bucket drain #2", "decisions-add-up"]


def test_the_mistakes_of_all_files_come_at_once(tmp_path: pathlib.Path) -> None:
    _write(tmp_path, spec_tables.RIGHT, "ecw/other.yaml")
    _write(tmp_path, spec_tables.RIGHT.replace("budget: 90s", "budget: 90"))
    _write(tmp_path, "", "local/empty.yaml")
    assert _mistakes(tmp_path) == [
        'ecw/other.yaml:1:7: name is "caps_hold", and the file is called "other": make them equal',
        "local/caps_hold.yaml:4:9: budget: 90 is a duration without a unit: "
        "write a number and its unit: 250ms, 3s, 2m or 1h",
        "local/empty.yaml:1:1: the file is empty: copy a scenario that exists and change it",
    ]


@pytest.mark.parametrize("name", ["caps_hold.yaml", "local/deeper/caps_hold.yaml", "local/caps_hold.yml"])
def test_a_file_in_another_place_is_a_mistake_and_not_left_out(name: str, tmp_path: pathlib.Path) -> None:
    _write(tmp_path, spec_tables.RIGHT, name)
    assert _mistakes(tmp_path) == [f"{name}:1:1: a scenario is {tmp_path}/<area>/<name>.yaml: move it"]


def test_an_area_that_is_no_word_is_a_mistake(tmp_path: pathlib.Path) -> None:
    _write(tmp_path, spec_tables.RIGHT, "Local/caps_hold.yaml")
    assert _mistakes(tmp_path) == [
        'Local/caps_hold.yaml:1:1: the folder is the scenario\'s area and is called "Local": '
        "use lowercase letters, digits and single underscores, as in sandbox_info"
    ]


def test_one_id_in_two_folders_is_a_mistake(tmp_path: pathlib.Path) -> None:
    paths = [_write(tmp_path / place, spec_tables.RIGHT) for place in ("a", "b")]
    with pytest.raises(errors.SpecError, match=r"b/local/caps_hold.yaml:1:7: local.caps_hold is already in .*/a/local"):
        load.validate(load.set_defaults(load.read(paths), spec_tables.TABLES), spec_tables.TABLES)


def test_a_folder_without_scenarios_is_wrong_usage(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match="has no scenario"):
        load.scenarios(tmp_path, spec_tables.TABLES)


def test_a_file_that_cannot_be_opened_is_a_mistake(tmp_path: pathlib.Path) -> None:
    (document,) = load.read([tmp_path / "gone.yaml"])
    assert [str(mistake) for mistake in document.mistakes] == [
        f"{tmp_path}/gone.yaml:1:1: the file cannot be opened: No such file or directory"
    ]


def test_a_byte_that_is_not_utf_8_is_told_with_its_line() -> None:
    document = nodes.read("f.yaml", b"name: x\nclaim: \xff\n")
    assert [str(one) for one in document.mistakes] == ["f.yaml:2:1: byte 0xff is not UTF-8: save the file as UTF-8"]


def test_a_byte_order_mark_moves_no_place() -> None:
    assert nodes.read("f.yaml", b"\xef\xbb\xbfname: x").keys[("name",)] == (1, 1)


def test_words_that_old_yaml_takes_for_something_else_stay_text() -> None:
    document = nodes.read("f.yaml", b"[yes, off, 2026-01-31, 1:30, 0x1f, .inf]")
    assert document.data == ["yes", "off", "2026-01-31", "1:30", "0x1f", ".inf"]


def test_plain_values_keep_their_types() -> None:
    document = nodes.read("f.yaml", b"[1, -2, 012, 1.5, 1e3, true, False, ~, null, '', '1', !!str 1]")
    assert document.data == [1, -2, 12, 1.5, 1000.0, True, False, None, None, "", "1", "1"]
    assert [type(value) for value in document.data[:5]] == [int, int, int, float, float]


def test_aliases_that_multiply_are_stopped() -> None:
    lines = ["a0: &a0 [1, 1]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
    document = nodes.read("f.yaml", "\n".join(lines).encode())
    assert document.data is None
    assert "more than 20000 values" in document.mistakes[0].message


def test_a_file_nested_past_all_reason_is_a_mistake() -> None:
    document = nodes.read("f.yaml", b"[" * 20_000)
    assert [one.place for one in document.mistakes] == ["f.yaml:1:1"]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inner for found in _paths(one, (*path, key)))]


_RIGHT = yaml.safe_load(spec_tables.RIGHT)
_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.tuples(st.sampled_from(_paths(_RIGHT)), _ANYTHING), min_size=1, max_size=3))
def test_whatever_stands_in_a_file_ends_in_mistakes_with_places_or_in_a_scenario(
    changes: list[tuple[tuple[Any, ...], Any]],
) -> None:
    data = copy.deepcopy(_RIGHT)
    for path, value in changes:
        holder = data
        try:
            for step in path[:-1]:
                holder = holder[step]
            if path:
                holder[path[-1]] = value
            else:
                data = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took this place away
    document = nodes.read("local/caps_hold.yaml", json.dumps(data, ensure_ascii=False).encode())
    told: list[errors.Mistake] = []
    try:
        load.validate(load.set_defaults([document], spec_tables.TABLES), spec_tables.TABLES)
    except errors.SpecError as error:
        told += error.mistakes
    assert all(re.fullmatch(r"local/caps_hold\.yaml:\d+:\d+", one.place) for one in told)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_whatever_bytes_a_file_holds_are_read_or_are_a_mistake(raw: bytes) -> None:
    document = nodes.read("f.yaml", raw)
    assert document.mistakes or document.values
