"""What became of a run: four results that are kept apart, and the exit code that follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from space_smoke import errors
from space_smoke.model import verdict

OK = "ok"

_CODES = {
    verdict.Outcome.PASS: errors.PASSED,
    verdict.Outcome.SKIPPED: errors.PASSED,
    verdict.Outcome.FAIL: errors.FAILED,
    verdict.Outcome.UNKNOWN: errors.FAILED,
    verdict.Outcome.FLAKY: errors.FAILED,
    verdict.Outcome.BLOCKED: errors.UNFIT,
    verdict.Outcome.ENVIRONMENTAL: errors.UNFIT,
}


@dataclass(frozen=True, slots=True)
class Result:
    """One scenario's end. `injection`, `restore` and `harness` are "ok" or a sentence saying what went wrong: a failing
    restore never erases the verdict, and a good verdict never hides a failing restore. `environment`: what differed of the
    bench, before and after, that the scenario's own faults do not explain."""

    scenario: str
    claim: str
    outcome: verdict.Outcome
    verdicts: tuple[verdict.Verdict, ...] = ()
    injection: str = OK
    restore: str = OK
    harness: str = OK
    environment: tuple[str, ...] = ()
    open_faults: int | None = None
    seconds: float = 0.0
    codes: tuple[int, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        if self.codes and self.outcome is verdict.Outcome.UNKNOWN:
            return errors.worst(self.codes)  # why it could not be judged says more than that it could not
        return errors.worst((*self.codes, _CODES[self.outcome]))


def exit_code(results: Iterable[Result]) -> int:
    return errors.worst(result.exit_code for result in results)
