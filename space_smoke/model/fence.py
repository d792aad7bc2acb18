"""The fence that an object carries for a domain: an annotation with a whole number, under which name, and how it is read."""

from __future__ import annotations

from space_smoke.model import objects

NAME = "space-smoke.dev/fence"  # on a Lease; on everything else with the domain after a dot
BEYOND = 2**63  # what counts for a fence that cannot be read


def key(domain: str) -> str:
    return f"{NAME}.{domain}"


def on(thing: objects.Object, domain: str) -> int | None:
    """The fence an object carries for a domain; None when it was never stamped, BEYOND when it is not a number."""
    text = objects.annotations_of(thing).get(key(domain))
    if text is None:
        return None
    return int(text) if text.isdecimal() and len(text) < 19 else BEYOND
