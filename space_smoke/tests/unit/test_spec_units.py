"""Durations and rates: one number, one unit, no guesses."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from space_smoke.spec import units

_NUMBERS = st.integers(0, 999_999_999) | st.decimals(0, 999_999, places=3, allow_nan=False).map(str)


@given(_NUMBERS, st.sampled_from([("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]))
def test_a_duration_is_its_number_times_its_unit(number: Any, unit: tuple[str, float]) -> None:
    assert units.duration(f"{number}{unit[0]}") == pytest.approx(float(number) * unit[1])


@given(_NUMBERS, st.sampled_from([("s", 1.0), ("m", 60.0), ("h", 3600.0)]))
def test_a_rate_is_its_number_over_its_unit(number: Any, unit: tuple[str, float]) -> None:
    assert units.rate(f"{number}/{unit[0]}") == pytest.approx(float(number) / unit[1])


@given(st.integers() | st.floats() | st.integers(0, 10**8).map(str))
def test_a_bare_number_always_lacks_its_unit(number: Any) -> None:
    with pytest.raises(units.UnitError, match="without a unit"):
        units.duration(number)
    with pytest.raises(units.UnitError, match="without a unit"):
        units.rate(number)


@given(st.text(max_size=30) | st.booleans() | st.none() | st.lists(st.integers()))
def test_whatever_the_pattern_refuses_is_refused_with_the_rule(written: Any) -> None:
    for read, pattern, rule in (
        (units.duration, units.DURATION, units.DURATION_RULE),
        (units.rate, units.RATE, units.RATE_RULE),
    ):
        if isinstance(written, str) and re.fullmatch(pattern, written):
            assert read(written) >= 0
        else:
            with pytest.raises(units.UnitError, match=re.escape(rule)):
                read(written)


@pytest.mark.parametrize(
    "written", ["3s\n", " 3s", "3 s", "1m30s", "-3s", "+3s", "1e3s", ".5s", "3S", "٣s", "9" * 12 + "s"]
)
def test_no_other_notation_is_a_duration(written: str) -> None:
    with pytest.raises(units.UnitError):
        units.duration(written)
