"""Secrets and pinned keys as resources give them: base64 on lines, and 32 bytes each."""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import Iterable, Mapping

from common import kube
from swim.envelope import KEY_BYTES, MAX_KEYS


class Unreadable(Exception):
    """A key cannot be used; the text says which and why, and nothing of what it holds."""


def ring(secret: kube.Object | None, name: str, entry: str) -> tuple[bytes, ...]:
    """The keys of a Secret's entry, one to four. Raises Unreadable."""
    lines = [line.strip() for line in _entry(secret, name, entry).splitlines() if line.strip()]
    if not 1 <= len(lines) <= MAX_KEYS:
        raise Unreadable(f"Secret {name}, {entry}: it has {len(lines)} keys and must have 1 to {MAX_KEYS}, one a line")
    return tuple(_key(line, f"Secret {name}, {entry}, key {number}") for number, line in enumerate(lines, start=1))


def one(secret: kube.Object | None, name: str, entry: str) -> bytes:
    """The single key of a Secret's entry. Raises Unreadable."""
    return _key(_entry(secret, name, entry).strip(), f"Secret {name}, {entry}")


def pinned(sites: Iterable[kube.Object]) -> dict[str, bytes]:
    """Site name -> public key of each GridSite. One whose key cannot be used counts for nothing, and so do two that give
    one name different keys: either may be it."""
    found: dict[str, set[bytes]] = {}
    for site in sites:
        spec = site.get("spec") or {}
        with contextlib.suppress(Unreadable):
            key = _key(str(spec.get("publicKey")), "GridSite")
            found.setdefault(str(spec.get("siteName")), set()).add(key)
    return {name: one.pop() for name, one in found.items() if len(one) == 1}


def public_text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _entry(secret: kube.Object | None, name: str, entry: str) -> str:
    if secret is None:
        raise Unreadable(f"Secret {name} is not there")
    data: Mapping[str, str] = secret.get("data") or {}
    if entry not in data:
        raise Unreadable(f"Secret {name} has no entry {entry}")
    try:
        return base64.b64decode(data[entry]).decode("ascii")
    except (binascii.Error, ValueError):
        raise Unreadable(f"Secret {name}, {entry}: it is no text of base64") from None


def _key(text: str, place: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable(f"{place}: it must be base64") from None
    if len(key) != KEY_BYTES:
        raise Unreadable(f"{place}: it has {len(key)} bytes and must have {KEY_BYTES}")
    return key
