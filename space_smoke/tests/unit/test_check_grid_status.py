"""status-quiet, condition, budget-rows: what sites show in their GridNetworks at one moment, or do not change."""

from __future__ import annotations

from typing import Any

import pytest

from space_smoke.model import verdict
from space_smoke.tests.unit import grid_story, histories
from space_smoke.tests.unit.grid_story import SITES, spent

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN


def story(*more: dict[str, Any], cents: dict[str, int] | None = None) -> grid_story.Story:
    """A watch of 10 s for each of `more`, which says what is shown then."""
    made = grid_story.Story()
    made.watched()
    for n, shown in enumerate(more):
        made.all_show(10.0 * n, cents, **shown)
    made.ended()
    return made


def quiet(the: grid_story.Story) -> verdict.Verdict:
    return histories.judged("status-quiet", the, watch="seen", sites=list(SITES), for_s=20.0, samples=3)


def test_versions_that_stay_are_quiet() -> None:
    found = quiet(story({}, {}, {}))
    assert found.judged == PASS, found.sentence
    assert "nothing was written on 3 sites in 20.0 s" in found.sentence


def test_one_other_version_in_between_is_not_quiet() -> None:
    found = quiet(story({}, {"version": "2"}, {}))
    assert found.judged == FAIL
    assert "GridNetwork a to stay at resourceVersion 1 for 20 s; saw 1 other version, first 2 10.0 s later" in (
        found.sentence
    )


def test_a_short_watch_or_one_with_spend_is_unknown() -> None:
    assert (
        "site a was watched for 10.0 s of 20 s"
        in histories.judged(
            "status-quiet", story({}, {}), watch="seen", sites=list(SITES), for_s=20.0, samples=2
        ).sentence
    )
    busy = story({}, {}, {})
    busy.load("spend", [spent("a", 1, 12.0)], kind="grid-spend")
    found = quiet(busy)
    assert (found.judged, "spend was told meanwhile" in found.sentence) == (UNKNOWN, True)
    assert quiet(story({}, {})).judged == UNKNOWN


def conditions(status: str, message: str = "all is well") -> dict[str, Any]:
    return {"conditions": {"MeshHealthy": {"status": status, "reason": "R", "message": message}}}


def condition(the: grid_story.Story, **more: Any) -> verdict.Verdict:
    plain = {"watch": "seen", "site": "b", "type": "MeshHealthy", "status": "False", "says": ['"c"']}
    return histories.judged("condition", the, **(plain | more))


def test_a_condition_at_the_end_with_its_word_passes() -> None:
    found = condition(story(conditions("True"), conditions("False", 'no answer of "c"')))
    assert found.judged == PASS, found.sentence
    assert 'MeshHealthy of site b is False (R: no answer of "c")' in found.sentence


@pytest.mark.parametrize(
    "last", [conditions("True", '"c"'), conditions("False", "no answer"), {"conditions": {}}, conditions("Unknown")]
)
def test_another_status_message_or_none_fails_and_is_told(last: dict[str, Any]) -> None:
    found = condition(story(conditions("False", '"c"'), last))
    assert found.judged == FAIL
    assert "expected MeshHealthy of site b to be False with a message that names '\"c\"'" in found.sentence


def test_a_condition_may_have_held_at_some_time() -> None:
    the = story(conditions("True"), conditions("False", '"c"'), conditions("True"))
    assert condition(the, when="ever").judged == PASS
    assert condition(the).judged == FAIL
    assert condition(story(conditions("True")), when="ever").judged == FAIL


def test_a_status_about_an_older_spec_is_unknown() -> None:
    found = condition(story({"generation": 3, "observed": 2, **conditions("False", '"c"')}))
    assert (found.judged, "site b shows generation 2 of 3" in found.sentence) == (UNKNOWN, True)


def rows(the: grid_story.Story, wanted: list[dict[str, Any]], **more: Any) -> verdict.Verdict:
    return histories.judged("budget-rows", the, watch="seen", sites=list(SITES), rows=wanted, **more)


def test_exactly_the_named_rows_pass_by_the_fields_that_are_given() -> None:
    found = rows(story({}, cents={"acme": 250}), [{"tenantId": "acme", "capUsd": 1000, "spendUsd": 2.5}])
    assert found.judged == PASS, found.sentence
    assert rows(story({}), []).judged == PASS


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ([], "no budget row; saw rows of acme alone"),
        ([{"tenantId": "acme"}, {"tenantId": "globex"}], "rows of acme, globex alone; saw rows of acme alone"),
        ([{"tenantId": "acme", "capUsd": 5}], "capUsd 5 of tenant acme; saw 1000.0"),
    ],
)
def test_another_row_field_or_number_of_rows_fails(wanted: list[dict[str, Any]], words: str) -> None:
    found = rows(story({}, cents={"acme": 250}), wanted)
    assert found.judged == FAIL
    assert words in found.sentence


def restored(cents: int) -> grid_story.Story:
    the = story({}, cents={"acme": cents})
    the.add("load-started", load="before", kind="grid-watch", phase="only", arguments={})
    for n, site in enumerate(SITES):
        the.add("request", **{"load": "before", "n": n, **histories.request("healthz")})
        sample = the.sample(site, 1.0, {"acme": 250})
        the.events[-1] = type(sample)(sample.index, sample.at_s, "sample", {**sample.data, "load": "before"})
    the.add("load-ended", load="before", phase="only", requests=3)
    return the


def test_spend_that_was_there_before_must_be_there_again() -> None:
    wanted = [{"tenantId": "acme"}]
    assert rows(restored(250), wanted, against="before").judged == PASS
    found = rows(restored(0), wanted, against="before")
    assert found.judged == FAIL
    assert "site a to show 2.50 USD of tenant acme again; saw 0.00 USD" in found.sentence
    assert rows(story({}, cents={"acme": 1}), wanted, against="before").judged == UNKNOWN
