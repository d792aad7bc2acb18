"""What nodes say to each other. `codec` puts it into bytes.

An address is where a node listens, by UDP and TCP on the same port, as it says itself: behind a Service the source of
a packet is somebody else. A life is (generation, incarnation): the first is raised by each start and persisted, the
second by each refutation; of two claims about a member the one of the later life holds.
"""

from __future__ import annotations

from typing import NamedTuple

Address = tuple[str, int]
Life = tuple[int, int]

REQUEST, REPLY, CLOSING = 1, 2, 3  # the stages of a push/pull


class Ping(NamedTuple):
    sequence: int
    target: str  # the name asked for; another node that has its old address keeps silent


class Ack(NamedTuple):
    sequence: int


class Nack(NamedTuple):
    """A helper had no answer either, but lives: the asker itself is not at fault (Lifeguard IV-A)."""

    sequence: int


class PingRequest(NamedTuple):
    sequence: int
    target: str
    address: Address


class Alive(NamedTuple):
    name: str
    life: Life
    address: Address


class Suspect(NamedTuple):
    name: str
    life: Life
    by: str


class Dead(NamedTuple):
    name: str
    life: Life
    by: str


class Left(NamedTuple):
    """The member said good-bye itself."""

    name: str
    life: Life


class Record(NamedTuple):
    """What one origin has spent for one tenant in one epoch: cents in total, and in how many spends."""

    tenant: str
    epoch: int
    origin: str
    cents: int
    sequence: int
    signature: bytes = b""


class ProviderState(NamedTuple):
    """All that one origin says of its providers, whole; a later revision replaces an earlier one."""

    origin: str
    revision: int
    payload: bytes
    signature: bytes = b""


class Sync(NamedTuple):
    """The head of each stage of a push/pull: the sender's epoch, and a digest for each bucket of each epoch it keeps."""

    stage: int
    epoch: int
    digests: tuple[tuple[int, tuple[int, ...]], ...]


class Have(NamedTuple):
    """The revision that the sender has of an origin's provider state."""

    origin: str
    revision: int


Claim = Alive | Suspect | Dead | Left
Message = Ping | Ack | Nack | PingRequest | Claim | Record | ProviderState | Sync | Have


class Packet(NamedTuple):
    sender: str
    address: Address
    messages: list[Message]
