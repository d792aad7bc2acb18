"""Makes datagrams: first what must be said, then as much of what waits as the byte budget lets in."""

from __future__ import annotations

from collections.abc import Callable

from swim import broadcasts, codec
from swim.context import Context
from swim.envelope import Envelope
from swim.events import Send
from swim.messages import Address, Message


class Outbox:
    """No datagram is ever longer than `packet_bytes`."""

    def __init__(
        self, context: Context, envelope: Envelope, name: str, address: Address, population: Callable[[], int]
    ) -> None:
        self._context, self._envelope = context, envelope
        self.head = codec.head(name, address)
        self.room = context.parameters.packet_bytes - envelope.overhead - len(self.head)
        self.queue = broadcasts.Queue(self.room, population, context.parameters.retransmit_multiplier)

    def send(self, address: Address, *messages: Message) -> None:
        """Send the messages, which the caller keeps small, and what else there is to tell."""
        said = b"".join(map(codec.encode, messages))
        told = self.queue.take(self.room - len(said))
        if told:
            self._context.count("gossip", "items", len(told))
        elif not said:
            return
        data = self._envelope.close(self.head + said + b"".join(told))
        self._context.count("packet", "sent")
        self._context.emit(Send(address, data))

    def frame(self, messages: list[bytes]) -> bytes:
        """A stream's frame with these encoded messages."""
        return self._envelope.close(self.head + b"".join(messages))
