"""Own spend on its way: into the database, then to the gossip, then acknowledged; many at once in one transaction.

One task does all of it in turn, so that what is told of a slot only grows. What peers give back of our own spend goes the
same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from common import database
from grid_operator import mutations, store
from swim.messages import Record

BATCH = 256  # spends of one transaction
LATE_S = 3.0  # how late the mutation `persist-after-ack` writes
_ENDED = "this site's life in the network ends"


class Conflict(Exception):
    """The request id was used before for something else; `earlier` is what."""

    def __init__(self, earlier: store.Request) -> None:
        super().__init__(earlier.request)
        self.earlier = earlier


@dataclass(slots=True)
class _Ask:
    request: store.Request
    answer: asyncio.Future[bool] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Writer:
    """Of one site of one network; `tell` is given each slot that has grown, once it is committed.

    `trouble` is as of `conditions.of_persistence`; `on_trouble` is called when it changes.
    """

    def __init__(
        self,
        kept: store.Store,
        tell: Callable[[store.Slot], None],
        on_trouble: Callable[[], None],
        active: frozenset[str] = frozenset(),
    ) -> None:
        self._store, self._tell, self._on_trouble = kept, tell, on_trouble
        self._late = mutations.PERSIST_AFTER_ACK in active
        self._queue: asyncio.Queue[_Ask | Record] = asyncio.Queue()
        self.trouble: str | None = None
        self.batches = 0
        self._ended = False

    async def spend(self, request: store.Request) -> bool:
        """Take the request; whether it is new. Raises Conflict, and database.Unavailable when it is not known what became
        of it: asking again under the same id is safe."""
        if self._ended:
            raise database.Unavailable(_ENDED)
        ask = _Ask(request)
        self._queue.put_nowait(ask)
        return await ask.answer

    def relearn(self, record: Record) -> None:
        """A peer kept this record of ours. Tried until it is written: nobody would tell it again."""
        self._queue.put_nowait(record)

    def saw(self, trouble: str) -> None:
        """The database did its work, or why not."""
        if trouble != self.trouble:
            self.trouble = trouble
            self._on_trouble()

    async def run(self) -> None:
        """Until cancelled, which ends it."""
        held: list[_Ask | Record] = []
        try:
            while True:
                held = [await self._queue.get()]
                while len(held) < BATCH and not self._queue.empty():
                    held.append(self._queue.get_nowait())
                for work in held:
                    if isinstance(work, Record):
                        await self._relearn(work)
                await self._spend([work for work in held if isinstance(work, _Ask)])
                held = []
        finally:
            for work in held:
                self._queue.put_nowait(work)
            self.end()

    def end(self) -> None:
        """Take nothing more; who waits is told that it is not known what became of it. Again is harmless."""
        self._ended = True
        while not self._queue.empty():
            work = self._queue.get_nowait()
            if isinstance(work, _Ask) and not work.answer.done():
                work.answer.set_exception(database.Unavailable(_ENDED))

    async def _relearn(self, record: Record) -> None:
        try:
            slot = await self._store.relearn(record.epoch, record.tenant, record.cents, record.sequence)
        except database.Unavailable as error:
            self.saw(str(error))
            asyncio.get_running_loop().call_later(1.0, self.relearn, record)
            return
        self.saw("")
        self._tell(slot)

    def _put_off(self, asks: Sequence[_Ask]) -> Sequence[_Ask]:
        """A planted defect: those that were answered before; the others are answered now and come again later."""
        answered = [ask for ask in asks if ask.answer.done()]
        for ask in asks:
            if not ask.answer.done():
                _settle(ask, None)
                asyncio.get_running_loop().call_later(LATE_S, self._queue.put_nowait, ask)
        return answered

    async def _spend(self, asks: Sequence[_Ask]) -> None:
        """Of several with one id the first is asked for, and the others are compared with it."""
        if self._late:
            asks = self._put_off(asks)
        first: dict[str, _Ask] = {}
        for ask in asks:
            first.setdefault(ask.request.request, ask)
        if not first:
            return
        try:
            known, grown = await self._store.spend([ask.request for ask in first.values()])
        except database.Unavailable as error:
            self.saw(str(error))
            for ask in asks:
                if not ask.answer.done():
                    ask.answer.set_exception(error)
            return
        self.batches += 1
        self.saw("")
        for slot in grown:
            self._tell(slot)
        for ask in asks:
            name = ask.request.request
            _settle(ask, known.get(name) or (None if first[name] is ask else first[name].request))


def _settle(ask: _Ask, earlier: store.Request | None) -> None:
    if ask.answer.done():  # its caller is gone
        return
    if earlier is None or earlier.same(ask.request):
        ask.answer.set_result(earlier is None)
    else:
        ask.answer.set_exception(Conflict(earlier))
