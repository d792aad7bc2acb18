"""One life of this site in one network: its node, its own spend, and what the others say that must be kept."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import random
from collections.abc import Callable, Mapping, Sequence

from common import database
from grid_operator import conditions, config, keys, offers, plans, policy, routing, store, writer
from swim import events, members, signing
from swim.envelope import Envelope
from swim.fields import LARGEST
from swim.ledger import ORIGIN_CAP
from swim.messages import Address, ProviderState, Record
from swim.node import Identity, Node
from swim.shell import Shell, resolve

_GOODBYE_S = 2.0

_log = logging.getLogger(__name__)


class Mesh:
    """Made by `begin`, ended by `end`. `changed` is called when something may have to be written or shown."""

    def __init__(
        self, plan: plans.Plan, name: str, address: Address, kept: store.Store, begun: store.Site,
        changed: Callable[[], None], active: frozenset[str],
    ) -> None:  # fmt: skip
        self.plan, self.name, self.store, self._changed = plan, name, kept, changed
        self.joined = begun.joined
        self._signer = signing.PrivateKey(plan.secret or begun.secret)
        self._pins = signing.Keys({name: self._signer.public})
        self.others_pinned = 0
        self.recognised = False  # whether a GridSite gives our name the key that we have, so that others believe us
        self._envelope = Envelope(plan.network, plan.ring)
        self.node = Node(
            Identity(name, address, begun.generation), self._envelope, self._pins, plan.parameters,
            random.SystemRandom(), max(begun.epoch, policy.FIRST_EPOCH), active,
        )  # fmt: skip
        self.seeds: tuple[str, ...] = ()
        self.shell = Shell(self.node, (), self._effect, plan.parameters.stream_timeout)
        self.writer = writer.Writer(kept, self._tell, changed, active)
        self._writing: asyncio.Task[None] | None = None
        self._offered: bytes | None = b"[]" if not begun.revision else None  # what was told last, None: not known
        self._outdated = 0
        self._raised = 0

    @property
    def public_key(self) -> bytes:
        return self._signer.public

    @property
    def expects_others(self) -> bool:
        return bool(self.seeds or self.others_pinned)

    @property
    def broken(self) -> bool:
        """Whether no spend can be taken any more in this life, which a defect is the only reason for."""
        return self._writing is not None and self._writing.done()

    @property
    def settled(self) -> bool:
        """Whether totals are more than what this site has spent itself: an exchange was had, or nobody is expected."""
        return self.node.last_exchange is not None or not self.expects_others

    @property
    def lag_s(self) -> float | None:
        """Seconds since all that some peer knew was known here as well; None before the first exchange."""
        last = self.node.last_exchange
        return None if last is None else asyncio.get_running_loop().time() - last

    async def start(self, bind: Address, pinned: Mapping[str, bytes], seeds: Sequence[str], epoch: int) -> None:
        """Listen, join, and tell what was spent in earlier lives. Raises OSError and database.Unavailable."""
        self.pin(pinned)
        self.reseed(seeds)
        await self.reach(epoch)
        slots = await self.store.slots(self.node.ledger.epoch)
        await self.shell.start(*bind)
        for slot in slots:
            self._tell(slot)
        self.writer.saw("")
        self._writing = asyncio.create_task(self.writer.run(), name="grid-writer")

    async def end(self, *, goodbye: bool) -> None:
        """Stop; with `goodbye` the others are told first, and are given what still waits to be told."""
        if self._writing:
            self._writing.cancel()
            await asyncio.wait({self._writing})
            self.writer.end()  # a task that had not begun yet does not
            if not self._writing.cancelled() and (error := self._writing.exception()):
                _log.error("the writer ended", exc_info=error)
        if goodbye:
            self.shell.tell(events.Leave())
            deadline = asyncio.get_running_loop().time() + _GOODBYE_S
            while self.node.waiting and len(self.node.members) > 1 and asyncio.get_running_loop().time() < deadline:
                await asyncio.sleep(self.plan.parameters.gossip_interval)
        await self.shell.close()

    def pin(self, pinned: Mapping[str, bytes]) -> None:
        """Believe these origins; ourselves in any case, by the key that we have."""
        self.others_pinned = len(pinned.keys() - {self.name})
        self.recognised = pinned.get(self.name) == self.public_key
        first = dict(sorted(pinned.items())[:ORIGIN_CAP])
        self._pins.pin({**first, self.name: self.public_key})

    def reseed(self, seeds: Sequence[str]) -> None:
        self.seeds = tuple(seeds)
        self.shell.reseed(self.seeds)

    def rotate(self, plan: plans.Plan) -> None:
        """Use the ring of a plan that continues this one's."""
        self._envelope.rotate(plan.ring)
        self.plan = plan

    async def reach(self, epoch: int) -> None:
        """Begin this epoch, kept before it counts; one that has passed changes nothing."""
        if epoch > self.node.ledger.epoch:
            await self.store.raise_epoch(epoch)
            if self._writing:
                self.shell.tell(events.EpochSet(epoch))
            else:
                self.node.ledger.advance(epoch)

    async def keep(self) -> None:
        """Write down what others made us know. Raises database.Unavailable; what is not written yet stays to be."""
        if raised := self._raised:
            await self.store.raise_generation(raised)
            self._raised = 0 if self._raised == raised else self._raised
        if not self.joined and (not self.seeds or self.node.last_exchange is not None):
            await self.store.join()
            self.joined = True

    async def offer(self, told: Sequence[routing.Offer]) -> int:
        """Tell the others of this site's providers when they do not know it; how many of them are told."""
        payload, fitting = offers.payload(told)
        if payload != self._offered:
            revision = await self.store.next_revision(self._outdated)
            state = ProviderState(self.name, revision, payload)
            self.shell.tell(events.Published(signing.signed(self.plan.network, state, self._signer)))
            self._offered = payload
        return fitting

    def offered(self) -> list[routing.Offer]:
        """The providers of all sites; of a site that says nonsense none."""
        found = []
        for state in self.node.providers:
            try:
                found += offers.read(state.origin, state.payload)
            except ValueError as error:
                _log.warning("providers not read", extra={"facts": {"site": state.origin, "fault": str(error)[:200]}})
        return found

    def view(self) -> conditions.Mesh:
        living = [member.name for member in self.node.members.others(*members.LIVING)]
        dead = [member.name for member in self.node.members.others(members.DEAD)]
        return conditions.Mesh(living, dead, self.node.unresolved, len(self.seeds))

    def _tell(self, slot: store.Slot) -> None:
        """Of own spend that is written. What cannot be said any more is said as the most that can be."""
        record = Record(slot.tenant, slot.epoch, self.name, min(slot.cents, LARGEST), min(slot.spends, LARGEST))
        self.shell.tell(events.Spent(signing.signed(self.plan.network, record, self._signer)))

    def _effect(self, effect: events.Effect) -> None:
        if isinstance(effect, events.GenerationRaised):
            self._raised = max(self._raised, effect.generation)
        elif isinstance(effect, events.OwnSpendRelearned):
            self.writer.relearn(effect.record)
        elif isinstance(effect, events.OwnProvidersOutdated):
            self._outdated, self._offered = max(self._outdated, effect.revision), None
        elif isinstance(effect, events.NameConflict):
            facts = {"name": effect.name, "address": "{}:{}".format(*effect.address)}
            _log.error("two members have one name", extra={"facts": facts})
        self._changed()


async def begin(
    settings: config.Config, plan: plans.Plan, pool: database.Database, changed: Callable[[], None]
) -> Mesh:
    """A new life, not started yet. Raises database.Unavailable, and keys.Unreadable when peers could not reach it."""
    address = await _own_address(settings.advertise)
    kept = store.Store(pool, plan.network, settings.site)
    return Mesh(plan, settings.site, address, kept, await kept.begin(), changed, settings.own.mutations)


async def _own_address(advertise: str) -> Address:
    """The literal address that peers are told, of IPv4 when there is one."""
    try:
        found = await resolve(advertise)
    except (OSError, ValueError) as error:
        raise keys.Unreadable(f"the advertised address {advertise} has none: {error}") from error
    return min(found, key=lambda address: (ipaddress.ip_address(address[0]).version, address))
