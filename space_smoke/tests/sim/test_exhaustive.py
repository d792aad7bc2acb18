"""Every crash, loss and delay of a run that takes a domain, raises two faults, lowers them and releases.

Depth 1 is tried whole, depth 2 by every n-th schedule; SPACE_SMOKE_SIM_FULL=1 tries all of depth 2 (of what stops, restarts and goes
on at once, every n-th). What must hold at
every commit and at the end is in `oracle`; the counts are printed when the tests are done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from space_smoke.tests.sim import schedules
from space_smoke.tests.sim import world as worlds

FULL = os.environ.get("SPACE_SMOKE_SIM_FULL") == "1"
BASES = schedules.bases()
Record = Callable[[str, object], None]

both = pytest.mark.parametrize("base", BASES)
thirds = pytest.mark.parametrize("part", range(3))


def every(stride: int, offset: int = 0) -> Callable[[int], bool]:
    return lambda number: number % stride == offset


def sample(stride: int, part: int) -> Callable[[int], bool]:
    """One third of all schedules, or of every n-th one."""
    return every(3, part) if FULL else every(3 * stride, 3 * (stride // 2) + part)


def counted(tally: Record, family: str, run: Callable[[], int]) -> None:
    began = time.process_time()
    count = run()
    tally("schedules", (family, count, time.process_time() - began))
    assert count > 50


@both
def test_a_run_killed_anywhere_is_put_right_by_the_next(base: str, record_property: Record) -> None:
    counted(record_property, "killed", lambda: schedules.killed(BASES[base]))


@both
def test_a_run_whose_requests_or_answers_are_lost_or_late_ends_clean(base: str, record_property: Record) -> None:
    counted(record_property, "lost, late, refused", lambda: schedules.troubled(BASES[base]))


@both
@thirds
def test_a_stopped_run_with_a_slow_clock_harms_no_successor(base: str, part: int, record_property: Record) -> None:
    counted(
        record_property,
        "stopped, slow clock",
        lambda: schedules.stopped(BASES[base], slow_clock=True, take=every(3, part)),
    )


@thirds
def test_a_stopped_run_harms_no_successor(part: int, record_property: Record) -> None:
    counted(
        record_property,
        "stopped",
        lambda: schedules.stopped(BASES["used"], slow_clock=False, take=every(3, part)),
    )


@both
def test_a_repair_killed_anywhere_is_put_right_by_the_next(base: str, record_property: Record) -> None:
    counted(record_property, "killed twice", lambda: schedules.killed_twice(BASES[base], worlds.REPAIR))


@both
@thirds
def test_a_second_run_killed_anywhere_is_put_right_too(base: str, part: int, record_property: Record) -> None:
    take = sample(3, part)
    counted(record_property, "killed twice, whole", lambda: schedules.killed_twice(BASES[base], worlds.BOTH, take))


@both
@thirds
def test_a_late_request_of_one_killed_run_harms_no_repair_of_the_next(
    base: str, part: int, record_property: Record
) -> None:
    take = sample(3, part)
    counted(record_property, "killed, late, killed", lambda: schedules.killed_twice_with_delay(BASES[base], take))


@both
@thirds
def test_a_stopped_run_harms_nobody_after_its_successor_was_killed(
    base: str, part: int, record_property: Record
) -> None:
    take = sample(5, part)
    counted(record_property, "stopped, killed", lambda: schedules.stopped_then_killed(BASES[base], take))


def test_a_run_with_faults_outside_killed_anywhere_is_put_right_by_the_next(record_property: Record) -> None:
    counted(record_property, "outside, killed", lambda: schedules.killed(BASES["used"], worlds.BEYOND))


def test_a_run_with_faults_outside_whose_requests_are_lost_or_late_ends_clean(record_property: Record) -> None:
    counted(record_property, "outside, lost or late", lambda: schedules.troubled(BASES["used"], worlds.BEYOND))


@thirds
def test_a_stopped_run_with_faults_outside_harms_no_successor(part: int, record_property: Record) -> None:
    counted(
        record_property,
        "outside, stopped",
        lambda: schedules.stopped(BASES["used"], worlds.BEYOND, worlds.BEYOND, slow_clock=True, take=sample(2, part)),
    )


@thirds
def test_a_repair_of_faults_outside_killed_anywhere_is_put_right_by_the_next(
    part: int, record_property: Record
) -> None:
    take = sample(4, part)
    counted(
        record_property,
        "outside, killed twice",
        lambda: schedules.killed_twice(BASES["used"], worlds.BEYOND, take, worlds.BEYOND),
    )


def test_a_store_that_restarts_at_any_call_of_a_run_leaves_nothing_behind(record_property: Record) -> None:
    counted(record_property, "outside, restarted", lambda: schedules.restarted(BASES["used"]))


@thirds
def test_a_store_that_restarts_in_a_repair_lets_no_late_request_of_the_dead_run_in(
    part: int, record_property: Record
) -> None:
    take = sample(12, part)
    counted(
        record_property,
        "outside, killed, restarted",
        lambda: schedules.killed_and_restarted(BASES["used"], take),
    )


@thirds
def test_a_store_that_restarts_lets_no_stopped_run_harm_its_successor(part: int, record_property: Record) -> None:
    stride = 20 if FULL else 100
    take = every(3 * stride, part * stride)
    counted(
        record_property,
        "outside, stopped, restarted",
        lambda: schedules.stopped_and_restarted(BASES["used"], take),
    )
