"""The fields of each kind of message, written and read. A reader takes the data and where the fields begin, and returns
the message and where they end; it raises `fields.Malformed`, IndexError, struct.error or UnicodeDecodeError."""

from __future__ import annotations

import struct

from swim import fields
from swim.fields import LARGEST, SIGNATURE_BYTES, Malformed
from swim.messages import Ack, Alive, Dead, Have, Left, Nack, Ping, PingRequest, ProviderState, Record, Suspect, Sync

BUCKETS = 32  # of the digests in a Sync
MAX_EPOCHS = 8
PAYLOAD_BYTES = 65_535

_SEQUENCE = struct.Struct("!I")
_NUMBER = struct.Struct("!Q")
_COUNTED = struct.Struct(f"!QQ{SIGNATURE_BYTES}s")
_PAYLOAD = struct.Struct("!QH")
_SYNC = struct.Struct("!BQB")
_DIGESTS = struct.Struct(f"!Q{BUCKETS}Q")


def put_ping(ping: Ping) -> bytes:
    return _SEQUENCE.pack(ping.sequence) + fields.put_name(ping.target)


def put_answer(answer: Ack | Nack) -> bytes:
    return _SEQUENCE.pack(answer.sequence)


def put_record(record: Record) -> bytes:
    key = fields.put_tenant(record.tenant) + _NUMBER.pack(record.epoch) + fields.put_name(record.origin)
    return key + _COUNTED.pack(record.cents, record.sequence, _signature(record.signature))


def put_providers(state: ProviderState) -> bytes:
    size = _PAYLOAD.pack(state.revision, len(state.payload))
    return fields.put_name(state.origin) + size + state.payload + _signature(state.signature)


def put_sync(sync: Sync) -> bytes:
    head = _SYNC.pack(sync.stage, sync.epoch, len(sync.digests))
    return head + b"".join([_DIGESTS.pack(epoch, *buckets) for epoch, buckets in sync.digests])


def put_alive(alive: Alive) -> bytes:
    return fields.put_name(alive.name) + fields.put_life(alive.life) + fields.put_address(alive.address)


def put_accusation(told: Suspect | Dead) -> bytes:
    return fields.put_name(told.name) + fields.put_life(told.life) + fields.put_name(told.by)


def put_request(asked: PingRequest) -> bytes:
    return _SEQUENCE.pack(asked.sequence) + fields.put_name(asked.target) + fields.put_address(asked.address)


def put_left(left: Left) -> bytes:
    return fields.put_name(left.name) + fields.put_life(left.life)


def put_have(have: Have) -> bytes:
    return fields.put_name(have.origin) + _NUMBER.pack(have.revision)


def get_ping(data: bytes, at: int) -> tuple[Ping, int]:
    (sequence,) = _SEQUENCE.unpack_from(data, at)
    target, at = fields.name(data, at + 4)
    return Ping(sequence, target), at


def get_ack(data: bytes, at: int) -> tuple[Ack, int]:
    return Ack(_SEQUENCE.unpack_from(data, at)[0]), at + 4


def get_nack(data: bytes, at: int) -> tuple[Nack, int]:
    return Nack(_SEQUENCE.unpack_from(data, at)[0]), at + 4


def get_ping_request(data: bytes, at: int) -> tuple[PingRequest, int]:
    (sequence,) = _SEQUENCE.unpack_from(data, at)
    target, at = fields.name(data, at + 4)
    address, at = fields.address(data, at)
    return PingRequest(sequence, target, address), at


def get_alive(data: bytes, at: int) -> tuple[Alive, int]:
    name, at = fields.name(data, at)
    life, at = fields.life(data, at)
    address, at = fields.address(data, at)
    return Alive(name, life, address), at


def get_suspect(data: bytes, at: int) -> tuple[Suspect, int]:
    name, at = fields.name(data, at)
    life, at = fields.life(data, at)
    by, at = fields.name(data, at)
    return Suspect(name, life, by), at


def get_dead(data: bytes, at: int) -> tuple[Dead, int]:
    told, at = get_suspect(data, at)
    return Dead(*told), at


def get_left(data: bytes, at: int) -> tuple[Left, int]:
    name, at = fields.name(data, at)
    life, at = fields.life(data, at)
    return Left(name, life), at


def get_record(data: bytes, at: int) -> tuple[Record, int]:
    tenant, at = fields.tenant(data, at)
    (epoch,) = _NUMBER.unpack_from(data, at)
    origin, at = fields.name(data, at + 8)
    cents, sequence, signature = _COUNTED.unpack_from(data, at)
    _small(epoch, cents, sequence)
    return Record(tenant, epoch, origin, cents, sequence, signature), at + _COUNTED.size


def get_providers(data: bytes, at: int) -> tuple[ProviderState, int]:
    origin, at = fields.name(data, at)
    revision, length = _PAYLOAD.unpack_from(data, at)
    _small(revision)
    payload, at = fields.piece(data, at + 10, length, PAYLOAD_BYTES)
    signature, at = fields.piece(data, at, SIGNATURE_BYTES, SIGNATURE_BYTES)
    return ProviderState(origin, revision, payload, signature), at


def get_sync(data: bytes, at: int) -> tuple[Sync, int]:
    stage, epoch, count = _SYNC.unpack_from(data, at)
    if not 1 <= stage <= 3 or count > MAX_EPOCHS:
        raise Malformed("sync")
    at += _SYNC.size
    digests = []
    for _ in range(count):
        of, *buckets = _DIGESTS.unpack_from(data, at)
        _small(of)
        digests.append((of, tuple(buckets)))
        at += _DIGESTS.size
    _small(epoch)
    return Sync(stage, epoch, tuple(digests)), at


def get_have(data: bytes, at: int) -> tuple[Have, int]:
    origin, at = fields.name(data, at)
    (revision,) = _NUMBER.unpack_from(data, at)
    _small(revision)
    return Have(origin, revision), at + 8


def _signature(value: bytes) -> bytes:
    if len(value) != SIGNATURE_BYTES:
        raise ValueError(f"a signature has {SIGNATURE_BYTES} bytes, not {len(value)}")
    return value


def _small(*numbers: int) -> None:
    if max(numbers) > LARGEST:
        raise Malformed("number")
