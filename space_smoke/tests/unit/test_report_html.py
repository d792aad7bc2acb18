"""report.html: one page, readable without a network or a script."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from space_smoke.model import history
from space_smoke.report import gathering, html, svg
from space_smoke.tests.unit import histories, sample_run

_VOID = {"meta"}


class Page(HTMLParser):
    """Checks nesting; remembers tags, attributes and text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def rendered(told: list[history.Event]) -> Page:
    page = Page(html.render(gathering.run_of(told)))
    assert page.open == []
    return page


def test_the_page_needs_no_network_and_no_script() -> None:
    source = html.render(gathering.run_of(sample_run.events(broken=True)))
    page = Page(source)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    assert not [name for _, given in page.tags for name in given if name in ("src", "srcset") or name.startswith("on")]
    assert not re.findall(r"https?://|url\(|@import", source)
    assert "default-src 'none'" in source


def test_the_page_tells_outcome_claim_checks_faults_and_the_next_command() -> None:
    told = " ".join(" ".join(rendered(sample_run.events(broken=True)).words).split())
    for words in (
        "With its store up the public API admits exactly",
        "FAIL token-bucket drain expected at most",
        "scale on deployment/space-redis",
        f"space_smoke run {sample_run.ID} --seed 7",
        "REPAIRED: ",
        "0 open faults",
    ):
        assert words in told, words


def test_the_timeline_has_a_row_for_each_phase_fault_load_and_pod() -> None:
    page = rendered(sample_run.events())
    texts = set(page.words)
    for row in (
        "enforced",
        "store-lost",
        "recovered",
        "smoke-caps",
        "no-store",
        "drain",
        "hold",
        "open",
        "again",
        *sample_run.NEW,
    ):
        assert row in texts, row


def test_every_request_is_drawn_once_in_the_timeline_and_once_by_itself() -> None:
    source = html.render(gathering.run_of(sample_run.events()))
    assert len(re.findall(r'class="open" d=', source)) == 2 * 80 + 1  # and once in the legend
    assert len(re.findall(r'class="refused" d=', source)) == 2 * (19 + 9 + 9) + 1


def test_a_long_load_is_thinned_and_the_page_says_so() -> None:
    story = histories.Story()
    story.add("scenario-started", scenario="local.a")
    story.load("much", [histories.held(1 + n / 1000, 0.1) for n in range(2 * svg.MOST_DOTS)])
    words = " ".join(rendered(story.events).words)
    assert f"{svg.MOST_DOTS} of them drawn" in words


def test_text_of_the_bench_stays_text() -> None:
    story = histories.Story()
    story.add("scenario-started", scenario="local.<b>", claim='"><script>alert(1)</script>')
    story.add("phase-started", phase="<i>", faults=["<u>"])
    story.load("<s>", [histories.held(1.0, 0.1, pod='"><script>')])
    story.add("diagnostics", what="logs", text="</pre><script>alert(2)</script>")
    page = rendered(story.events)
    assert not {tag for tag, _ in page.tags} & {"script", "b>", "i", "u", "s"}
    assert any("alert(2)" in words for words in page.words)


def test_the_page_of_a_killed_run_says_what_was_going_on() -> None:
    words = " ".join(rendered(sample_run.events()[:120]).words)
    for told in ("KILLED", "in phase: store-lost", "fault no-store is up by the journal", "space_smoke status"):
        assert told in words


def test_a_fault_that_was_never_restored_is_drawn_to_the_end_and_named() -> None:
    source = html.render(gathering.run_of(sample_run.events()[:120]))
    assert 'class="torn"' in source
    assert "NOT RESTORED" in source
