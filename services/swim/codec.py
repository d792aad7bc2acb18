"""Messages in bytes and back.

A body is the sender's name and address, and then messages to the end, each a kind and its fields. Decoding is strict:
whatever is unknown, too long, cut off or out of range refuses the whole body, since its sender speaks another language.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from swim import fields, forms
from swim.messages import (
    Ack,
    Alive,
    Dead,
    Have,
    Left,
    Message,
    Nack,
    Packet,
    Ping,
    PingRequest,
    ProviderState,
    Record,
    Suspect,
    Sync,
)

MAX_MESSAGES = 65_536  # of one body, which keeps the work that a frame can cause small

_Writer = Callable[[Any], bytes]
_Reader = Callable[[bytes, int], tuple[Message, int]]

_FORMS: dict[type, tuple[int, _Writer, _Reader]] = {
    Ping: (1, forms.put_ping, forms.get_ping),
    Ack: (2, forms.put_answer, forms.get_ack),
    Nack: (3, forms.put_answer, forms.get_nack),
    PingRequest: (4, forms.put_request, forms.get_ping_request),
    Alive: (16, forms.put_alive, forms.get_alive),
    Suspect: (17, forms.put_accusation, forms.get_suspect),
    Dead: (18, forms.put_accusation, forms.get_dead),
    Left: (19, forms.put_left, forms.get_left),
    Record: (32, forms.put_record, forms.get_record),
    ProviderState: (33, forms.put_providers, forms.get_providers),
    Sync: (48, forms.put_sync, forms.get_sync),
    Have: (49, forms.put_have, forms.get_have),
}
_WRITERS = {form: (bytes((number,)), write) for form, (number, write, _) in _FORMS.items()}
_READERS = {number: read for number, _, read in _FORMS.values()}


def head(name: str, address: tuple[str, int]) -> bytes:
    """What every body of one sender begins with. Raises ValueError for a name or address that cannot be said."""
    return fields.put_name(name) + fields.put_address(address)


def encode(message: Message) -> bytes:
    """Raises ValueError for a text or a number that cannot be said."""
    kind, write = _WRITERS[type(message)]
    try:
        return kind + write(message)
    except struct.error as error:
        raise ValueError(f"{type(message).__name__} has a number out of range: {error}") from error


def unsigned(message: Record | ProviderState) -> bytes:
    """All that a signature covers, but the network."""
    return encode(message._replace(signature=bytes(fields.SIGNATURE_BYTES)))[: -fields.SIGNATURE_BYTES]


def decode(data: bytes) -> Packet | str:
    """The packet in a body, or the reason why there is none; never raises."""
    try:
        name, at = fields.name(data, 0)
        address, at = fields.address(data, at)
        messages: list[Message] = []
        end = len(data)
        for _ in range(MAX_MESSAGES):
            if at == end:
                return Packet(name, address, messages)
            message, at = _READERS[data[at]](data, at + 1)
            messages.append(message)
    except KeyError:
        return "unknown_kind"
    except (fields.Malformed, IndexError, struct.error, UnicodeDecodeError):
        return "malformed"
    return "malformed"
