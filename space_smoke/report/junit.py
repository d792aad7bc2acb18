"""junit.xml: one suite per scenario, one case per check, and one each for injection, restore and harness; one
for the environment when the bench changed under the run.

It is green exactly when the run's exit code is 0, whatever that code came from: a scenario that was blocked, skipped
against the selection or never finished is an error, and so is a run that was killed or refused.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

from space_smoke.model import verdict
from space_smoke.report import outcome, text, words


@dataclass(frozen=True, slots=True)
class _Case:
    """`red` is "", failure, error or skipped, with `kind` and `message` beside it."""

    name: str
    red: str = ""
    kind: str = ""
    message: str = ""
    seconds: float = 0.0


def render(run: outcome.Run) -> str:
    suites = [(the.id, the.seconds or 0.0, the.from_s, list(_cases(run, the))) for the in run.scenarios]
    every = [case for _, _, _, cases in suites for case in cases]
    if not any(case.red in ("failure", "error") for case in every) or run.killed:
        suites.append(("run", 0.0, run.end_s, list(_run_cases(run))))
    root = ET.Element("testsuites", name=f"space_smoke {run.id}")
    for name, seconds, _, cases in suites:
        if cases:
            root.append(_suite(name, seconds, cases, run))
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    root.set("time", f"{run.end_s:.3f}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(name: str, seconds: float, cases: list[_Case], run: outcome.Run) -> ET.Element:
    suite = ET.Element("testsuite", name=words.clean(name), tests=str(len(cases)), time=f"{seconds:.3f}")
    if started := words.one_line(run.started.get("started") or ""):
        suite.set("timestamp", started)
    for key, word in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(sum(case.red == word for case in cases)))
    for case in cases:
        element = ET.SubElement(suite, "testcase", classname=words.clean(name), name=words.clean(case.name))
        element.set("time", f"{case.seconds:.3f}")
        if case.red:
            red = ET.SubElement(element, case.red, message=words.clean(case.message))
            red.text = words.clean(case.message)
            if case.red != "skipped":
                red.set("type", case.kind)
    return suite


def _cases(run: outcome.Run, the: outcome.Scenario) -> Iterator[_Case]:
    cases = [_check(one) for one in the.verdicts]
    for name, result in (("injection", the.injection), ("restore", the.restore), ("harness", the.harness)):
        if result and not (the.outcome == "SKIPPED" and name == "harness"):
            cases.append(_Case(name) if result == "ok" else _Case(name, "error", name, result))
    if the.environment:
        cases.append(_Case("environment", "error", "ENVIRONMENTAL", "; ".join(the.environment)))
    if the.outcome == "SKIPPED" and not the.exit_code:
        cases.append(_Case("outcome", "skipped", "SKIPPED", the.harness or "not selected"))
    elif not the.passed and not any(case.red for case in cases):
        cases.append(_Case("outcome", "error", the.result, _why(run, the)))
    if not cases:
        cases.append(_Case("outcome", seconds=the.seconds or 0.0))
    yield from cases


def _check(one: verdict.Verdict) -> _Case:
    if one.judged == verdict.Judged.PASS:
        return _Case(one.check)
    red = "failure" if one.judged == verdict.Judged.FAIL else "error"
    return _Case(one.check, red, str(one.judged), one.sentence)


def _why(run: outcome.Run, the: outcome.Scenario) -> str:
    if the.to_s is None:
        return f"it did not finish: {'; '.join(text.going_on(run)) or 'the journal stops'}"
    return the.harness or f"outcome {the.result}, exit code {the.exit_code}"


def _run_cases(run: outcome.Run) -> Iterator[_Case]:
    """The run itself, when no scenario tells what went wrong with it."""
    if run.killed:
        message = f"the run did not end: its journal stops after {run.end_s:.1f} s. next: {words.NEXT_STATUS}"
        yield _Case("run", "error", "killed", message)
    elif run.exit_code != 0:
        code = run.exit_code if run.exit_code is not None else "unknown"
        told = "; ".join(run.notes) or words.EXIT.get(run.exit_code or 0, "")
        yield _Case("run", "error", f"exit {code}", f"exit {code}: {told}")
    elif not run.scenarios:
        yield _Case("run")
