"""Bytes: everything that can be said comes back as it was, and everything else is refused without an exception."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swim import codec, fields
from swim.envelope import KEY_BYTES, Envelope, Refused
from swim.forms import BUCKETS
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
from swim.simulator.fuzz import KEY, fuzz

HERE = ("10.0.0.1", 7946)
HEAD = codec.head("s1", HERE)
OLD, NEW, OTHER = (bytes((byte,)) * KEY_BYTES for byte in (1, 2, 3))

NAMES = st.text("abcz-.09", min_size=1, max_size=63)
ADDRESSES = st.tuples(st.ip_addresses().map(str), st.integers(1, 65535))
LIVES = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
SEQUENCES, NUMBERS = st.integers(0, 2**32 - 1), st.integers(0, fields.LARGEST)
TENANTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=253).filter(str.strip)
SIGNATURES = st.binary(min_size=64, max_size=64)
DIGESTS = st.lists(st.integers(0, 2**64 - 1), min_size=BUCKETS, max_size=BUCKETS).map(tuple)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(Ping, SEQUENCES, NAMES),
    st.builds(Ack, SEQUENCES),
    st.builds(Nack, SEQUENCES),
    st.builds(PingRequest, SEQUENCES, NAMES, ADDRESSES),
    st.builds(Alive, NAMES, LIVES, ADDRESSES),
    st.builds(Suspect, NAMES, LIVES, NAMES),
    st.builds(Dead, NAMES, LIVES, NAMES),
    st.builds(Left, NAMES, LIVES),
    st.builds(Record, TENANTS, NUMBERS, NAMES, NUMBERS, NUMBERS, SIGNATURES),
    st.builds(ProviderState, NAMES, NUMBERS, st.binary(max_size=300), SIGNATURES),
    st.builds(Sync, st.integers(1, 3), NUMBERS, st.lists(st.tuples(NUMBERS, DIGESTS), max_size=2).map(tuple)),
    st.builds(Have, NAMES, NUMBERS),
)
quick = settings(max_examples=40, deadline=None, database=None)


@quick
@given(st.lists(MESSAGES, max_size=5))
def test_messages_come_back_as_they_were(messages: list[Message]) -> None:
    body = HEAD + b"".join(map(codec.encode, messages))
    assert codec.decode(body) == Packet("s1", HERE, messages)


@quick
@given(st.lists(MESSAGES, min_size=1, max_size=3))
def test_a_body_that_ends_inside_a_message_is_refused(messages: list[Message]) -> None:
    encoded = [codec.encode(message) for message in messages]
    whole = HEAD + b"".join(encoded)
    for missing in range(1, len(encoded[-1])):
        assert codec.decode(whole[:-missing]) == "malformed"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "malformed"),
        (HEAD + codec.encode(Ack(1)) * 65_537, "malformed"),
        (HEAD[:-1], "malformed"),
        (HEAD + b"\x07", "unknown_kind"),
        (HEAD + b"\x00", "unknown_kind"),
        (codec.head("s1", HERE).replace(b"s1", b"s\n"), "malformed"),
        (codec.head("s1", HERE).replace(b"10.0.0.1", b"www.test"), "malformed"),
        (HEAD[:-2] + b"\0\0", "malformed"),
        (HEAD + codec.encode(Left("a" * 63, (1, 1))).replace(b"\x3f", b"\x40", 1) + b"a", "malformed"),
        (HEAD + codec.encode(Have("s1", 2**53)), "malformed"),
        (HEAD + codec.encode(Record("t", 0, "s1", 2**64 - 1, 1, bytes(64))), "malformed"),
        (HEAD + codec.encode(Record("tt", 0, "s1", 1, 1, bytes(64))).replace(b"tt", b"  "), "malformed"),
        (HEAD + codec.encode(Record("tt", 0, "s1", 1, 1, bytes(64))).replace(b"tt", b"\xff\xfe"), "malformed"),
        (HEAD + codec.encode(Sync(1, 0, ()))[:-1] + b"\xff", "malformed"),
        (HEAD + codec.encode(Sync(1, 0, ())).replace(b"\x30\x01", b"\x30\x04"), "malformed"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_a_reason(body: bytes, why: str) -> None:
    assert codec.decode(body) == why


@pytest.mark.parametrize(
    "message",
    [
        Record(" ", 0, "s1", 1, 1, bytes(64)),
        Record("t" * 254, 0, "s1", 1, 1, bytes(64)),
        Record("t", 0, "s 1", 1, 1, bytes(64)),
        Record("t", 0, "s1", 1, 1, b"short"),
        Alive("s1", (1, 0), ("host.test", 1)),
        Alive("s1", (1, 0), ("10.0.0.1", 0)),
        Ping(1, ""),
        Ping(2**32, "s1"),
        ProviderState("s1", 1, bytes(65_536), bytes(64)),
        Ping(1, "a" * 64),
        Ping(1, "ä"),
    ],
)
def test_what_no_peer_would_understand_is_not_said(message: Message) -> None:
    with pytest.raises(ValueError):
        codec.encode(message)


def reason(envelope: Envelope, data: bytes) -> str:
    with pytest.raises(Refused) as refused:
        envelope.open(data)
    return str(refused.value)


def test_a_sealed_packet_opens_with_its_key_and_network_only() -> None:
    sealed = Envelope("net", [OLD]).close(b"body")
    assert b"body" not in sealed
    assert Envelope("net", [OLD]).open(sealed) == b"body"
    assert reason(Envelope("net", [OTHER]), sealed) == "undecryptable"
    assert reason(Envelope("net"), sealed) == "sealed"
    assert reason(Envelope("net", [OLD]), Envelope("net").close(b"body")) == "plain"
    assert reason(Envelope("other", [OLD]), sealed) == "other_network"
    assert reason(Envelope("net", [OLD]), sealed[:2] + b"\x02" + sealed[3:]) == "unknown_version"
    assert reason(Envelope("net", [OLD]), sealed[:3] + b"\x02" + sealed[4:]) == "unknown_mode"
    assert reason(Envelope("net", [OLD]), sealed[:20]) == "malformed"
    for at in range(12, len(sealed)):
        changed = bytearray(sealed)
        changed[at] ^= 1
        assert reason(Envelope("net", [OLD]), bytes(changed)) == "undecryptable"


def test_the_network_is_part_of_what_is_sealed_not_only_its_hash() -> None:
    ours, twin = Envelope("net", [OLD]), Envelope("other", [OLD])
    twin._digest = ours._digest  # as if the hashes were the same
    twin.rotate([OLD])
    assert reason(ours, twin.close(b"body")) == "undecryptable"


def test_keys_are_rotated_while_old_and_new_packets_are_on_the_way() -> None:
    before, middle, after = Envelope("net", [OLD, NEW]), Envelope("net", [NEW, OLD]), Envelope("net", [NEW])
    for sender, receiver in ((before, middle), (middle, before), (middle, after), (after, middle)):
        assert receiver.open(sender.close(b"body")) == b"body"
    assert reason(after, before.close(b"body")) == "undecryptable"


def test_a_network_does_not_change_between_sealed_and_plain() -> None:
    for before, after in (([OLD], []), ([], [OLD])):
        with pytest.raises(ValueError, match="either sealed or plain"):
            Envelope("net", before).rotate(after)


@pytest.mark.parametrize("keys", [[b"short"], [OLD] * 5])
def test_a_wrong_key_ring_is_refused(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="key ring"):
        Envelope("net", keys)


@pytest.mark.parametrize("keys", [(), (KEY,)])
def test_ten_thousand_hostile_packets_change_nothing(keys: tuple[bytes, ...]) -> None:
    world = fuzz(10_000, seed=5, keys=keys)
    node = world.sites["s1"].node
    assert node
    assert node.ledger.totals() == {"t": 1}
    assert len(list(node.members.others())) < 50
    assert len(node.counters) < 50
    world.kill("s2")
    world.start("s2")
    assert world.run(10, lambda: bool(world.sites["s2"].node and world.sites["s2"].node.ledger.total("t") == 1))


def test_random_bytes_never_raise() -> None:
    chance = random.Random(3)
    for _ in range(10_000):
        codec.decode(HEAD + chance.randbytes(chance.randrange(200)))
