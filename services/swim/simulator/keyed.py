"""A cheap stand-in for Ed25519: a keyed hash that each origin alone would know. For simulations only."""

from __future__ import annotations

import hashlib


class KeyedOrigin:
    """Signs as one origin."""

    def __init__(self, origin: str) -> None:
        self._key = origin.encode()

    def sign(self, payload: bytes) -> bytes:
        return hashlib.blake2b(payload, key=self._key).digest()


class KeyedOrigins:
    """Knows every origin whose name begins with one of `prefixes`."""

    def __init__(self, *prefixes: str) -> None:
        self._prefixes = prefixes

    def knows(self, origin: str) -> bool:
        return origin.startswith(self._prefixes)

    def verify(self, origin: str, payload: bytes, signature: bytes) -> bool:
        return KeyedOrigin(origin).sign(payload) == signature
