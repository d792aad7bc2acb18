"""spend-converges, spend-monotone, providers-unchanged, and the formulae that they are judged by."""

from __future__ import annotations

import ast
import importlib
from typing import Any

import pytest

from space_smoke.bench import cache
from space_smoke.checks import gossip_bounds
from space_smoke.model import verdict
from space_smoke.tests.unit import grid_story, histories
from space_smoke.tests.unit.grid_story import SITES, spent

FAIL, PASS, UNKNOWN = verdict.Judged.FAIL, verdict.Judged.PASS, verdict.Judged.UNKNOWN
SWIM = cache.PROJECT / "services" / "swim"


def converges(story: grid_story.Story, **more: Any) -> verdict.Verdict:
    arguments = {"watch": "seen", "loads": ["spend"], "sites": list(SITES), **more}
    return histories.judged("spend-converges", story, **arguments)


def monotone(story: grid_story.Story, samples: int = 5) -> verdict.Verdict:
    arguments = {"watch": "seen", "loads": ["spend"], "sites": list(SITES), "samples": samples}
    return histories.judged("spend-monotone", story, **arguments)


def unchanged(story: grid_story.Story, samples: int = 3) -> verdict.Verdict:
    return histories.judged("providers-unchanged", story, watch="seen", sites=list(SITES), samples=samples)


@pytest.mark.parametrize("profile", gossip_bounds.PROFILES)
@pytest.mark.parametrize("members", [2, 3, 8, 40])
def test_bounds_are_those_that_the_gossip_publishes(
    profile: str, members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(SWIM.parent))
    bounds = importlib.import_module("swim.bounds")
    theirs = getattr(importlib.import_module("swim.parameters"), profile.upper())
    ours = gossip_bounds.PROFILES[profile]
    assert gossip_bounds.convergence_s(members, ours) == pytest.approx(bounds.convergence(members, theirs))
    assert gossip_bounds.healing_s(members, ours) == pytest.approx(bounds.healing(members, theirs))


def test_the_formulae_are_in_the_file_that_is_named() -> None:
    there = {
        node.name for node in ast.parse((SWIM / "bounds.py").read_text()).body if isinstance(node, ast.FunctionDef)
    }
    assert {"convergence", "healing", "gossip_rounds"} <= there


def test_a_sum_that_is_everywhere_in_time_passes_and_the_lag_of_each_site_is_told() -> None:
    found = converges(grid_story.converging(lag_s=1.0))
    assert found.judged == PASS, found.sentence
    assert "acme 1.60 USD on every site after the last acknowledgement: a 1.5 s, b 1.5 s, c 1.5 s" in found.sentence
    assert found.sentence.endswith("bound 14.3 s")  # 13 s for three sites, and 1.35 s until it is shown


def test_a_sum_that_comes_late_fails_and_says_what_was_shown() -> None:
    found = converges(grid_story.converging(lag_s=20.0))
    assert found.judged == FAIL
    assert "expected 1.60 USD of tenant acme on site a within 14.3 s; saw 1.00 USD" in found.sentence


def test_a_watch_that_ends_before_sum_and_bound_is_unknown() -> None:
    found = converges(grid_story.converging(lag_s=12.0, until_s=10.0))
    assert (found.judged, "was not watched until it showed the sum" in found.sentence) == (UNKNOWN, True)


def test_a_site_that_counts_a_repeated_request_again_fails() -> None:
    twice = [spent("a", 30, 2.0, name="r1"), spent("b", 30, 2.0, name="r2"), spent("c", 30, 2.0, name="r3")]
    again = [*twice, spent("a", 30, 2.1, name="r1", replayed=True)]
    found = converges(grid_story.converging(spends=again))  # 190 were told, 160 is shown
    assert found.judged == FAIL
    assert "expected 1.90 USD" in found.sentence


def unanswered(site: str, cents: int) -> dict[str, Any]:
    return spent(site, cents, 2.0, name="open", status=None, ended_s=12.0, error="timed out")


@pytest.mark.parametrize(("cents", "judged"), [(10, PASS), (7, FAIL)])
def test_what_was_not_answered_may_count_or_not_but_not_in_part(cents: int, judged: verdict.Judged) -> None:
    others = [spent(site, share, 2.0) for site, share in zip(SITES, (10, 20, 30), strict=True)]
    assert converges(grid_story.converging(spends=[*others, unanswered("a", cents)])).judged == PASS  # not counted
    counted = [spent("a", 10, 2.0), spent("b", 20, 2.0), spent("c", 20, 2.0), unanswered("c", cents)]
    assert converges(grid_story.converging(spends=counted)).judged == judged  # 150 and 10 are shown


def test_a_refusal_adds_nothing_that_is_waited_for() -> None:
    others = [spent(site, share, 2.0) for site, share in zip(SITES, (10, 20, 30), strict=True)]
    refused = [spent("a", 99, 2.0, name="x", status=404), spent("a", 9, 2.0, name="y", status=503, code="not_joined")]
    assert converges(grid_story.converging(spends=[*others, *refused])).judged == PASS


@pytest.mark.parametrize(
    ("spends", "why"),
    [
        ([spent("a", 60, 2.0), spent("b", 0, 2.0, status=409)], "site b acknowledged no spend"),
        ([spent("a", 60, 2.0, status=503)], "site a acknowledged no spend"),
    ],
)
def test_spend_that_no_one_took_is_unknown(spends: list[dict[str, Any]], why: str) -> None:
    found = converges(grid_story.converging(spends=spends))
    assert (found.judged, why in found.sentence) == (UNKNOWN, True), found.sentence


def differing(*, at_s: float, in_the_end: int) -> grid_story.Story:
    story = grid_story.Story()
    story.watched()
    story.all_show(0.0, {"acme": 100}, ["a", "b"])
    story.sample("c", 0.0, {"acme": 90})
    story.load("spend", [spent(site, 1, 2.0) for site in SITES], kind="grid-spend")
    story.all_show(at_s, {"acme": 103}, ["a", "b"])
    story.sample("c", at_s, {"acme": in_the_end})
    story.ended()
    return story


@pytest.mark.parametrize(("at_s", "in_the_end"), [(20.0, 103), (10.0, 93)], ids=["agree now", "not too late yet"])
def test_sites_that_differed_before_are_unknown(at_s: float, in_the_end: int) -> None:
    found = converges(differing(at_s=at_s, in_the_end=in_the_end))
    assert (found.judged, "did not agree before" in found.sentence) == (UNKNOWN, True), found.sentence


def test_sites_that_differ_when_the_bound_is_over_fail_whatever_was_before() -> None:
    found = converges(differing(at_s=20.0, in_the_end=93))
    assert (found.judged, "a 1.03 USD, b 1.03 USD, c 0.93 USD" in found.sentence) == (FAIL, True), found.sentence


def test_after_a_fault_the_bound_is_that_of_healing_and_counts_from_the_restore() -> None:
    story = grid_story.Story()
    story.watched()
    story.all_show(0.0, {"acme": 0})
    story.add("fault-planned", 1.0, fault="cut")
    story.add("fault-up", 1.5, fault="cut")
    story.load("spend", [spent(site, 10, 2.0) for site in SITES], kind="grid-spend")
    for tenth in range(4, 100):
        at_s = tenth / 2
        if tenth == 40:
            story.add("fault-restored", 20.0, fault="cut")
        story.all_show(at_s, {"acme": 30 if at_s > 38 else 10})
    story.ended()
    found = converges(story, faults=["cut"])
    assert found.judged == PASS, found.sentence
    assert "after the restore: a 18.5 s" in found.sentence
    assert found.sentence.endswith("bound 23.7 s")
    assert converges(story).judged == FAIL
    assert converges(story, faults=["other"]).judged == UNKNOWN


def test_sums_that_only_grow_and_never_pass_what_was_told_pass() -> None:
    found = monotone(grid_story.converging())
    assert found.judged == PASS, found.sentence
    assert "at all samples: 60 of a, 60 of b, 60 of c" in found.sentence


def test_a_sum_that_falls_once_fails_though_it_rises_again() -> None:
    story = grid_story.converging()
    at = next(i for i, event in enumerate(story.events) if event.kind == "sample" and event.data["sent_s"] == 20.0)
    lower = {**story.events[at].data, "shown": grid_story.shown({"acme": 130})}
    story.events[at] = type(story.events[at])(at, story.events[at].at_s, "sample", lower)
    found = monotone(story)
    assert found.judged == FAIL
    assert "tenant acme on site a never to fall below 1.60 USD; saw 1.30 USD 0.5 s later" in found.sentence


def test_a_sum_above_all_that_was_told_by_then_fails() -> None:
    story = grid_story.converging(spends=[spent("a", 10, 2.0), spent("b", 50, 20.0)])  # 160 are shown long before 20 s
    found = monotone(story)
    assert found.judged == FAIL
    assert "expected at most 1.10 USD of tenant acme on site a" in found.sentence


@pytest.mark.parametrize("answer", [{"status": 404}, {"status": 503, "code": "not_joined"}])
def test_what_was_refused_may_not_be_in_a_sum_and_what_was_not_answered_may(answer: dict[str, Any]) -> None:
    taken = spent("a", 10, 2.0)
    assert monotone(grid_story.converging(spends=[taken, spent("b", 50, 2.0, **answer)])).judged == FAIL
    open_ended = spent("b", 50, 2.0, status=503, code="database_unavailable")
    assert monotone(grid_story.converging(spends=[taken, open_ended])).judged == PASS


def test_what_is_not_shown_is_no_fall_and_a_new_epoch_begins_anew() -> None:
    story = grid_story.Story()
    story.watched()
    story.all_show(0.0, {"acme": 100})
    story.load("spend", [spent("a", 10, 2.0)], kind="grid-spend")
    story.all_show(3.0, {"acme": 110})
    story.all_show(4.0, None)
    story.all_show(5.0, {"acme": 110})
    story.all_show(6.0, {"acme": 5}, epoch=2)
    story.ended()
    assert monotone(story, samples=4).judged == PASS
    found = monotone(story, samples=5)
    assert (found.judged, "site a has 4 samples of 5" in found.sentence) == (UNKNOWN, True)


def test_a_history_that_was_cut_is_unknown() -> None:
    story = grid_story.converging()
    story.events.pop()
    for judge in (converges, monotone):
        assert "load seen did not end" in judge(story).sentence
    assert unchanged(story).judged == UNKNOWN


def watched(*later: dict[str, Any], first: dict[str, Any] | None = None) -> grid_story.Story:
    story = grid_story.Story()
    story.watched()
    story.all_show(0.0, {}, **(first or {}))
    for n, more in enumerate(later):
        story.all_show(1.0 + n, {}, **more)
    story.ended()
    return story


def test_providers_that_stay_pass() -> None:
    found = unchanged(watched({}, {}))
    assert found.judged == PASS, found.sentence


@pytest.mark.parametrize("more", [{"providers": [], "count": 0}, {"count": 2}, {"providers": ["b/large"]}])
def test_providers_that_change_at_one_sample_fail(more: dict[str, Any]) -> None:
    found = unchanged(watched(more, {}))
    assert found.judged == FAIL
    assert "expected site a to go on showing 1 providers: a/large; saw" in found.sentence


def test_no_providers_and_too_few_samples_are_unknown() -> None:
    none = {"providers": [], "count": 0}
    assert "showed no provider at first" in unchanged(watched(none, none, first=none)).sentence
    found = unchanged(watched({}))
    assert (found.judged, "site a has 2 samples of 3" in found.sentence) == (UNKNOWN, True)


def bounded(lag_s: float) -> verdict.Verdict:
    arguments = {"watch": "seen", "loads": ["spend"], "sites": list(SITES), "samples": 5, "own_within_s": 2.5}
    return histories.judged("spend-monotone", grid_story.converging(lag_s=lag_s), **arguments)


def test_what_a_site_acknowledged_is_in_its_own_sum_soon_after() -> None:
    assert bounded(2.0).judged == PASS
    found = bounded(4.0)
    assert found.judged == FAIL
    assert (
        "at least 1.10 USD of tenant acme on site a, 2.5 s after it acknowledged that; saw 1.00 USD" in found.sentence
    )


def replayed(*again: dict[str, Any]) -> verdict.Verdict:
    story = grid_story.Story()
    story.load("first", [spent("a", 10, 1.0, name="r1"), spent("a", 5, 1.0, name="r2", status=503)], kind="grid-spend")
    story.load("again", again, kind="grid-spend")
    return histories.judged("spend-replayed", story, load="again", after="first")


def test_what_was_acknowledged_is_known_again_and_what_was_not_may_be_new() -> None:
    known = spent("a", 10, 5.0, name="r1", replayed=True)
    assert replayed(known, spent("a", 5, 5.0, name="r2", replayed=False)).judged == PASS


@pytest.mark.parametrize(
    ("answer", "saw"),
    [
        ({"replayed": False}, "it taken as a new one"),
        ({"status": 409, "code": "no_policy"}, "409 no_policy"),
    ],
)
def test_an_acknowledged_request_that_is_not_known_any_more_fails(answer: dict[str, Any], saw: str) -> None:
    found = replayed(spent("a", 10, 5.0, name="r1", **answer))
    assert found.judged == FAIL
    assert found.sentence == f"expected request r1 of site a to be known already; saw {saw}"


def test_a_repetition_of_nothing_is_unknown() -> None:
    assert replayed(spent("a", 5, 5.0, name="r2")).judged == UNKNOWN
    assert replayed().judged == UNKNOWN
