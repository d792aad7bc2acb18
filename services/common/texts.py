"""What a string must be to go further: said once for the API and for the sandbox, which has the standard library only."""

from __future__ import annotations


def is_text(value: object) -> bool:
    """Whether this is a string that can be an argument, a path or a text in the database."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate is valid JSON and no valid text
        return False
    return True
