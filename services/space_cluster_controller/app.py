"""Puts the controller together: queue, limiter, runtime, election, and the routes that tell of it."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from starlette.applications import Starlette

from common import about, database, kube, leases, metrics, mutations, notify, serve, web
from common import service as services
from fleet import claims, faults, operations, pods, records
from limiters import activation, store
from limiters import metrics as limiter_metrics
from space_cluster_controller import attempt, config, election, steps, upkeep, worker
from space_cluster_controller import metrics as controller_metrics


@dataclass(slots=True)
class Controller:
    """All parts of one controller."""

    base: services.Base
    config: config.Config
    database: database.Database
    store: store.Store
    limiter: activation.Limiter
    table: records.Records
    runtime: pods.Runtime
    worker: worker.Worker
    election: election.Election
    upkeep: upkeep.Upkeep
    wake: asyncio.Event

    async def lead(self) -> None:
        """What the leader does: listen and work, and clear away."""
        settings = self.config
        listen = notify.listen(settings.database.url, operations.CHANNEL, settings.own.pod, self.wake)
        beside = {
            asyncio.create_task(listen, name="listening"),
            asyncio.create_task(self.upkeep.run(), name="upkeep"),
        }
        try:
            await self.worker.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    def state(self) -> Mapping[str, object]:
        bucket = self.limiter.settings
        limiter = {
            "enabled": bucket.enabled,
            "store": self.store.status,
            "burst": bucket.burst,
            "refill_per_second": bucket.refill_per_second,
            "key": self.limiter.key,
        }
        told = {"leader": self.election.leading, "holder": self.election.holder, "running": self.worker.running}
        return {**told, "limiters": {"activation": limiter}}

    async def ready(self) -> None:
        """A standby is as ready as the leader; the limiter store does not matter: it fails open."""
        async with faults.refused():
            await self.table.check()


def controller(settings: config.Config, client: kube.Client, runtime: pods.Runtime) -> Controller:
    """Everything, with nothing connected yet."""
    own, active = settings.own, settings.own.mutations
    base = services.Base(own, metrics.Requests())
    shared, tables = store.Store(settings.redis_url, active), database.Database(settings.database, own.pod, active)
    key = f"{activation.KEY}:controller" if mutations.CONTROLLER_OWN_BUCKET_KEY in active else activation.KEY
    limiter = activation.Limiter(settings.activation, shared, active, key)
    table = records.Records(tables)
    # A pod's name comes back with the next container of the same pod, which is another candidate and another worker.
    identity = f"{own.pod}_{uuid.uuid4().hex[:8]}"
    queue = claims.Claims(tables, identity, settings.operation_lease_s, active)
    performing = steps.Steps(queue, table, runtime, limiter, limiter_metrics.Decisions(base.requests.registry), active)
    lease = leases.Lease(client, settings.lease_name, identity, settings.lease_s)
    candidate = election.Election(lease, settings.lease_s, base.life.stopping)
    wake = asyncio.Event()
    meter = controller_metrics.Metrics(base.requests.registry, lambda: candidate.leading, lambda: working.running)
    working = worker.Worker(
        queue,
        attempt.Attempts(queue, performing, meter),
        settings.parallel,
        wake=wake,
        stopping=base.life.stopping,
        drain_s=own.drain_s,
    )
    clearing = upkeep.Upkeep(queue, table, kube.Pods(client), settings.operation_keep_s, meter)
    return Controller(base, settings, tables, shared, limiter, table, runtime, working, candidate, clearing, wake)


def application(made: Controller) -> Starlette:
    """The ASGI application; the controller works for as long as it is served."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await made.database.open()
        await made.store.warm()
        competing = asyncio.create_task(made.election.run(made.lead), name="election")
        try:
            yield
        finally:
            made.base.life.stopping.set()
            await asyncio.wait({competing}, timeout=serve.FINISH_S)
            competing.cancel()
            await asyncio.wait({competing})
            await made.store.close()
            await made.database.close()

    told = about.About(made.base, ready=made.ready, image_id=made.runtime.image_id, state=made.state)
    return web.application(made.base, told.routes(), lifespan)
