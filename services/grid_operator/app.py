"""Puts the operator together: database, watches, reconcile, and the routes that tell of it and take spend."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from starlette.applications import Starlette

from common import about, database, kube, metrics, refusals, serve, web
from common import service as services
from grid_operator import config, ingest, reconcile

_PRUNE_S = 3600.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _One:
    one: int


@dataclass(slots=True)
class Operator:
    """All parts of one operator."""

    base: services.Base
    config: config.Config
    database: database.Database
    site: reconcile.Reconciler
    ingest: ingest.Ingest

    async def ready(self) -> None:
        """The database answers, and the cluster was seen. Peers do not matter, nor whether there is a GridNetwork yet."""
        try:
            await self.database.query(_One, "SELECT 1 AS one")
        except database.Unavailable as error:
            self.site.troubled(str(error))
            raise refusals.unavailable("database_unavailable", "the database does not answer") from None
        if not self.site.seen.complete:
            raise refusals.unavailable("cluster_unseen", "the API server has not told of all resources yet")

    def state(self) -> Mapping[str, object]:
        settings, mesh = self.config, self.site.mesh
        told: dict[str, object] = {"network": settings.network, "site": settings.site, "closed": self.site.closed}
        if mesh is None:
            return told
        living = sorted(mesh.view().alive)
        life = {"generation": mesh.node.members.me.life[0], "joined": mesh.joined, "settled": mesh.settled}
        return {**told, **life, "members": living, "epoch": mesh.node.ledger.epoch, "seeds": mesh.seeds}

    async def prune(self) -> None:
        """Forget request ids that are older than anybody repeats them, now and every hour."""
        while True:
            if self.site.mesh:
                try:
                    await self.site.mesh.store.forget_requests(self.config.request_keep_s)
                except database.Unavailable as error:
                    _log.warning("request ids not pruned", extra={"facts": {"fault": str(error)[:200]}})
            await asyncio.sleep(_PRUNE_S)


def operator(settings: config.Config, client: kube.Client) -> Operator:
    """Everything, with nothing connected yet."""
    base = services.Base(settings.own, metrics.Requests())
    pool = database.Database(settings.database, settings.own.pod, settings.own.mutations)
    site = reconcile.Reconciler(settings, client, pool, base.requests.registry)
    return Operator(base, settings, pool, site, ingest.Ingest(site))


async def _image_id() -> str:
    return ""  # the account may not read pods


def application(made: Operator) -> Starlette:
    """The ASGI application; the site is a member for as long as it is served."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await made.database.open()
        work = {
            asyncio.create_task(made.site.run(), name="reconcile"),
            asyncio.create_task(made.prune(), name="prune"),
        }
        try:
            yield
        finally:
            for task in work:
                task.cancel()
            await asyncio.wait(work, timeout=serve.FINISH_S)
            await made.database.close()

    told = about.About(made.base, ready=made.ready, image_id=_image_id, state=made.state)
    return web.application(made.base, [*told.routes(), *made.ingest.routes()], lifespan)
