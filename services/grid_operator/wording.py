"""How values stand in sentences that people read: short, on one line, without what a terminal would act upon."""

from __future__ import annotations

import json
from collections.abc import Sequence

_SHOWN = 60  # characters of a value
_SENTENCES = 8
_DIGITS = 40


def shown(value: object) -> str:
    """The value as JSON writes it; a long one is cut, of an object or a list only that it is one."""
    if value is None:
        return "missing"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 3 * _DIGITS:
        return f"a whole number of some {value.bit_length() * 3 // 10} digits"
    if isinstance(value, int | float):
        return {"nan": "not a number", "inf": "infinite", "-inf": "minus infinite"}.get(repr(value), repr(value))
    return "a list" if isinstance(value, list) else "an object"


def quoted(text: str) -> str:
    """In double quotes; characters that cannot be printed are escaped."""
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in json.dumps(cut, ensure_ascii=False))


def together(sentences: Sequence[str]) -> str:
    """All of them in one text, or the first and how many more."""
    more = len(sentences) - _SENTENCES
    return "; ".join([*sentences[:_SENTENCES], *([f"and {more} more"] if more > 0 else [])])
