"""Fields of a message in bytes: texts with their length in front and numbers in network order, strictly bounded."""

from __future__ import annotations

import functools
import ipaddress
import struct

from swim.messages import Address, Life

NAME_BYTES = 63
HOST_BYTES = 45  # a literal IP address, so that no peer can make us ask a resolver
TENANT_CHARACTERS = 253
TENANT_BYTES = 4 * TENANT_CHARACTERS
SIGNATURE_BYTES = 64
LARGEST = 2**53 - 1  # of revisions, epochs, sequences and cents: a JSON number still holds it exactly

_LIFE = struct.Struct("!II")
_PORT = struct.Struct("!H")
_LENGTH = struct.Struct("!H")
_SMALL = 1 + _PORT.size  # of an address besides its host


class Malformed(Exception):
    """The bytes are not what they should be; the text is a short reason without any of their content."""


# Names, addresses and tenants are few and come in every packet, so what was found good once is remembered.
_remembered = functools.lru_cache(maxsize=4096)


@_remembered
def put_name(value: str) -> bytes:
    """Raises ValueError for a name that no decoder would take."""
    return _short(value, NAME_BYTES)


@_remembered
def put_address(address: Address) -> bytes:
    """Raises ValueError as above."""
    host, port = address
    if not 0 < port < 65536:
        raise ValueError(f"port {port} must be 1 to 65535")
    ipaddress.ip_address(host)
    return _short(host, HOST_BYTES) + _PORT.pack(port)


def put_life(life: Life) -> bytes:
    return _LIFE.pack(*life)


@_remembered
def put_tenant(value: str) -> bytes:
    """Raises ValueError for an id that is blank, too long or not text."""
    encoded = value.encode()
    if not value.strip() or len(value) > TENANT_CHARACTERS:
        raise ValueError(f"a tenant id must have 1 to {TENANT_CHARACTERS} characters, one of them no space")
    return _LENGTH.pack(len(encoded)) + encoded


def name(data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at]
    return _name(data[at:end]), end


def address(data: bytes, at: int) -> tuple[Address, int]:
    end = at + _SMALL + data[at]
    return _address(data[at:end]), end


def life(data: bytes, at: int) -> tuple[Life, int]:
    generation, incarnation = _LIFE.unpack_from(data, at)
    return (generation, incarnation), at + 8


def tenant(data: bytes, at: int) -> tuple[str, int]:
    end = at + _LENGTH.size + _LENGTH.unpack_from(data, at)[0]
    return _tenant(data[at:end]), end


def piece(data: bytes, at: int, length: int, most: int) -> tuple[bytes, int]:
    """`length` bytes from `at`, all of which must be there."""
    end = at + length
    if length > most or end > len(data):
        raise Malformed("length")
    return data[at:end], end


def _short(value: str, most: int) -> bytes:
    if not value.isascii() or not value.isprintable() or " " in value or not 0 < len(value) <= most:
        raise ValueError(f"{value[:80]!r} must be 1 to {most} printable ASCII characters without spaces")
    return bytes((len(value),)) + value.encode()


# The pieces below begin with their length; one that the data could not fill is shorter than it says.


@_remembered
def _name(field: bytes) -> str:
    return _text(field, NAME_BYTES)


@_remembered
def _tenant(field: bytes) -> str:
    (length,) = _LENGTH.unpack_from(field)
    encoded, _ = piece(field, _LENGTH.size, length, TENANT_BYTES)
    value = encoded.decode()
    if not value.strip() or len(value) > TENANT_CHARACTERS:
        raise Malformed("tenant")
    return value


@_remembered
def _address(field: bytes) -> Address:
    host = _text(field[: -_PORT.size], HOST_BYTES)
    (port,) = _PORT.unpack(field[-_PORT.size :])
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise Malformed("host") from None
    if not port:
        raise Malformed("port")
    return host, port


def _text(field: bytes, most: int) -> str:
    encoded, _ = piece(field, 1, field[0], most)
    value = encoded.decode("ascii")
    if not value or not value.isprintable() or " " in value:
        raise Malformed("text")
    return value
