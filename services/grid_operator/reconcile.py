"""Makes what is so what the GridNetwork wants, over and over: after each change in the cluster or the mesh, and now and then.

One reconcile at a time. What fails is told, counted, and tried again after a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence

import prometheus_client as prometheus

from common import database, kube
from grid_operator import (
    config,
    keys,
    mesh,
    metrics,
    offers,
    plans,
    policy,
    seen,
    tables,
    taking,
    telling,
    tuning,
)

SETTLE_S = 0.1  # changes within it are one: a burst of spend is a few writes, not one for each
LOOK_S = 0.25  # how soon is noticed what the gossip does not announce
_AGAIN_S = 1.0

_log = logging.getLogger(__name__)


class Reconciler:
    """`mesh` is the present life, `closed` why there is none, `taken` the policy that is in force here."""

    def __init__(
        self,
        settings: config.Config,
        client: kube.Client,
        pool: database.Database,
        registry: prometheus.CollectorRegistry,
    ) -> None:
        self._settings, self._pool = settings, pool
        self._changed = asyncio.Event()
        self.mesh: mesh.Mesh | None = None
        self.closed = "its GridNetwork was not read yet"
        self.taken: policy.Taken = None
        self.trouble: str | None = None
        self.seen = seen.Seen(client, settings.network, self._changed.set)
        self.meter = metrics.Metrics(registry, lambda: self.mesh, settings.own.mutations)
        self._teller = telling.Teller(client, self.seen, self.meter, settings.own.mutations)
        self._taking = taking.Taking(settings.own.mutations)
        self._told: frozenset[str] = frozenset()  # the names of the providers that others are told of
        self._patience = 0.0

    def troubled(self, trouble: str) -> None:
        """The database does not answer."""
        if not self.trouble:
            self.trouble = trouble
            self._changed.set()

    async def run(self) -> None:
        """Until cancelled; then the others are told that this site leaves."""
        self.seen.start()
        try:
            while True:
                self._changed.clear()
                seen_before = self._pulse()
                wait_s = await self._once()
                await asyncio.sleep(SETTLE_S)
                await self._idle(wait_s, seen_before)
        finally:
            await self.seen.close()
            await self._end(goodbye=True)

    async def _idle(self, at_most_s: float, seen_before: object) -> None:
        """Wait for a change, or for what the gossip does not announce: a first exchange, and seeds that come and go."""
        loop = asyncio.get_running_loop()
        until = loop.time() + at_most_s
        while (left_s := until - loop.time()) > 0 and self._pulse() == seen_before:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_S, left_s)):
                    await self._changed.wait()
                    return

    def _pulse(self) -> object:
        return (self.mesh.settled, self.mesh.node.unresolved) if self.mesh else None

    async def _once(self) -> float:
        """Reconcile; after how many seconds to do so again at the latest."""
        try:
            wait_s = await self._reconcile()
        except plans.NotReady:
            return _AGAIN_S
        except (kube.KubeError, database.Unavailable, OSError) as error:
            outcome = "cluster" if isinstance(error, kube.KubeError) else "database"
            self.meter.reconciled("network" if isinstance(error, OSError) else outcome)
            _log.warning("not reconciled", extra={"facts": {"fault": str(error)[:300]}})
            return _AGAIN_S
        except Exception:
            # One resource that nobody thought of must not end what every other change needs.
            self.meter.reconciled("failed")
            _log.exception("reconcile failed")
            return _AGAIN_S
        self.meter.reconciled("done")
        return wait_s

    async def _reconcile(self) -> float:
        if not self.seen.complete:
            return _AGAIN_S
        resource = self.seen.network
        if resource is None:
            await self._end(goodbye=True)
            self.closed, self.taken = f"there is no GridNetwork {self._settings.network}", None
            return tuning.DEFAULT_REFRESH_S
        self.seen.watch_secrets(plans.secret_names(resource))
        sites, providers = self.seen.of_network(self.seen.sites), self.seen.of_network(self.seen.providers)
        wanted = self._taking.read(resource)
        await self._open(resource, sites, wanted)
        if self.mesh:
            await self._apply(self.mesh, resource, sites, providers, wanted)
        else:
            self.taken, self._told = wanted, frozenset()
        await self._show(resource)
        await self._teller.sites(sites, self.mesh)
        await self._teller.providers(providers, self._told)
        if self.mesh is None or self.trouble:
            return _AGAIN_S
        patience_s = self._patience - asyncio.get_running_loop().time()
        refresh_s = tuning.refresh_s(resource.get("spec") or {})
        return refresh_s if self.mesh.settled or patience_s < 0 else min(refresh_s, patience_s + SETTLE_S)

    async def _open(self, resource: kube.Object, sites: Sequence[kube.Object], wanted: policy.Taken) -> None:
        """Let the mesh be as planned: go on, begin another life, or close when its keys cannot be read."""
        try:
            await self._migrated()
            plan = plans.of_network(resource, self._settings.gossip, self.seen.secret, self._settings.own.mutations)
            if self.mesh and plan.continues(self.mesh.plan) and not self.mesh.broken:
                if plan != self.mesh.plan:
                    self.mesh.rotate(plan)
                return
            await self._end(goodbye=False)
            made = await mesh.begin(self._settings, plan, self._pool, self._changed.set)
            epoch = wanted.epoch if isinstance(wanted, policy.Policy) else 0
            try:
                await made.start(self._settings.bind, keys.pinned(sites), self._seeds(resource), epoch)
            except BaseException:
                await made.end(goodbye=False)
                raise
            self.mesh, self.closed = made, ""
            parameters = plan.parameters
            self._patience = asyncio.get_running_loop().time() + parameters.stream_timeout + parameters.join_interval
        except (keys.Unreadable, ValueError, OSError) as error:
            await self._end(goodbye=False)
            self.closed = str(error)
        except database.Unavailable as error:
            self.trouble = str(error)
            if self.mesh is None:
                self.closed = "the database does not answer"

    async def _migrated(self) -> None:
        """After a trouble the database may be another one: the site then begins anew in it."""
        if self.trouble is None or self.trouble:
            if await tables.migrate(self._pool) and self.mesh:
                await self._end(goodbye=False)
            self.trouble = ""
            if self.mesh:
                self.mesh.writer.saw("")

    async def _apply(
        self, current: mesh.Mesh, resource: kube.Object, sites: Sequence[kube.Object],
        providers: Sequence[kube.Object], wanted: policy.Taken,
    ) -> None:  # fmt: skip
        """Bring what changed into the mesh."""
        spec = resource.get("spec") or {}
        current.pin(keys.pinned(sites))
        if (seeds := self._seeds(resource)) != current.seeds:
            current.reseed(seeds)
        try:
            if isinstance(wanted, policy.Policy):
                await current.reach(wanted.epoch)
            await current.keep()
            own = offers.of_resources(providers, spec, self._settings.site)
            self._told = frozenset(offer.name for offer in own[: await current.offer(own)])
            self.trouble = current.writer.trouble or self.trouble
        except database.Unavailable as error:
            self.trouble = str(error)
        self.taken = self._taking.in_force(wanted, current.node.ledger.epoch)

    async def _show(self, resource: kube.Object) -> None:
        """The network's status. Before the first exchange totals are this site's own: what stood there stays for a while,
        and then there are no numbers."""
        current = self.mesh is not None and self.mesh.settled
        waiting = self.mesh is not None and not current and isinstance(self.taken, policy.Policy)
        if waiting and asyncio.get_running_loop().time() < self._patience:
            return
        taken = self.taken
        await self._teller.network(resource, self.mesh, self.closed, self.trouble, lambda _: taken, current)

    async def _end(self, *, goodbye: bool) -> None:
        if self.mesh:
            ended, self.mesh = self.mesh, None
            await ended.end(goodbye=goodbye)

    def _seeds(self, resource: kube.Object) -> tuple[str, ...]:
        """Those of the spec and those of the settings; a list that is the same on every site names this one too."""
        named = (resource.get("spec") or {}).get("seeds") or ()
        both = dict.fromkeys((*named, *self._settings.seeds))
        return tuple(seed for seed in both if seed != self._settings.advertise)
