"""Who is there: the rules by which claims about members are believed (SWIM 4.2, Lifeguard IV-B).

Of two claims the one of the later life holds; at equal lives alive < suspect < dead. Only the member itself begins a later
life. A dead member is kept for `dead_ttl`, and after that the life it had, so that no late claim can bring it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from swim import bounds, broadcasts, codec
from swim.context import Context
from swim.events import GenerationRaised, MemberChanged, MemberEvicted, NameConflict
from swim.health import Health
from swim.messages import Address, Alive, Claim, Dead, Left, Life, Suspect

ALIVE, SUSPECT, DEAD, LEFT = "alive", "suspect", "dead", "left"
NEW = ""  # before the first claim is believed
STATES = (ALIVE, SUSPECT, DEAD, LEFT)
LIVING = frozenset({ALIVE, SUSPECT})
MEMBER_CAP = 1024
TOMBSTONE_CAP = 1024
LIFE_LIMIT = (
    2**31
)  # generations and incarnations are below this, so that every life can still be followed by a later one
FARTHEST_LIFE = 2**16  # neither rises by more at once, as others see it


class Member:
    """What is believed of one member."""

    __slots__ = ("accused_at", "accusers", "address", "expected", "life", "name", "state", "version")

    def __init__(self, name: str, life: Life, address: Address) -> None:
        self.name, self.life, self.address, self.state = name, life, address, NEW
        self.accusers: set[str] = set()
        self.accused_at, self.expected = 0.0, 0
        self.version = 0  # rises with each change, so that a timer knows whether it is still meant


class Members:
    """The table of one node, itself included in `me` but not among the others."""

    def __init__(self, context: Context, queue: broadcasts.Queue, health: Health, me: Member) -> None:
        self._context, self._queue, self._health, self.me = context, queue, health, me
        self._others: dict[str, Member] = {}
        self._tombs: dict[str, Life] = {}
        self._living = 0
        self.leaving = False
        me.state = ALIVE
        self.on_join: Callable[[Member], None] = lambda _: None
        self.on_evict: Callable[[str], None] = lambda _: None

    def __len__(self) -> int:
        """How many are alive or suspect, with us; what the protocol's logarithms are taken of."""
        return 1 + self._living

    def get(self, name: str) -> Member | None:
        return self._others.get(name)

    def knows(self, name: str) -> bool:
        return name == self.me.name or name in self._others

    def others(self, *states: str) -> Iterator[Member]:
        """Those in one of the states, all without."""
        return (member for member in self._others.values() if not states or member.state in states)

    def living(self) -> list[Member]:
        return [member for member in self._others.values() if member.state in LIVING]

    def hear(self, claim: Claim) -> None:
        """Weigh one claim that somebody made."""
        if max(claim.life) >= LIFE_LIMIT:
            self._context.count("claim", "absurd")
        elif claim.name == self.me.name:
            self._hear_of_me(claim)
        elif isinstance(claim, Alive):
            self._alive(claim)
        elif member := self._others.get(claim.name):
            if _too_far(claim.life, member.life):
                self._context.count("claim", "absurd")
            elif claim.life >= member.life and member.state not in (DEAD, LEFT):
                self._accuse(member, claim)

    def accused(self, name: str) -> Claim | None:
        """What this member should refute if it lives: the accusation that stands against it, if any."""
        member = self._others.get(name)
        if member is None:
            life = self._tombs.get(name)
            return Dead(name, life, self.me.name) if life else None
        if member.state == SUSPECT:
            return Suspect(name, member.life, self.me.name)
        return Dead(name, member.life, self.me.name) if member.state != ALIVE else None

    def myself(self) -> Claim:
        """What we say of ourselves."""
        return Left(self.me.name, self.me.life) if self.leaving else Alive(self.me.name, self.me.life, self.me.address)

    def claims(self) -> Iterator[Claim]:
        """All that a peer should weigh, in the order in which it should."""
        yield self.myself()
        for member in self._others.values():
            if member.state in LIVING:
                yield Alive(member.name, member.life, member.address)
            if member.state == LEFT:
                yield Left(member.name, member.life)
            elif accusation := self.accused(member.name):
                yield accusation

    def leave(self) -> None:
        """Say that we go; what others say of us is not answered any more."""
        self.leaving, self.me.state = True, LEFT
        self._gossip(self.myself())

    def _hear_of_me(self, claim: Claim) -> None:
        if self.leaving or claim.life < self.me.life:
            return
        if isinstance(claim, Alive) and claim.address != self.me.address:
            self._conflict(claim.name, claim.address)
        elif not isinstance(claim, Alive) or claim.life > self.me.life:
            self._refute(claim)

    def _refute(self, claim: Claim) -> None:
        generation, incarnation = claim.life
        if incarnation + 1 == LIFE_LIMIT:
            generation, incarnation = generation + 1, -1
        if generation == LIFE_LIMIT:
            self._context.count("claim", "absurd")
            return
        if generation > self.me.life[0]:
            self._context.emit(GenerationRaised(generation))
        self.me.life = generation, incarnation + 1
        if not isinstance(claim, Alive):
            self._health.worse()
            self._context.count("claim", "refuted")
        self._gossip(self.myself())

    def _alive(self, claim: Alive) -> None:
        member = self._others.get(claim.name)
        if member is None:
            self._join(claim)
        elif _too_far(claim.life, member.life):
            self._context.count("claim", "absurd")
        elif claim.address != member.address and claim.life[0] == member.life[0] and member.state in LIVING:
            self._conflict(claim.name, claim.address)
        elif claim.life > member.life:
            member.life, member.address = claim.life, claim.address
            self._change(member, ALIVE, claim)

    def _join(self, claim: Alive) -> None:
        if claim.life <= self._tombs.get(claim.name, (-1, -1)):
            return
        if len(self._others) >= MEMBER_CAP:
            self._context.count("claim", "member_cap")
            return
        self._tombs.pop(claim.name, None)
        member = self._others[claim.name] = Member(claim.name, claim.life, claim.address)
        self._change(member, ALIVE, claim)
        self.on_join(member)

    def _accuse(self, member: Member, claim: Claim) -> None:
        if not isinstance(claim, Suspect):
            member.life = claim.life
            self._change(member, LEFT if isinstance(claim, Left) else DEAD, claim)
        elif member.state == ALIVE or claim.life > member.life:
            member.life, member.accusers, member.accused_at = claim.life, {claim.by}, self._context.now
            member.expected = bounds.expected_confirmations(len(self), self._context.parameters)
            self._change(member, SUSPECT, claim)
            self._await_end(member)
        elif claim.by not in member.accusers and len(member.accusers) <= member.expected:
            member.accusers.add(claim.by)
            self._gossip(claim)
            self._await_end(member)

    def _await_end(self, member: Member) -> None:
        """A suspicion ends in death; each independent confirmation brings the end nearer."""
        least, most = bounds.suspicion_limits(len(self), self._context.parameters)
        timeout = bounds.suspicion_timeout(least, most, len(member.accusers) - 1, member.expected)
        version = member.version

        def end() -> None:
            if member.version == version:
                self._accuse(member, Dead(member.name, member.life, self.me.name))

        self._context.after(member.accused_at + timeout - self._context.now, end)

    def _change(self, member: Member, state: str, claim: Claim) -> None:
        self._living += (state in LIVING) - (member.state in LIVING)
        member.state = state
        member.version += 1
        self._context.emit(MemberChanged(member.name, member.address, member.life, state))
        self._gossip(claim)
        if state in (DEAD, LEFT):
            version = member.version

            def evict() -> None:
                if member.version == version:
                    self._evict(member)

            self._context.after(self._context.parameters.dead_ttl, evict)

    def _evict(self, member: Member) -> None:
        del self._others[member.name]
        self._tombs[member.name] = member.life
        if len(self._tombs) > TOMBSTONE_CAP:
            del self._tombs[next(iter(self._tombs))]
        self._context.emit(MemberEvicted(member.name))
        self.on_evict(member.name)

    def _conflict(self, name: str, address: Address) -> None:
        self._context.count("claim", "name_conflict")
        self._context.emit(NameConflict(name, address))

    def _gossip(self, claim: Claim) -> None:
        self._queue.add(broadcasts.MEMBERSHIP, ("member", claim.name), codec.encode(claim))


def _too_far(claimed: Life, known: Life) -> bool:
    return claimed[0] - known[0] > FARTHEST_LIFE or claimed[1] - known[1] > FARTHEST_LIFE
