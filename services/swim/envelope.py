"""The outside of every datagram and stream frame: whose it is, and AES-256-GCM around the body.

12 bytes in the clear: "SG", version, mode, and 8 bytes of a hash of the network's id, so that a packet of another network
is known for what it is. These 12 bytes and the whole network id are the associated data. Nonces are 96 random bits: one
key is good for 2^32 packets (NIST SP 800-38D, 8.3), which is years at the rates of this protocol; rotation ends it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from swim import mutations

VERSION = 1
HEAD_BYTES = 12
KEY_BYTES = 32
MAX_KEYS = 4
_NONCE_BYTES, _TAG_BYTES = 12, 16
_PLAIN, _SEALED = 0, 1


class Refused(Exception):
    """The packet is not for us or not whole; the text is the reason, one of few."""


class Envelope:
    """Closes bodies into packets and opens packets into bodies, for one network.

    `keys` are of 32 bytes each, at most 4: the first one seals, and all open, so that a ring is rotated by adding the new
    key behind everywhere, then moving it to the front everywhere, then removing the old one. Without keys packets are
    plain; a node with keys takes no plain packet and one without takes no sealed one. Raises ValueError for a wrong key.
    """

    def __init__(self, network: str, keys: Sequence[bytes] = (), nonces: Callable[[int], bytes] = os.urandom) -> None:
        if not network or len(network.encode()) > 255:
            raise ValueError("a network id must have 1 to 255 bytes")
        self.network, self._nonces = network, nonces
        self._digest = hashlib.blake2b(network.encode(), digest_size=8).digest()
        self._sealed = bool(keys)
        self.plant(frozenset())
        self.rotate(keys)

    def plant(self, active: frozenset[str]) -> None:
        """Switch these of the planted defects on."""
        self._takes_plain = mutations.ACCEPT_PLAIN in active
        self._opening = 1 if mutations.FIRST_KEY_ONLY in active else MAX_KEYS

    def rotate(self, keys: Sequence[bytes]) -> None:
        """Use these keys from now on. Raises ValueError for a wrong ring, and for none in place of some or the reverse."""
        if len(keys) > MAX_KEYS or any(len(key) != KEY_BYTES for key in keys):
            raise ValueError(f"a key ring has at most {MAX_KEYS} keys of {KEY_BYTES} bytes each")
        if bool(keys) != self._sealed:
            raise ValueError("a network is either sealed or plain; that cannot be changed while it runs")
        self._ciphers = [AESGCM(key) for key in keys]
        self._head = b"SG" + bytes((VERSION, _SEALED if keys else _PLAIN)) + self._digest
        self._associated = self._head + self.network.encode()

    @property
    def overhead(self) -> int:
        """Bytes that a packet is longer than its body."""
        return HEAD_BYTES + (_NONCE_BYTES + _TAG_BYTES if self._sealed else 0)

    def close(self, body: bytes) -> bytes:
        if not self._ciphers:
            return self._head + body
        nonce = self._nonces(_NONCE_BYTES)
        return self._head + nonce + self._ciphers[0].encrypt(nonce, body, self._associated)

    def open(self, data: bytes) -> bytes:
        """The body. Raises Refused."""
        if data[:HEAD_BYTES] != self._head:
            why = self._why(data)
            if why == "plain" and self._takes_plain:
                return data[HEAD_BYTES:]
            raise Refused(why)
        if not self._ciphers:
            return data[HEAD_BYTES:]
        nonce, sealed = data[HEAD_BYTES : HEAD_BYTES + _NONCE_BYTES], data[HEAD_BYTES + _NONCE_BYTES :]
        if len(sealed) < _TAG_BYTES:
            raise Refused("malformed")
        for cipher in self._ciphers[: self._opening]:
            try:
                return cipher.decrypt(nonce, sealed, self._associated)
            except InvalidTag:
                continue
        raise Refused("undecryptable")

    def _why(self, data: bytes) -> str:
        if len(data) < HEAD_BYTES or data[:2] != b"SG":
            return "malformed"
        if data[2] != VERSION:
            return "unknown_version"
        if data[4:HEAD_BYTES] != self._digest:
            return "other_network"
        if data[3] not in (_PLAIN, _SEALED):
            return "unknown_mode"
        return "sealed" if data[3] == _SEALED else "plain"
