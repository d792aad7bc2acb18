"""What a node is told, and what it wants done. The shell and the simulator turn the second into the first of others."""

from __future__ import annotations

from typing import NamedTuple

from swim.messages import Address, Life, ProviderState, Record


class Start(NamedTuple):
    """Begin to probe and to join."""


class Tick(NamedTuple):
    """`Node.deadline` has come."""


class Datagram(NamedTuple):
    data: bytes


class StreamData(NamedTuple):
    """One whole frame came on a stream; streams that others opened have ids below 0, given by the shell."""

    stream: int
    data: bytes


class StreamFailed(NamedTuple):
    """A stream that the node opened was refused, broke or took too long."""

    stream: int


class Resolved(NamedTuple):
    """The addresses that the seeds have now; those that have none are named."""

    addresses: tuple[Address, ...]
    unresolved: tuple[str, ...] = ()


class Spent(NamedTuple):
    """Our own record, signed and persisted."""

    record: Record


class Published(NamedTuple):
    """Our own provider state, signed."""

    state: ProviderState


class EpochSet(NamedTuple):
    """The policy's epoch. One below the present is refused and counted."""

    epoch: int


class Leave(NamedTuple):
    """Say good-bye; the node answers no more accusations."""


Event = Start | Tick | Datagram | StreamData | StreamFailed | Resolved | Spent | Published | EpochSet | Leave


class Send(NamedTuple):
    """One datagram."""

    address: Address
    data: bytes


class OpenStream(NamedTuple):
    """Connect, send one frame, and bring what comes back."""

    stream: int
    address: Address
    data: bytes


class StreamSend(NamedTuple):
    """One more frame; after the last the stream is closed."""

    stream: int
    data: bytes
    last: bool


class CloseStream(NamedTuple):
    stream: int


class Resolve(NamedTuple):
    """Look the seeds up now and bring a Resolved."""


class MemberChanged(NamedTuple):
    """A member is new or has changed its state, life or address; state is one of `members.STATES`."""

    name: str
    address: Address
    life: Life
    state: str


class MemberEvicted(NamedTuple):
    """A dead or left member is forgotten. Its spend is not."""

    name: str


class NameConflict(NamedTuple):
    """Somebody else at this address lives under our name, or two do under another."""

    name: str
    address: Address


class GenerationRaised(NamedTuple):
    """Others knew a later life of ours; persist this, so that the next start is later still."""

    generation: int


class SpendChanged(NamedTuple):
    """A record was merged."""

    record: Record


class OwnSpendRelearned(NamedTuple):
    """A peer kept a record that we signed and no longer had; persist it before the next spend of that tenant."""

    record: Record


class ProvidersChanged(NamedTuple):
    origin: str


class OwnProvidersOutdated(NamedTuple):
    """A peer has a later state of ours than we published; publish again with a revision above this one."""

    revision: int


Effect = (
    Send
    | OpenStream
    | StreamSend
    | CloseStream
    | Resolve
    | MemberChanged
    | MemberEvicted
    | NameConflict
    | GenerationRaised
    | SpendChanged
    | OwnSpendRelearned
    | ProvidersChanged
    | OwnProvidersOutdated
)
