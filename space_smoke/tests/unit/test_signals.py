"""Signals: they end the phases of a run, and nothing ends its restore."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from space_smoke.engine import signals


def _told(into: list[str]) -> Any:
    return lambda _kind, **data: into.append(data["sentence"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGALRM])
def test_a_signal_ends_the_phases(number: signal.Signals) -> None:
    with pytest.raises(signals.Interrupted), signals.guarded(_told([]), 600):
        signal.raise_signal(number)


def test_what_ends_the_phases_is_taken_by_nobody_for_a_failed_step() -> None:
    assert not issubclass(signals.Interrupted, Exception)


@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)])
def test_signals_during_the_restore_are_told_afterwards_and_stop_nothing(numbers: tuple[signal.Signals, ...]) -> None:
    told: list[str] = []
    steps = []
    with signals.guarded(_told(told), 600) as shield:
        with shield.raised():
            for number in numbers:
                signal.raise_signal(number)
                steps.append("put back")
            assert not told
        assert len(told) == len(numbers)
    assert steps == ["put back"] * len(numbers)


def test_after_the_run_signals_do_what_they_did_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with signals.guarded(_told([]), 600):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
