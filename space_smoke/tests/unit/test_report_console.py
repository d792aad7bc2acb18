"""What a person sees, on a terminal and elsewhere."""

from __future__ import annotations

import io
import re
import threading
from typing import Any

import pytest

from space_smoke.model import history
from space_smoke.report import console
from space_smoke.tests.unit import histories, sample_run


class Terminal(io.TextIOWrapper):
    """A stream that remembers, of a given encoding."""

    def __init__(self, encoding: str = "utf-8", *, terminal: bool = True) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def text(self) -> str:
        self.flush()
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode(self.encoding)


def shown(told: list[history.Event], *, encoding: str = "utf-8", **given: Any) -> str:
    stream = Terminal(encoding)
    one = console.Console(stream, ticking=False, **given)
    for event in told:
        one(event)
    one.close()
    return stream.text()


def final(screen: str) -> list[str]:
    """The lines that stay on a terminal: what was drawn and erased again is gone."""
    kept = re.sub(r"[^\n]*\r\x1b\[2K", "", screen)
    return [re.sub(r"\x1b\[\d*m", "", line) for line in kept.splitlines()]


PASSED, FAILED = sample_run.events(), sample_run.events(broken=True)


def test_the_first_line_says_command_version_bench_and_seed() -> None:
    first = shown(PASSED).splitlines()[0]
    assert first.startswith(f"space_smoke run {sample_run.ID} --seed 7")
    assert "version 0.1.0, bench dev (kind), seed 7, run 20261130-031502-a1b2c3" in first


def test_the_last_line_is_the_number_of_open_faults() -> None:
    assert shown(PASSED).splitlines()[-1] == "0 open faults"
    story = histories.Story()
    story.add("open-faults", count=2, faults=["no-store on deployment/space-redis", {"fault": "smoke-caps"}])
    story.add("run-ended", exit_code=3)
    assert shown(story.events).splitlines()[-1] == (
        "2 open faults: no-store on deployment/space-redis, smoke-caps. next: space_smoke repair"
    )


def test_open_faults_that_were_never_read_are_not_called_zero() -> None:
    story = histories.Story()
    story.add("run-ended", exit_code=5)
    assert shown(story.events).splitlines()[-1].startswith("open faults: not known")


def test_repaired_faults_come_before_the_phases_with_holder_age_and_proof() -> None:
    told = shown(PASSED)
    line = next(line for line in told.splitlines() if line.startswith("REPAIRED: "))
    assert "public-api-mutation scale deployment/space-redis no-store -> 1 replica" in line
    assert "run 20261130-030911-77aa01, holder 5f3c, age 5 m 41 s, proof: its lock is free" in line
    assert told.index("REPAIRED") < told.index(" phase enforced")


def test_a_terminal_keeps_the_same_lines_as_a_log_but_for_beginnings() -> None:
    log = [line for line in shown(FAILED).splitlines() if "\u2022" not in line]
    assert final(shown(FAILED, terminal=True, colour=True, width=100)) == log
    assert "\x1b" not in "\n".join(log)


def test_what_is_going_on_is_drawn_anew_on_a_terminal_only() -> None:
    stream, now = Terminal(), [0.0]
    one = console.Console(stream, terminal=True, width=80, clock=lambda: now[0], ticking=False)
    one(history.Event(0, 0.0, "wait-started", {"saying": "deployment/space-api to be rolled out"}))
    now[0] = 12.34
    one.tick()
    drawn = stream.text().split("\r\x1b[2K")
    assert len(drawn) == 2
    assert "waiting for deployment/space-api to be rolled out" in drawn[-1]
    assert drawn[-1].endswith("12.3 s")
    assert all(len(line) <= 80 for line in drawn)


def test_the_spinner_turns_by_itself_and_ends_with_the_run() -> None:
    turned = threading.Event()

    class Watched(Terminal):
        def write(self, text: str) -> int:
            if "\r\x1b[2K" in text:
                turned.set()
            return super().write(text)

    one = console.Console(Watched(), terminal=True, width=80)
    one(history.Event(0, 0.0, "step-started", {"step": "cluster", "saying": "cluster"}))
    assert turned.wait(10)
    one(history.Event(1, 1.0, "run-ended", {"exit_code": 0}))
    assert not any(thread.name == "console-spinner" for thread in threading.enumerate())


def test_a_step_that_failed_has_a_cross_and_the_word() -> None:
    story = histories.Story()
    story.add("step-started", step="images", saying="images onto nodes")
    story.add("step-ended", step="images", ok=False, seconds=3.2, detail="disk full")
    assert re.search(r" \u2717 FAILED images onto nodes: disk full +3\.20 s\n", shown(story.events))


def test_a_failure_names_claim_expected_seen_proof_diagnostics_and_the_command_to_run_again() -> None:
    told = shown(FAILED)
    block = told[told.index("FAIL token-bucket drain\n") :]
    for words in ("     expected at most ", "     seen     6 admitted", "     proof    #", "logs of pod space-api-"):
        assert words in block
    assert f"again    space_smoke run {sample_run.ID} --seed 7\n" in block
    assert "exit 1: a scenario failed or is unknown" in block


def test_the_command_to_run_again_keeps_the_bench_and_drops_the_selection() -> None:
    story = histories.Story()
    argv = ["run", "--all", "--shard", "2/4", "--context=kind-other", "--namespace", "space", "--json"]
    story.add("run-started", command="space_smoke run --all", argv=argv, seed=11)
    story.add("scenario-ended", scenario="local.a", outcome="FAIL")
    assert "again    space_smoke run local.a --context kind-other --namespace space --seed 11\n" in shown(story.events)


def test_an_encoding_without_unicode_gets_ascii() -> None:
    told = shown(FAILED, encoding="ascii")
    assert " x FAIL token-bucket drain" in told
    assert " + pass concurrency-cap hold" in told
    assert " * images onto nodes ..." in told


@pytest.mark.parametrize(
    ("terminal", "environ", "erased", "coloured"),
    [
        (True, {"TERM": "xterm"}, True, True),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True, True),
        (True, {"TERM": "dumb"}, False, False),
        (False, {"TERM": "xterm"}, False, False),
    ],
)
def test_colour_needs_a_terminal_and_no_objection(
    terminal: bool, environ: dict[str, str], erased: bool, coloured: bool
) -> None:
    stream = Terminal(terminal=terminal)
    one = console.for_stream(stream, environ, ticking=False, width=90)
    for event in PASSED:
        one(event)
    assert ("\x1b[2K" in stream.text()) == erased
    assert ("\x1b[32m" in stream.text()) == coloured


def test_quiet_is_calm_when_green_and_complete_when_red() -> None:
    calm, complete = shown(PASSED, quiet=True), shown(FAILED, quiet=True)
    assert " phase " not in calm
    assert "REPAIRED: " in calm
    assert f"PASS {sample_run.ID}" in calm
    assert sorted(complete.splitlines()) == sorted(shown(FAILED).splitlines())


def test_text_of_the_bench_cannot_move_the_cursor() -> None:
    story = histories.Story()
    story.add("wait-started", saying="a\x1b[2J pod")
    story.add("wait-ended", saying="a\x1b[2J pod", ok=False, last="\x07\x9b2J\r\nover", seconds=1.0)
    told = shown(story.events)
    assert not set(told) & set("\x1b\x07\x9b\r")


def test_a_good_verdict_does_not_hide_a_restore_that_failed() -> None:
    story = histories.Story()
    story.add("scenario-started", scenario="local.a", claim="it holds")
    story.add("verdict", check="has-store", judged="pass", sentence="fine", proof=[])
    story.add(
        "scenario-ended", scenario="local.a", outcome="PASS", injection="ok", restore="no-store: stuck", harness="ok"
    )
    story.add("run-ended", exit_code=3)
    told = shown(story.events)
    assert "   restore  no-store: stuck" in told
    assert re.search(r"PASS +local\.a  1 of 1 check passed, restore not ok", told)
    assert "exit 3: a restore is incomplete" in told


def test_events_may_come_from_several_threads() -> None:
    stream = Terminal()
    one = console.Console(stream, terminal=True, width=80)

    def work(name: str) -> None:
        for n in range(100):
            one(history.Event(n, 0.0, "step-started", {"step": f"{name}{n}", "saying": f"{name}{n}"}))
            one(history.Event(n, 0.0, "step-ended", {"step": f"{name}{n}", "ok": True, "seconds": 0.1}))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.close()
    kept = final(stream.text())
    assert len(kept) == 300
    assert all(re.fullmatch(r" \u2713 [abc]\d+ +0\.10 s", line) for line in kept)
