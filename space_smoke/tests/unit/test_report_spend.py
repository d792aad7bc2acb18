"""The picture of spend over time in report.html: what a reader must see of it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from space_smoke.report import gathering, html, outcome, spend, spend_svg
from space_smoke.tests.unit import grid_story
from space_smoke.tests.unit.grid_story import spent


def story() -> grid_story.Story:
    """Tenant acme on three sites, cut off between 5 and 10 s: 100 cents before, 60 more told at 6 s; b hears of all at 12 s, and
    a showed no row at 8 s."""
    made = grid_story.Story()
    made.add("scenario-started", scenario="grid.tried", claim="It holds.")
    made.watched()
    made.all_show(1.0, {"acme": 100})
    told = dict.fromkeys(("kind", "target", "domain"), "x") | {"fault": "cut"}
    made.add("fault-planned", 4.5, **told)
    made.add("fault-up", 5.0, **told)
    made.load("spend", [spent("a", 20, 6.0), spent("a", 40, 6.5)], kind="grid-spend")
    made.sample("a", 7.0, {"acme": 160})
    made.sample("a", 8.0, None)
    made.sample("a", 9.0, {"acme": 160})
    made.sample("b", 9.0, {"acme": 100})
    made.add("fault-restored", 10.0, **told)
    made.all_show(12.0, {"acme": 160})
    made.ended()
    made.add("scenario-ended", 20.0, scenario="grid.tried", outcome="PASS", seconds=20.0)
    return made


def page() -> str:
    return html.render(gathering.run_of(story().events))


def drawing() -> ET.Element:
    found = re.search(r'<svg [^>]*aria-label="Spend of tenant acme.*?</svg>', page(), re.DOTALL)
    assert found, "the page has no picture of tenant acme's spend"
    return ET.fromstring(found[0])


def of_class(word: str) -> list[ET.Element]:
    return [one for one in drawing().iter() if word in (one.get("class") or "").split()]


def lettering() -> list[str]:
    return ["".join(one.itertext()) for one in drawing().iter("text")]


def x_of(at_s: float) -> float:
    axis = of_class("axis")[0]
    left, right = float(axis.get("x1") or 0), float(axis.get("x2") or 0)
    return left + at_s / 20.0 * (right - left)


def test_each_site_has_a_line_that_differs_by_more_than_its_colour_and_stands_in_the_legend() -> None:
    lines = of_class("spend")
    assert [line.get("class") for line in lines] == ["spend spend0", "spend spend1", "spend spend2"]
    assert [line.findtext("title") for line in lines] == [
        f"shown by site {site}: 1.60 USD at the end" for site in ("a", "b", "c")
    ]
    styles = [re.search(rf"\.spend{number}{{([^}}]*)}}", page()) for number in range(3)]
    dashes = [re.sub(r"stroke:[^;]*;?", "", found[1]) for found in styles if found]
    assert len(set(dashes)) == 3
    legend = page().split("</svg><p", 1)
    for site in ("a", "b", "c"):
        assert f"</svg> site {site}</span>" in page(), legend[0][-80:]


def test_the_acknowledged_sum_is_a_line_that_rises_when_it_was_acknowledged() -> None:
    (panel,) = spend.panels(story().events)
    assert panel.told == [(1.01, 100), (6.02, 120), (6.52, 160)]
    (line,) = of_class("told")
    assert line.findtext("title") == "acknowledged on all sites: 1.60 USD at the end"
    assert f"H{round(x_of(6.02), 1)}" in (line.get("d") or "")
    assert "acknowledged on all sites" in page()


def test_a_fault_is_a_band_over_its_time_with_its_name() -> None:
    (band,) = of_class("band")
    left, width = float(band.get("x") or 0), float(band.get("width") or 0)
    assert abs(left - x_of(5.0)) < 0.2
    assert abs(left + width - x_of(10.0)) < 0.3
    assert "cut" in lettering()
    assert "shaded: a fault is up" in page()


def test_axes_have_their_units_and_levels_lie_around_what_is_shown() -> None:
    words = lettering()
    assert "USD" in words
    assert "0 s" in words
    levels = [float(word) for word in words if re.fullmatch(r"\d+\.\d\d", word)]
    assert levels == sorted(levels)
    assert (levels[0], levels[-1]) == (1.0, 1.6)


def test_what_was_not_shown_is_a_gap_and_not_a_fall_to_zero() -> None:
    a = of_class("spend0")[0].get("d") or ""
    assert a.count("M") == 2
    b = of_class("spend1")[0].get("d") or ""
    assert b.count("M") == 1
    assert f"H{round(x_of(9.01), 1)}" not in b, "the same sum again is no step"


def test_colours_follow_light_and_dark_and_nothing_is_loaded() -> None:
    styles = re.findall(r"\.(?:spend\d|told)\{([^}]*)\}", page())
    assert len(styles) >= 5
    strokes = [found for style in styles for found in re.findall(r"stroke:([^;}]+)", style)]
    assert strokes
    assert all(stroke.startswith("var(--") for stroke in strokes)
    assert not re.search(r"(?:src|href)=\"http", page())


def test_a_scenario_without_samples_has_no_picture_and_many_tenants_are_not_all_drawn() -> None:
    assert spend.panels([]) == []
    made = grid_story.Story()
    made.add("scenario-started", scenario="grid.tried", claim="It holds.")
    made.all_show(1.0, {f"t{n}": n for n in range(spend_svg.MOST_PANELS + 2)})
    told = html.render(gathering.run_of(made.events))
    assert told.count("Spend of tenant") == spend_svg.MOST_PANELS
    assert "2 further tenants are not drawn" in told


def test_names_of_tenants_are_no_markup() -> None:
    made = grid_story.Story()
    made.add("scenario-started", scenario="grid.tried", claim="It holds.")
    made.all_show(1.0, {"<script>": 5})
    assert "<script>" not in html.render(gathering.run_of(made.events))


def test_a_sum_that_never_changed_can_be_drawn() -> None:
    panel = spend.Panel("acme", {"a": [(1.0, 0), (2.0, 0)]}, [])
    drawn = spend_svg.panel(panel, [outcome.Fault("never", "k", "t", "d", "", "")], 0.0, 3.0)
    assert ET.fromstring(drawn).tag == "svg"
