"""What `load` shows: counts, percentiles and the store, as a frame, a line or an object. Pure functions of counters."""

from __future__ import annotations

import io
import json
import random
import re
from typing import Any

import pytest

from space_smoke.model import history
from space_smoke.report import lines, live, live_counts, live_screen

PLAIN = lines.Style(unicode=False, colour=False, width=100)


def counted(*, turns: int = 600, rate_rps: float = 10.0, for_s: float = 60.0) -> live_counts.Counts:
    counts = live_counts.Counts("load", "state", what="load connect", turns=turns, rate_rps=rate_rps, for_s=for_s)
    counts(event("load-started", load="load"))
    return counts


def event(kind: str = "request", **data: Any) -> history.Event:
    return history.Event(0, 0.0, kind, data)


def request(took_s: float | None = 0.01, **data: Any) -> history.Event:
    answered_s = None if took_s is None else 5.0 + took_s
    given = {"load": "load", "do": "connect", "status": None if took_s is None else 200, "behind_s": 0.0}
    return event(**{**given, "sent_s": 5.0, "answered_s": answered_s, **data})


def decided(outcome: str, reason: str = "none", **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "reason": reason, **more}


def state(number: int, pod: str, store: str | None = "configured") -> history.Event:
    said = {"limiters": {"activation": {"store": store}}} if store else None
    return event(load="state", n=number, pod=pod, status=200 if store else None, state=said)


def busy() -> live_counts.View:
    """Twelve seconds into a load: an outage of the store has just begun."""
    counts = counted()
    for _ in range(110):
        counts(request(0.006, concurrency=decided("accepted")))
    counts(event(load="load.setup", do="create", status=201, sent_s=0.0, answered_s=1.0))
    counts.view(11.0)
    counts(request(0.007, concurrency=decided("accepted")))
    counts(request(0.008, status=429, code="x", concurrency=decided("refused")))
    for _ in range(6):
        counts(request(0.2, concurrency=decided("accepted", "store_unavailable"), behind_s=0.05))
    counts(request(None))
    counts(state(0, "a"))
    counts(state(1, "b", None))
    return counts.view(12.0)


def test_decisions_are_counted_by_limiter_outcome_and_reason() -> None:
    view = busy()
    assert view.second.decisions == {
        "activation": {},
        "concurrency": {"accepted": 1, "accepted (store_unavailable)": 6, "refused": 1},
    }
    assert view.whole.decisions["concurrency"]["accepted"] == 111


def test_what_observe_would_refuse_is_told_beside_the_outcomes() -> None:
    counts = counted()
    counts(request(concurrency=decided("accepted", would_reject=True)))
    counts(request(concurrency=decided("accepted", would_reject=False)))
    assert counts.view(1.0).second.decisions["concurrency"] == {"accepted": 2, "would be refused": 1}


def test_a_second_is_counted_once_and_the_whole_keeps_it() -> None:
    counts = counted()
    counts(request())
    assert [counts.view(1.0).second.answered, counts.view(2.0).second.answered] == [1, 0]
    assert counts.view(3.0).whole.answered == 1


def test_latency_is_from_when_a_request_was_due() -> None:
    counts = counted()
    counts(request(0.5, behind_s=2.0))
    assert counts.view(1.0).second.percentiles_s == (2.5, 2.5, 2.5)


def test_requests_that_are_due_and_not_answered_are_waiting_until_the_load_is_stopped() -> None:
    counts = counted(turns=30, rate_rps=10)
    counts(request())
    assert counts.view(1.0).waiting == 10, "the eleventh is due at 1.0 s"
    assert counts.view(100.0).waiting == 29
    counts(event("note", sentence="something else"))
    assert counts.view(100.0).waiting == 29
    counts(event("note", sentence="stopped", stopped=True))
    assert counts.view(100.0).waiting == 0


def test_nothing_is_due_before_the_schedule_begins_and_time_counts_from_then() -> None:
    counts = live_counts.Counts("load", "state", what="", turns=600, rate_rps=10, for_s=60)
    assert (counts.view(105.0).at_s, counts.view(106.0).waiting) == (0.0, 0)
    counts(history.Event(0, 107.0, "load-started", {"load": "load"}))
    assert (counts.view(108.0).at_s, counts.view(108.0).waiting) == (1.0, 11)


def test_setup_and_cleanup_count_sandboxes_and_no_requests() -> None:
    counts = counted()
    counts(event(load="load.setup", do="create", status=201, sent_s=0, answered_s=1))
    counts(event(load="load.cleanup", do="delete", status=204, sent_s=0, answered_s=1))
    counts(event(load="load.cleanup", do="delete", status=503, sent_s=0, answered_s=1))
    view = counts.view(1.0)
    assert (view.made, view.deleted, view.whole.answered) == (1, 1, 0)


@pytest.mark.parametrize("seed", range(5))
def test_percentiles_of_a_second_are_exact_and_those_of_the_whole_at_most_two_percent_high(seed: int) -> None:
    rng = random.Random(seed)
    took = [rng.lognormvariate(-4, 1.5) for _ in range(rng.randrange(1, 400))]
    counts = counted()
    for one in took:
        counts(request(one))
    view = counts.view(1.0)
    exact = [sorted(took)[-(-len(took) * percent // 100) - 1] for percent in (50, 95, 99)]
    assert view.second.percentiles_s == pytest.approx(exact)
    assert view.whole.percentiles_s is not None
    for found, true in zip(view.whole.percentiles_s, exact, strict=True):
        assert true * 0.999 <= found <= true * 1.0201


def test_a_pod_that_is_gone_leaves_the_list_after_one_more_round() -> None:
    counts = counted()
    for one in (state(0, "old"), state(1, "b"), state(0, "a")):
        counts(one)
    assert set(counts.view(1.0).pods) == {"old", "a", "b"}
    counts(state(1, "b"))
    counts(state(0, "a"))
    assert set(counts.view(2.0).pods) == {"a", "b"}


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        ([], "not asked"),
        (["none"], "answers"),
        (["store_unavailable"], "unavailable"),
        (["misconfigured"], "none named"),
        (["none", "store_unavailable", "store_unavailable"], "answers x1, unavailable x2"),
    ],
)
def test_the_store_is_what_the_last_seconds_decisions_met(reasons: list[str], told: str) -> None:
    counts = counted()
    for reason in reasons:
        counts(request(concurrency=decided("accepted", reason)))
    assert live.store(counts.view(1.0)) == told


FRAME = """\
load connect
12 s of 60 s  #################---------------------------------------------------------------------
 store  answers x2, unavailable x6 (configured on 1, no answer on 1 of 2 pods)
 p99    .@ top 250 ms
                                                    last second          all
 requests                                                     9          119
 waiting, behind                                      2, 0.05 s
 p50 from when due                                       250 ms         6 ms
 p95 from when due                                       250 ms       253 ms
 p99 from when due                                       250 ms       253 ms
 status 200                                                   7          117
 status 429                                                   1            1
 no answer                                                    1            1
 concurrency accepted                                         1          111
 concurrency accepted (store_unavailable)                     6            6
 concurrency refused                                          1            1
 sandboxes made, deleted                                                1, 0
"""


def test_a_frame_holds_the_store_latency_answers_and_decisions() -> None:
    assert "\n".join([*live.frame(busy(), PLAIN), ""]) == FRAME


@pytest.mark.parametrize("width", [40, 60, 80, 139])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_row_is_wider_than_the_terminal_nor_holds_what_it_cannot_show(width: int, unicode: bool) -> None:
    rows = live.frame(busy(), lines.Style(unicode, False, width))
    assert [row for row in rows if len(row) > width] == []
    assert unicode or all(row.isascii() for row in rows)


def test_colour_adds_no_word_and_hides_none() -> None:
    painted = live.frame(busy(), lines.Style(False, True, 100))
    assert any("\x1b[" in row for row in painted)
    assert [re.sub(r"\x1b\[[0-9;]*m", "", row) for row in painted] == live.frame(busy(), PLAIN)


def test_an_unreachable_store_is_red_and_one_that_answers_is_green() -> None:
    colours = {}
    for reason in ("none", "store_unavailable"):
        counts = counted()
        counts(request(concurrency=decided("accepted", reason)))
        frame = live.frame(counts.view(1.0), lines.Style(False, True, 100))
        colours[reason] = next(row for row in frame if " store " in row)[:5]
    assert colours == {"none": "\x1b[32m", "store_unavailable": "\x1b[31m"}


def test_a_line_says_what_a_frame_says() -> None:
    assert live.line(busy()) == (
        "   12 s  9 requests: 200 x7, 429 x1, no answer x1; "
        "concurrency accepted x1, accepted (store_unavailable) x6, refused x1; "
        "p50 p95 p99 250 ms / 250 ms / 250 ms; "
        "store answers x2, unavailable x6 (configured on 1, no answer on 1 of 2 pods)"
    )


def test_a_line_of_a_late_second_says_how_late() -> None:
    counts = counted()
    counts(request(behind_s=0.25))
    assert "; 10 waiting, 0.25 s behind; " in live.line(counts.view(1.0))


def test_nothing_that_a_service_says_can_move_the_cursor() -> None:
    counts = counted()
    counts(request(concurrency=decided("acc\x1b[2Jepted")))
    view = counts.view(1.0)
    assert "\x1b" not in "".join(
        [*live.frame(view, PLAIN), live.line(view), *live.summary(view, live.Ending(False, 0))]
    )


def test_the_summary_names_what_is_left_and_how_to_remove_it() -> None:
    counts = counted()
    counts(request())
    told = live.summary(counts.view(3.0, ["sb-1", "sb-2"]), live.Ending(interrupted=True, exit_code=130))
    assert told[0] == "1 request stopped after 3.00 s: 200 x1"
    assert told[-2] == "sandboxes: 0 made, 0 deleted, 2 left"
    assert told[-1].startswith("LEFT: sb-1, sb-2\n  next: DELETE")


def test_objects_are_whole_json_with_the_same_keys_in_every_second() -> None:
    stream = io.StringIO()
    screen = live_screen.Objects(stream)
    for view in (counted().view(1.0), busy()):
        screen.show(view)
    screen.end(busy(), live.Ending(interrupted=False, exit_code=0))
    empty, full, last = [json.loads(text) for text in stream.getvalue().splitlines()]
    assert empty.keys() == full.keys() == {"at_s", "waiting", "second", "all", "store", "sandboxes"}
    assert empty["second"].keys() == full["all"].keys() <= last["summary"].keys()
    assert (empty["second"]["p99_s"], full["second"]["p99_s"]) == (None, 0.25)
    assert last["exit_code"] == 0


class _Glass:
    """The part of a terminal that the screen uses: lines, upwards, erase to the end of line and of screen."""

    def __init__(self) -> None:
        self.rows, self.at = [""], 0

    def write(self, text: str) -> None:
        for code, number, letter, newline, other in re.findall(r"(\x1b\[(\??\d*)([A-Za-z]))|(\n)|([^\x1b\n]+)", text):
            if newline:
                self.at += 1
                self.rows += [""] * (self.at + 1 - len(self.rows))
            elif letter == "F":
                self.at -= int(number)
                self.written = ""
            elif letter == "K":
                self.rows[self.at] = self.written
            elif letter == "J":
                self.rows[self.at :] = [""]
            elif not code:
                self.written = other


def test_a_terminal_shows_the_last_frame_and_nothing_of_an_earlier_one() -> None:
    stream = io.StringIO()
    screen = live_screen.Terminal(stream, unicode=False, colour=False, size=lambda: (101, 40))
    fewer = counted().view(13.0)
    assert len(live.frame(fewer, PLAIN)) < len(live.frame(busy(), PLAIN))
    for shown in ((fewer, busy()), (busy(), fewer)):
        for view in shown:
            screen.show(view)
        glass = _Glass()
        glass.write(stream.getvalue())
        assert glass.rows == [*live.frame(shown[-1], PLAIN), ""]


def test_a_terminal_that_is_low_gets_the_rows_that_fit_and_its_cursor_back() -> None:
    stream = io.StringIO()
    screen = live_screen.Terminal(stream, unicode=False, colour=False, size=lambda: (101, 6))
    screen.show(busy())
    screen.show(busy())
    screen.close()
    told = stream.getvalue()
    assert told.count("\n") == 2 * 5
    assert told.count("\x1b[5F") == 1
    assert told.startswith("\x1b[?25l")
    assert told.endswith("\x1b[?25h")
