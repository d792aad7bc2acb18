"""The renderer: what it starts, what it remembers, what it reads, and what it says when helm refuses."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
import yaml

from space_smoke import errors
from space_smoke.charts import render

OBJECT = "---\n# Source: thing/templates/a.yaml\nkind: ConfigMap\nmetadata: {name: a}\n"


@dataclass(frozen=True, slots=True)
class Said:
    stdout: str = ""
    stderr: str = ""
    returncode: int = 0


@dataclass
class FakeHelm:
    """Stands for `proc.run`: remembers what it was asked, and answers every render alike."""

    answer: Said = Said(OBJECT)
    asked: list[tuple[list[str], bytes | None]] = field(default_factory=list)

    def __call__(self, argv: Sequence[str], *, timeout_s: float, check: bool, stdin: bytes | None) -> Said:
        if "version" in argv:
            return Said("v3.0.0\n")
        self.asked.append((list(argv), stdin))
        return self.answer


@pytest.fixture
def chart(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "thing"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("name: thing\n")
    return folder


def renderer(fake: FakeHelm, memory: pathlib.Path | None = None, kube_version: str = "v1.34.4") -> render.Renderer:
    return render.Renderer(pathlib.Path("helm"), kube_version=kube_version, run=fake, memory=memory)


def test_equal_cases_are_rendered_once(chart: pathlib.Path) -> None:
    fake = FakeHelm()
    case = render.Case(chart, "x", overrides={"a": 1})
    outcomes = renderer(fake).render_all([case, render.Case(chart, "x", overrides={"a": 1}), render.Case(chart, "y")])
    assert len(fake.asked) == 2
    assert [outcome.case.release for outcome in outcomes if isinstance(outcome, render.Rendered)] == ["x", "x", "y"]


def test_a_changed_chart_values_file_or_version_is_rendered_anew(chart: pathlib.Path, tmp_path: pathlib.Path) -> None:
    fake = FakeHelm()
    values = tmp_path / "values.yaml"
    values.write_text("a: 1")
    case = render.Case(chart, "x", values=(values,))
    first = renderer(fake).key(case)
    assert renderer(fake, kube_version="v1.35.0").key(case) != first
    values.write_text("a: 2")
    second = renderer(fake).key(case)
    (chart / "templates" / "new.yaml").write_text("")
    assert len({first, second, renderer(fake).key(case)}) == 3


def test_a_change_behind_a_link_is_rendered_anew(chart: pathlib.Path, tmp_path: pathlib.Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (below / "values.yaml").write_text("a: 1")
    (chart / "charts").mkdir()
    (chart / "charts" / "below").symlink_to("../../below")
    case = render.Case(chart, "x")
    first = renderer(FakeHelm()).key(case)
    (below / "values.yaml").write_text("a: 2")
    assert renderer(FakeHelm()).key(case) != first


def test_a_fresh_render_asks_helm_again(chart: pathlib.Path) -> None:
    fake = FakeHelm()
    once = renderer(fake)
    once.render(render.Case(chart, "x"))
    once.render(render.Case(chart, "x"), fresh=True)
    assert len(fake.asked) == 2


def test_renders_and_refusals_are_remembered_from_run_to_run(chart: pathlib.Path, tmp_path: pathlib.Path) -> None:
    fake = FakeHelm(Said("", "Error: no", 1))
    for _ in range(2):
        with pytest.raises(errors.CommandFailed, match="Error: no"):
            renderer(fake, tmp_path / "memory").render(render.Case(chart, "x"))
    assert len(fake.asked) == 1


def test_a_memory_that_cannot_be_read_is_rendered_over(chart: pathlib.Path, tmp_path: pathlib.Path) -> None:
    fake = FakeHelm()
    case = render.Case(chart, "x")
    (tmp_path / f"{renderer(fake).key(case)}.json").write_text('{"stdout": "half')
    assert renderer(fake, tmp_path).render(case).text == OBJECT


def test_overrides_reach_helm_after_the_values_files(chart: pathlib.Path, tmp_path: pathlib.Path) -> None:
    fake = FakeHelm()
    values = tmp_path / "values.yaml"
    values.write_text("")
    renderer(fake).render(render.Case(chart, "x", "space", (values,), {"a": None}))
    ((argv, stdin),) = fake.asked
    assert argv[-4:] == ["--values", str(values), "--values", "-"]
    assert json.loads(stdin or b"") == {"a": None}


def test_a_refusal_keeps_all_that_helm_said_and_how_to_see_it(chart: pathlib.Path) -> None:
    said = "\n".join(f"line {number}" for number in range(100))
    with pytest.raises(errors.CommandFailed) as refused:
        renderer(FakeHelm(Said("", said, 1))).render(render.Case(chart, "x", overrides={"a": 1}))
    assert refused.value.output == said
    assert "line 0\n" in str(refused.value)
    assert refused.value.next_step.startswith("""echo '{"a": 1}' | helm template x """)


def test_a_refusal_does_not_stop_the_others(chart: pathlib.Path) -> None:
    outcomes = renderer(FakeHelm(Said("", "no", 1))).render_all([render.Case(chart, "x"), render.Case(chart, "y")])
    assert [type(outcome) for outcome in outcomes] == [errors.CommandFailed, errors.CommandFailed]


def test_a_folder_without_a_chart_is_the_users_mistake(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match=r"holds no Chart\.yaml"):
        renderer(FakeHelm()).render(render.Case(tmp_path, "x"))


def test_a_key_given_twice_is_an_error(chart: pathlib.Path) -> None:
    twice = Said("kind: A\nspec: {b: 1, b: 2}\n")
    with pytest.raises(errors.CommandFailed, match="'b' stands here twice"):
        renderer(FakeHelm(twice)).render(render.Case(chart, "x"))


def test_objects_keep_their_source_and_empty_documents_are_left_out() -> None:
    objects = render.parse(OBJECT + "---\n# Source: thing/templates/empty.yaml\n")
    assert [str(item) for item in objects] == ["ConfigMap/a (templates/a.yaml)"]


def test_scalars_are_read_as_kubernetes_reads_them() -> None:
    text = "a: 2001-01-01\nb: 12:30:45\nc: 1e6\nd: 1.5\ne: 0644\nf: on\ng: '1'\nh: 10\n"
    (read,) = render.parse(text)
    wanted = {"a": "2001-01-01", "b": "12:30:45", "c": 1e6, "d": 1.5, "e": 420, "f": True, "g": "1", "h": 10}
    assert dict(read.body) == wanted
    assert yaml.safe_load(text)["b"] == 45045  # what PyYAML alone would have read


def test_one_names_what_is_missing(chart: pathlib.Path) -> None:
    rendered = renderer(FakeHelm()).render(render.Case(chart, "x"))
    assert rendered.one("ConfigMap", "a")["kind"] == "ConfigMap"
    with pytest.raises(KeyError, match="renders 0 of Secret/a, not one"):
        rendered.one("Secret", "a")


def test_helm_is_looked_for_in_the_variable_then_on_path_then_in_the_cache(tmp_path: pathlib.Path) -> None:
    named, on_path, kept = (tmp_path / name for name in ("named", "on_path", "kept"))
    for file in (named, on_path, kept):
        file.write_text("")
    assert render.locate("helm", {"SPACE_SMOKE_HELM": str(named)}, kept, lambda _: str(on_path)) == named
    assert render.locate("helm", {}, kept, lambda _: str(on_path)) == on_path
    assert render.locate("helm", {}, kept, lambda _: None) == kept


def test_a_variable_that_names_no_file_is_not_passed_over(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.HostUnfit, match="SPACE_SMOKE_HELM4=/nowhere"):
        render.locate("helm4", {"SPACE_SMOKE_HELM4": "/nowhere"}, tmp_path, lambda name: f"/bin/{name}")
