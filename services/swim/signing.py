"""Who has spent is signed by who has spent it: Ed25519 (RFC 8032) over the record and the network it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from swim import codec
from swim.messages import ProviderState, Record

_DOMAIN = b"grid signed state v1\0"
Signed = TypeVar("Signed", Record, ProviderState)


class Verifier(Protocol):
    """Knows the origins of a network and what each has signed."""

    def knows(self, origin: str) -> bool: ...

    def verify(self, origin: str, payload: bytes, signature: bytes) -> bool: ...


class Signer(Protocol):
    """Signs for one origin."""

    def sign(self, payload: bytes) -> bytes: ...


def payload(network: str, message: Record | ProviderState) -> bytes:
    """The bytes that are signed. The kind of message is in them, and the network with its length."""
    encoded = network.encode()
    return _DOMAIN + bytes((len(encoded),)) + encoded + codec.unsigned(message)


def signed(network: str, message: Signed, signer: Signer) -> Signed:
    """The message with its origin's signature. Raises ValueError when a text or number in it cannot be said."""
    return message._replace(signature=signer.sign(payload(network, message)))


class PrivateKey:
    """One origin's own key, from its 32 secret bytes."""

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, payload: bytes) -> bytes:
        return self._key.sign(payload)


class Keys:
    """The pinned public keys of all origins, each 32 bytes. Raises ValueError for what is no key."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self.pin(keys)

    def pin(self, keys: Mapping[str, bytes]) -> None:
        """These and no others from now on."""
        self._keys = {origin: Ed25519PublicKey.from_public_bytes(key) for origin, key in keys.items()}

    def knows(self, origin: str) -> bool:
        return origin in self._keys

    def verify(self, origin: str, payload: bytes, signature: bytes) -> bool:
        key = self._keys.get(origin)
        if key is None:
            return False
        try:
            key.verify(signature, payload)
        except InvalidSignature:
            return False
        return True
