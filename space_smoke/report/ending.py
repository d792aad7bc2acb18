"""The last words on a scenario and on a run: what was claimed, expected and seen, and what to type next. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from space_smoke.model import verdict
from space_smoke.report import lines, outcome, words

_PROOF = 6  # proving events per verdict: the report holds the rest
_TEXT = 20  # last lines of one diagnostic
_MOODS = {"PASS": "good", "SKIPPED": "odd", "BLOCKED": "odd", "FLAKY": "odd"}


def scenario(run: outcome.Run, the: outcome.Scenario, style: lines.Style) -> Iterator[str]:
    """One line when it passed in every respect; otherwise everything that a person needs to go on."""
    mood = "good" if the.passed else _MOODS.get(the.result, "bad")
    mood = "bad" if mood == "good" and not the.passed else mood
    yield lines.signed(mood, f"{the.result} {the.id}", style, indent=0, took=the.seconds)
    if the.passed:
        return
    if the.claim:
        yield from lines.wrapped("   claim    ", the.claim, style)
    for name, result in (("injection", the.injection), ("restore", the.restore), ("harness", the.harness)):
        if result not in ("", "ok"):
            yield from lines.wrapped(f"   {name:<9}", result, style)
    for differs in the.environment:
        yield from lines.wrapped("   differs  ", differs, style)
    for one in the.verdicts:
        if one.judged != verdict.Judged.PASS:
            yield from _verdict(run, one, style)
    for what, text in the.diagnostics:
        told = text.splitlines()
        above = f", the last {_TEXT} of {len(told)} lines (all in report.html)" if len(told) > _TEXT else ""
        yield style.spell(f"   {what}{above}:")
        yield from (style.spell(f"     | {line}") for line in told[-_TEXT:])
    yield style.spell(f"   again    {words.again(run.started, the.id, the.seed)}")


def _verdict(run: outcome.Run, one: verdict.Verdict, style: lines.Style) -> Iterator[str]:
    yield style.paint(f"   {one.judged.upper()} {style.spell(one.check)}", "bad")
    expected, found, seen = one.sentence.partition("; saw ")
    if found:
        yield from lines.wrapped("     expected ", expected.removeprefix("expected "), style)
        yield from lines.wrapped("     seen     ", seen, style)
    else:
        yield from lines.wrapped("     ", one.sentence, style)
    known = run.by_index()
    for index in one.proof[:_PROOF]:
        if event := known.get(index):
            told = words.event(event.index, event.at_s, event.kind, event.data)
            yield style.spell(f"     proof    {words.short(told, 200)}")
    if len(one.proof) > _PROOF:
        yield f"     proof    and {len(one.proof) - _PROOF} more, in report.html"


def run(the: outcome.Run, style: lines.Style) -> Iterator[str]:
    """The table of scenarios, what the exit code means, and the open faults, which are always the last line."""
    yield ""
    yield from table(the, style)
    if the.exit_code is not None:
        yield f"exit {the.exit_code}: {words.EXIT.get(the.exit_code, 'not a code of space_smoke')}"
    yield last(the, style)


def last(the: outcome.Run, style: lines.Style) -> str:
    return style.paint(
        style.spell(words.open_faults(the.open_faults, the.open_names)), "bad" if the.open_faults else ""
    )


def table(the: outcome.Run, style: lines.Style) -> Iterator[str]:
    if not the.scenarios:
        return
    wide = max(len(one.id) for one in the.scenarios)
    for one in the.scenarios:
        mood = "good" if one.passed else _MOODS.get(one.result, "bad")
        result = style.paint(f"{one.result:<13}", "bad" if mood == "good" and not one.passed else mood)
        yield f"{result} {one.id:<{wide}}  {checks(one)}  {words.seconds(one.seconds)}".rstrip()


def checks(one: outcome.Scenario) -> str:
    """`9 of 9 checks passed`, and each other result that is not ok."""
    passed = len(one.judged(verdict.Judged.PASS))
    parts = [f"{passed} of {words.count(len(one.verdicts), 'check')} passed"] if one.verdicts else ["nothing judged"]
    results = (("injection", one.injection), ("restore", one.restore), ("harness", one.harness))
    parts += [f"{name} not ok" for name, result in results if result not in ("", "ok")]
    parts += [f"{words.count(len(one.environment), 'difference')} of the bench"] if one.environment else []
    return ", ".join(parts)
