"""Durations and rates as they are written in scenarios: one number and its unit. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

_NUMBER = r"[0-9]{1,9}(\.[0-9]{1,9})?"
DURATION = rf"^{_NUMBER}(ms|s|m|h)$"
RATE = rf"^{_NUMBER}/(s|m|h)$"
DURATION_RULE = "write a number and its unit: 250ms, 3s, 2m or 1h"
RATE_RULE = "write a number and its unit: 10/s, 90/m or 600/h"

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class UnitError(ValueError):
    """The message names the value and the rule."""


def duration(written: Any) -> float:
    """Seconds. Raises UnitError."""
    text = _text(written, "duration", DURATION, DURATION_RULE)
    if text.endswith("ms"):
        return float(text[:-2]) / 1000
    return float(text[:-1]) * _SECONDS[text[-1]]


def rate(written: Any) -> float:
    """Per second. Raises UnitError."""
    number, unit = _text(written, "rate", RATE, RATE_RULE).split("/")
    return float(number) / _SECONDS[unit]


def _text(written: Any, what: str, pattern: str, rule: str) -> str:
    if _is_number(written):
        raise UnitError(f"{written} is a {what} without a unit: {rule}")
    if not isinstance(written, str) or not re.fullmatch(pattern, written):
        raise UnitError(f"{json.dumps(written, ensure_ascii=False, default=str)[:40]} is not a {what}: {rule}")
    return written


def _is_number(written: Any) -> bool:
    if isinstance(written, str):
        return re.fullmatch(_NUMBER, written) is not None
    return isinstance(written, int | float) and not isinstance(written, bool)
