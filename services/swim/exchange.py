"""Push/pull: two nodes tell each other all that they know, in three frames over one stream.

The opener sends its members and digests of its spend; the other answers with its own, and with the records of every
bucket that differs; the opener closes with what the other lacks. Digests keep an exchange between nodes that agree small.
A frame is bounded: what finds no room goes with a later exchange, since another bucket is first each time.
"""

from __future__ import annotations

from collections.abc import Iterable

from swim import codec
from swim.context import Context
from swim.events import CloseStream, OpenStream, StreamSend
from swim.lanes import Lanes
from swim.members import Members
from swim.messages import CLOSING, REPLY, REQUEST, Address, Alive, Dead, Have, Left, Message, Packet, Suspect, Sync
from swim.outbox import Outbox
from swim.turn import Turn

FRAME_BYTES = 4 * 2**20
MAX_OPEN = 64
_CLAIMS = (Alive, Suspect, Left)


class Exchange:
    """The push/pulls of one node, those that it opens and those that it answers."""

    def __init__(self, context: Context, members: Members, lanes: Lanes, outbox: Outbox) -> None:
        self._context, self._members, self._lanes, self._outbox = context, members, lanes, outbox
        self._streams = 0
        self._open: set[int] = set()
        self._turn = Turn(members, context.rng)
        self.last: float | None = None  # when all of a peer was last heard, None: never

    def start(self) -> None:
        interval = self._context.parameters.push_pull_interval
        self._context.after(self._context.rng.random() * interval, self._periodic)

    def begin(self, address: Address) -> None:
        """Open an exchange with whoever listens there."""
        if len(self._open) >= MAX_OPEN:
            self._context.count("exchange", "too_many_open")
            return
        self._streams += 1
        self._open.add(self._streams)
        self._context.count("exchange", "opened")
        data = self._frame(REQUEST, [*self._members.claims(), *self._lanes.offer()])
        self._context.emit(OpenStream(self._streams, address, data))

    def failed(self, stream: int) -> None:
        if stream in self._open:
            self._open.discard(stream)
            self._context.count("exchange", "failed")

    def received(self, stream: int, packet: Packet) -> None:
        """One frame of either side; one that does not belong here ends the stream and is counted."""
        sync = packet.messages[0] if packet.messages else None
        if not isinstance(sync, Sync) or (sync.stage == REPLY) != (stream in self._open):
            self.refuse(stream, "out_of_turn")
            return
        self._learn(packet)
        haves = [message for message in packet.messages if isinstance(message, Have)]
        lacking = self._lanes.lacking(sync, haves)
        # One that was forgotten as dead must hear it, or it would never say that it lives.
        accusations = [told] if (told := self._members.accused(packet.sender)) else []
        if sync.stage == REQUEST:
            known = [*self._members.claims(), *accusations, *self._lanes.offer()]
            answer = self._frame(REPLY, known, lacking)
            self._context.emit(StreamSend(stream, answer, last=False))
        elif sync.stage == REPLY:
            self._open.discard(stream)
            self._context.count("exchange", "done")
            self.last = self._context.now
            self._context.emit(
                StreamSend(stream, self._frame(CLOSING, [self._members.myself(), *accusations], lacking), last=True)
            )
        else:
            self.last = self._context.now
            self._context.emit(CloseStream(stream))

    def refuse(self, stream: int, why: str) -> None:
        self._open.discard(stream)
        self._context.count("exchange", why)
        self._context.emit(CloseStream(stream))

    def _learn(self, packet: Packet) -> None:
        """That somebody is dead is taken for a suspicion here, so that whoever lives can still say so."""
        for message in packet.messages:
            if isinstance(message, _CLAIMS):
                self._members.hear(message)
            elif isinstance(message, Dead):
                self._members.hear(Suspect(message.name, message.life, packet.sender))
        self._lanes.receive(packet.messages)

    def _frame(self, stage: int, small: Iterable[Message], large: Iterable[Message] = ()) -> bytes:
        """`small` goes whole, a few hundred kilobytes at most; of `large` as much as there is room for."""
        head = Sync(stage, self._lanes.ledger.epoch, self._lanes.digests())
        encoded = list(map(codec.encode, (head, *small)))
        room = FRAME_BYTES - sum(map(len, encoded))
        for message in large:
            item = codec.encode(message)
            room -= len(item)
            if room < 0:
                self._context.count("exchange", "cut")
                break
            encoded.append(item)
        return self._outbox.frame(encoded)

    def _periodic(self) -> None:
        """Partners are shuffled and taken in turn, as targets of probes are: each pair meets within a known time."""
        if self._members.leaving:
            return
        if partner := self._turn.next():
            self.begin(partner.address)
        self._context.after(self._context.parameters.push_pull_interval, self._periodic)
