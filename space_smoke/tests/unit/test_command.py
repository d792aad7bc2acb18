"""The command: what it refuses, with which exit code, and what its JSON looks like."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import space_smoke
from space_smoke import errors
from space_smoke.cli import command, parser, verbs
from space_smoke.model import history

ROOT = Path(space_smoke.__file__).parent


def test_wrong_usage_is_64_and_never_argparses_own_2(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in ([], ["nonsense"], ["run", "--no-such-flag"], ["up", "--api-port", "many"]):
        assert command.main(argv) == errors.USAGE, argv
        assert "--help" in capsys.readouterr().err


def test_run_without_a_choice_asks_which_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["run"]) == errors.USAGE
    assert "which scenarios?" in capsys.readouterr().err


def test_an_unknown_scenario_is_named_with_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["plan", "ecw.sandbox_inof"]) == errors.USAGE
    assert "ecw.sandbox_info" in capsys.readouterr().err


def test_list_prints_the_documented_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["scenarios"]
    assert [set(item) for item in listed] == [{"id", "area", "claim", "labels", "budget_s"}] * len(listed)
    assert "local.rate_limiters_enforce_and_fail_open" in [item["id"] for item in listed]


def test_a_broken_scenario_file_is_64_with_every_mistake_and_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "area").mkdir()
    (tmp_path / "area" / "one.yaml").write_text("name: one\nclaim: x\nbugdet: 90\nphases: []\n")
    assert command.main(["lint", str(tmp_path), "--json"]) == errors.USAGE
    mistakes = json.loads(capsys.readouterr().out)["mistakes"]
    assert len(mistakes) > 1
    assert all(":" in item["place"] for item in mistakes)


def test_a_kind_bench_and_a_context_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["status", "--backend", "kind", "--context", "mine"]
    assert command.main(argv) == errors.USAGE
    assert "exclude each other" in capsys.readouterr().err


def test_a_context_that_does_not_exist_is_5_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACE_SMOKE_CACHE", str(tmp_path / "cache"))
    assert command.main(["status", "--kubeconfig", str(tmp_path / "none"), "--context", "mine"]) == errors.UNFIT
    assert "next:" in capsys.readouterr().err


def test_a_defect_of_the_harness_is_70_with_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_options: object) -> int:
        raise RuntimeError("a defect")

    monkeypatch.setattr(verbs, "VERBS", {"list": broken})
    assert command.main(["list"]) == errors.BROKE
    assert "RuntimeError: a defect" in capsys.readouterr().err


def test_every_verb_has_a_function_and_a_help_text() -> None:
    actions = [action for action in parser.build()._actions if action.dest == "verb"]
    assert set(actions[0].choices or ()) == set(verbs.VERBS)


def test_help_imports_nothing_heavy() -> None:
    heavy = ("kubernetes", "jsonschema", "yaml", "urllib3", "redis", "psycopg")
    code = (
        "import sys; from space_smoke.cli import command, parser; parser.build().format_help(); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_event_that_the_code_emits_is_a_known_kind() -> None:
    names = {"emit", "tell", "told", "_tell"}
    unknown = []
    for path in sorted(ROOT.rglob("*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if name in names and isinstance(first, ast.Constant) and first.value not in history.KINDS:
                unknown.append(f"{path.relative_to(ROOT)}:{node.lineno}: {first.value!r}")
    assert not unknown


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 1], 1), ([1, 5], 1), ([5, 2, 1], 2), ([2, 4, 1], 4), ([4, 3], 3), ([3, 70, 2], 70), ([99], 70)],
)
def test_the_worst_exit_code_wins_in_the_documented_order(codes: list[int], expected: int) -> None:
    assert errors.worst(codes) == expected
