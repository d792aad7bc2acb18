"""What one site of one network keeps in Postgres: its key, its lives, its own slots, the requests it took."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from common import database


@dataclass(frozen=True, slots=True)
class Site:
    """The site as it begins. `generation` is above that of every earlier start; `joined` as of `tables`."""

    secret: bytes
    generation: int
    epoch: int
    revision: int
    joined: bool


@dataclass(frozen=True, slots=True)
class Slot:
    """All that this site has spent for one tenant in one epoch: cents, in how many spends."""

    epoch: int
    tenant: str
    cents: int
    spends: int


@dataclass(frozen=True, slots=True)
class Request:
    """One spend as it was asked for."""

    request: str
    tenant: str
    epoch: int
    cents: int

    def same(self, other: Request) -> bool:
        """Whether they ask for the same; the epoch is the site's, not the caller's."""
        return (self.tenant, self.cents) == (other.tenant, other.cents)


@dataclass(frozen=True, slots=True)
class _Number:
    number: int


_SLOT = "epoch, tenant, cents + relearned_cents AS cents, spends + relearned_spends AS spends"
_MINE = "network = %(network)s AND site = %(site)s"


class Store:
    """Every method is one statement or one transaction, sent once. All raise database.Unavailable."""

    def __init__(self, pool: database.Database, network: str, site: str) -> None:
        self._pool, self._key = pool, {"network": network, "site": site}

    async def begin(self) -> Site:
        """A new life of the site; its row is made when there is none, with a new key."""
        statement = (
            "INSERT INTO grid_sites (network, site, secret, generation)"
            " VALUES (%(network)s, %(site)s, %(secret)s, 1)"
            " ON CONFLICT (network, site) DO UPDATE SET generation = grid_sites.generation + 1"
            " RETURNING secret, generation, epoch, revision, joined"
        )
        (site,) = await self._pool.query(Site, statement, {**self._key, "secret": secrets.token_bytes(32)})
        return site

    async def raise_generation(self, generation: int) -> None:
        await self._set("generation = GREATEST(generation, %(value)s)", generation)

    async def raise_epoch(self, epoch: int) -> None:
        await self._set("epoch = GREATEST(epoch, %(value)s)", epoch)

    async def next_revision(self, above: int = 0) -> int:
        """A revision of the provider state that is above `above` and every earlier one."""
        return await self._set("revision = GREATEST(revision, %(value)s) + 1", above)

    async def join(self) -> None:
        await self._set("joined = (%(value)s = 1)", 1)

    async def slots(self, epoch: int) -> list[Slot]:
        """The site's own, of this epoch and of later ones."""
        statement = f"SELECT {_SLOT} FROM grid_slots WHERE {_MINE} AND epoch >= %(epoch)s"  # noqa: S608 - our own text
        return await self._pool.query(Slot, statement, {**self._key, "epoch": epoch})

    async def find(self, request: str) -> Request | None:
        """The request of this id as it was taken."""
        statement = f"SELECT request, tenant, epoch, cents FROM grid_requests WHERE {_MINE} AND request = %(request)s"  # noqa: S608
        found = await self._pool.query(Request, statement, {**self._key, "request": request})
        return found[0] if found else None

    async def spend(self, asked: Sequence[Request]) -> tuple[dict[str, Request], list[Slot]]:
        """Take each request, once for ever: those that were taken before, by id, and the slots that have grown.

        All or none; ids are distinct, and epochs the same.
        """
        async with self._pool.transaction() as session:
            columns = {name: [getattr(one, name) for one in asked] for name in ("request", "tenant", "epoch", "cents")}
            fresh = await session.query(
                Request,
                "INSERT INTO grid_requests (network, site, request, tenant, epoch, cents)"
                " SELECT %(network)s, %(site)s, * FROM"
                " unnest(%(request)s::text[], %(tenant)s::text[], %(epoch)s::bigint[], %(cents)s::bigint[])"
                " ON CONFLICT DO NOTHING RETURNING request, tenant, epoch, cents",
                {**self._key, **columns},
            )
            taken = {one.request for one in fresh}
            earlier = [one.request for one in asked if one.request not in taken]
            known = await session.query(
                Request,
                f"SELECT request, tenant, epoch, cents FROM grid_requests WHERE {_MINE} AND request = ANY(%(earlier)s)",  # noqa: S608
                {**self._key, "earlier": earlier},
            )
            return {one.request: one for one in known}, await self._grow(session, fresh)

    async def relearn(self, epoch: int, tenant: str, cents: int, spends: int) -> Slot:
        """A peer kept a record of ours that is above all that we know: it comes from before a loss, and what was
        acknowledged since goes on top. The slot as it is now."""
        statement = (
            "INSERT INTO grid_slots AS s (network, site, epoch, tenant, cents, spends, relearned_cents, relearned_spends)"  # noqa: S608 - our own text
            " VALUES (%(network)s, %(site)s, %(epoch)s, %(tenant)s, 0, 0, %(cents)s, %(spends)s)"
            " ON CONFLICT (network, site, epoch, tenant) DO UPDATE SET"
            " relearned_cents = CASE WHEN EXCLUDED.relearned_cents > s.cents + s.relearned_cents"
            " THEN EXCLUDED.relearned_cents ELSE s.relearned_cents END,"
            " relearned_spends = CASE WHEN EXCLUDED.relearned_spends > s.spends + s.relearned_spends"
            " THEN EXCLUDED.relearned_spends ELSE s.relearned_spends END"
            f" RETURNING {_SLOT}"
        )
        values = {**self._key, "epoch": epoch, "tenant": tenant, "cents": cents, "spends": spends}
        (slot,) = await self._pool.query(Slot, statement, values)
        return slot

    async def forget_requests(self, older_than_s: float) -> None:
        async with self._pool.session() as session:
            await session.execute(
                f"DELETE FROM grid_requests WHERE {_MINE} AND taken_at < now() - make_interval(secs => %(age)s)",  # noqa: S608
                {**self._key, "age": older_than_s},
            )

    async def _grow(self, session: database.Session, fresh: Sequence[Request]) -> list[Slot]:
        added: dict[tuple[int, str], list[int]] = {}
        for one in fresh:
            added.setdefault((one.epoch, one.tenant), []).append(one.cents)
        if not added:
            return []
        keys = sorted(added)  # always locked in the same order
        return await session.query(
            Slot,
            "INSERT INTO grid_slots AS s (network, site, epoch, tenant, cents, spends)"  # noqa: S608 - our own text
            " SELECT %(network)s, %(site)s, * FROM"
            " unnest(%(epoch)s::bigint[], %(tenant)s::text[], %(cents)s::bigint[], %(spends)s::bigint[])"
            " ON CONFLICT (network, site, epoch, tenant) DO UPDATE"
            " SET cents = s.cents + EXCLUDED.cents, spends = s.spends + EXCLUDED.spends"
            f" RETURNING {_SLOT}",
            {
                **self._key,
                "epoch": [epoch for epoch, _ in keys],
                "tenant": [tenant for _, tenant in keys],
                "cents": [sum(added[key]) for key in keys],
                "spends": [len(added[key]) for key in keys],
            },
        )

    async def _set(self, change: str, value: int) -> int:
        """Change the site's row; the revision that it has then."""
        statement = f"UPDATE grid_sites SET {change} WHERE {_MINE} RETURNING revision AS number"  # noqa: S608 - our own text
        (row,) = await self._pool.query(_Number, statement, {**self._key, "value": value})
        return row.number
