"""The schema for editors and the table of scenarios: made from the real tables and the real scenarios."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import jsonschema
import pytest

from space_smoke import errors
from space_smoke.checks import kinds as checks
from space_smoke.faults import kinds as faults
from space_smoke.loads import kinds as loads
from space_smoke.model import scenario
from space_smoke.spec import generated, load, nodes, readme, schema
from space_smoke.tests.unit import spec_tables

_ROOT = pathlib.Path(__file__).parents[3]
_SCENARIOS = _ROOT / "scenarios"
_TABLES = schema.Tables(faults.KINDS, loads.KINDS, checks.KINDS)


def _shipped() -> dict[str, scenario.Scenario]:
    return {one.id: one for one in load.scenarios(_SCENARIOS, _TABLES)}


def test_every_shipped_scenario_is_right() -> None:
    assert {"local.rate_limiters_enforce_and_fail_open", "ecw.sandbox_info", "ecw.command_round_trip"} <= set(
        _shipped()
    )


def test_generated_files_are_what_would_be_generated_now() -> None:
    for path, text in generated.contents(_SCENARIOS, _TABLES).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run space_smoke lint --write"


def test_every_shipped_scenario_names_the_schema_on_line_one_so_that_editors_complete() -> None:
    for path in load.find(_SCENARIOS):
        match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", path.read_text().splitlines()[0])
        assert match, f"{path} does not name the schema on line one"
        assert (path.parent / match[1]).resolve() == generated.SCHEMA.resolve()


def test_editors_accept_what_lint_accepts() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(generated.SCHEMA.read_text()))
    for document in load.read(load.find(_SCENARIOS)):
        validator.validate(document.data)


def test_the_schema_is_a_schema_and_the_same_for_the_same_tables() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.build(_TABLES))
    backwards = schema.Tables(
        dict(sorted(_TABLES.faults.items(), reverse=True)),
        dict(sorted(_TABLES.loads.items(), reverse=True)),
        dict(sorted(_TABLES.checks.items(), reverse=True)),
    )
    assert schema.text(_TABLES) == schema.text(backwards)


def test_the_schema_has_no_format_that_other_validators_read_another_way() -> None:
    assert '"format"' not in schema.text(_TABLES)


def test_durations_and_rates_of_the_limiter_scenario_arrive_in_their_units() -> None:
    limiter = _shipped()["local.rate_limiters_enforce_and_fail_open"]
    named = {one.name: one.arguments for phase in limiter.phases for one in phase.loads}
    assert named["drain"]["rate_rps"] == 30.0
    assert named["open-connects"] == {
        "rate_rps": 10.0,
        "for_s": 5.0,
        "concurrency": 10,
        "client": "smoke-b",
        "pods": "each",
        "sandbox": "existing",
    }
    assert named["again"]["within_s"] == 5.0
    assert [fault.name for fault in limiter.holding(limiter.phases[2])] == ["smoke-caps", "no-store"]


def test_the_drain_of_the_limiter_scenario_can_tell_a_bucket_that_forgets_from_one_that_does_not() -> None:
    """A time to live without a floor is 0 for these caps, and the demand is far above what the bucket gives."""
    limiter = _shipped()["local.rate_limiters_enforce_and_fail_open"]
    env = limiter.faults[0].arguments["env"]
    burst = int(env["SPACE_CLUSTER_ACTIVATION_ADMISSION_BURST"])
    refill_rps = float(env["SPACE_CLUSTER_ACTIVATION_ADMISSION_REFILL_PER_SECOND"])
    drain = limiter.phases[1].loads[0].arguments
    assert int(2 * burst / refill_rps) == 0
    assert drain["requests"] > 2 * (burst + refill_rps * drain["requests"] / drain["rate_rps"])
    bucket = next(check.arguments for check in limiter.checks if check.kind == "token-bucket")
    assert (bucket["burst"], bucket["refill_rps"]) == (burst, refill_rps)


def test_no_client_of_the_drain_meets_its_own_cap() -> None:
    limiter = _shipped()["local.rate_limiters_enforce_and_fail_open"]
    env = limiter.faults[0].arguments["env"]
    drain = limiter.phases[1].loads[0].arguments
    known = env["SPACE_API_CLIENT_CONCURRENCY_KNOWN_CLIENTS"].split(",")
    assert {f"{drain['client']}-{n}" for n in range(drain["clients"])} <= set(known)
    assert drain["requests"] <= drain["clients"] * int(env["SPACE_API_CLIENT_CONCURRENCY_LIMIT"])


def test_the_table_escapes_what_would_break_it() -> None:
    one = scenario.Scenario("a", "b", "x | y <z>.", ("l",), 5.0, scenario.BenchNeeds(), (), (), ())
    assert readme.table([one]).splitlines()[2] == "| [a.b](a/b.yaml) | x \\| y &lt;z>. | l | 5 s |"


def test_only_the_table_between_the_marks_changes() -> None:
    text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n"
    made = readme.updated(text, [])
    assert made.startswith("before\n")
    assert made.endswith(f"{readme.END}\nafter\n")
    assert "old" not in made
    assert readme.updated(made, []) == made


@pytest.mark.parametrize("text", ["", readme.BEGIN, readme.END])
def test_a_readme_without_both_marks_is_wrong_usage(text: str) -> None:
    with pytest.raises(errors.UsageError, match="no place for the table"):
        readme.updated(text, [])


def test_write_changes_what_is_out_of_date_and_nothing_else(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generated, "SCHEMA", tmp_path / "made.json")
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "caps_hold.yaml").write_text(spec_tables.RIGHT)
    (tmp_path / "README.md").write_text(f"{readme.BEGIN}\n{readme.END}\n")
    assert set(generated.write(tmp_path, spec_tables.TABLES)) == {tmp_path / "made.json", tmp_path / "README.md"}
    assert generated.write(tmp_path, spec_tables.TABLES) == ()
    assert "local.caps_hold" in (tmp_path / "README.md").read_text()


_OPEN = {"type": "object", "properties": {}}
_NAMED = spec_tables.Closed({"target": {}}).schema
_REFERRED = spec_tables.Closed({"x": {"$ref": "#/x"}}).schema


@pytest.mark.parametrize(("own", "said"), [(_OPEN, "closed object"), (_NAMED, "already a word"), (_REFERRED, r"\$ref")])
def test_a_kind_whose_schema_cannot_be_used_is_a_defect_by_name(own: dict[str, Any], said: str) -> None:
    tables = schema.Tables({"bad": spec_tables.Kind("bad", own)}, {}, {})
    with pytest.raises(ValueError, match=f"kind bad: .*{said}"):
        schema.build(tables)


def test_a_value_is_cut_to_fit_a_line() -> None:
    assert len(nodes.quoted("x" * 500)) == 60


def test_the_scenario_of_the_guide_is_right(tmp_path: pathlib.Path) -> None:
    guide = (_ROOT / "docs" / "writing-a-scenario.md").read_text(encoding="utf-8")
    (tmp_path / "local").mkdir()
    whole = "".join(re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL))
    (tmp_path / "local" / "store_may_go_away.yaml").write_text(whole, encoding="utf-8")
    (made,) = load.scenarios(tmp_path, _TABLES)
    assert [check.label for check in made.checks] == ["all-admitted open", "decisions-add-up"]
