"""`/v1/spend`: spend is taken once for each request id, written before it is answered; and what was spent is told."""

from __future__ import annotations

import time
import unicodedata
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from common import bodies, database, refusals
from grid_operator import limits, policy, reconcile, store, writer
from grid_operator.mesh import Mesh
from swim import ledger
from swim.fields import LARGEST

REQUEST_ID_CHARACTERS = 128
_FIELDS = ("requestId", "tenantId", "cents")
_Order = tuple[str, str, int]  # request id, tenant, cents


class Ingest:
    """The handlers of one site."""

    def __init__(self, site: reconcile.Reconciler) -> None:
        self._site, self._meter = site, site.meter

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/spend", self.spend, methods=["POST"]),
            Route("/v1/spend", self.totals, methods=["GET"]),
            Route("/v1/spend/{tenant:path}", self.total, methods=["GET"]),
        ]

    async def spend(self, request: Request) -> Response:
        """Take spend. 200 for one that is taken and for each repetition of it, which adds nothing.

        400 malformed; 404 unknown_tenant; 409 request_id_reused, no_policy, invalid_policy, tenant_cap, origin_cap, amount_cap;
        503 mesh_closed, not_joined, database_unavailable, after which the same request may be sent again.
        """
        began = time.monotonic()
        try:
            answer = await self._spend(_order(await bodies.document(request, *_FIELDS)))
        except refusals.Refusal as refusal:
            self._meter.spent(refusal.code)
            raise
        self._meter.spent("replayed" if answer["replayed"] else "accepted")
        self._meter.acknowledged(time.monotonic() - began)
        return JSONResponse(answer)

    async def totals(self, _: Request) -> Response:
        """What all sites have spent in the present epoch as far as this one knows, by tenant, in cents."""
        mesh = self._mesh()
        counted = mesh.node.ledger
        told = {"epoch": counted.epoch, "settled": mesh.settled, "cents": dict(sorted(counted.totals().items()))}
        return JSONResponse(told)

    async def total(self, request: Request) -> Response:
        """The same of one tenant, of whom there may be nothing: 0."""
        mesh, tenant = self._mesh(), str(request.path_params["tenant"])
        counted = mesh.node.ledger
        own = counted.slot(tenant, mesh.name)
        told = {"epoch": counted.epoch, "settled": mesh.settled, "tenantId": tenant, "cents": counted.total(tenant)}
        return JSONResponse({**told, "ownCents": own.cents if own else 0})

    async def _spend(self, order: _Order) -> dict[str, Any]:
        name, tenant, cents = order
        mesh = self._mesh()
        asked = store.Request(name, tenant, mesh.node.ledger.epoch, cents)
        try:
            refusal = self._refusal(mesh, tenant, cents)
            if refusal is None:
                new = await mesh.writer.spend(asked)
            else:
                new = await self._repeated(mesh, asked, refusal)
        except writer.Conflict as conflict:
            was = conflict.earlier
            rule = f"requestId {name!a} was used for {was.cents} cents of another request; use a new one"
            raise refusals.Refusal(409, "request_id_reused", rule) from None
        except database.Unavailable:
            said = "the database does not answer; send the same request again, it counts once"
            raise refusals.unavailable("database_unavailable", said) from None
        total = mesh.node.ledger.total(tenant)
        told = {"requestId": name, "tenantId": tenant, "cents": cents, "epoch": asked.epoch, "totalCents": total}
        return {**told, "replayed": not new}

    async def _repeated(self, mesh: Mesh, asked: store.Request, refusal: refusals.Refusal) -> bool:
        """False when the request was taken before; what is refused now may be the repetition of it. Raises Refusal."""
        earlier = await mesh.store.find(asked.request)
        if earlier is None:
            raise refusal
        if not earlier.same(asked):
            raise writer.Conflict(earlier)
        return False

    def _mesh(self) -> Mesh:
        if self._site.mesh is None:
            raise refusals.unavailable("mesh_closed", f"this site takes no part: {self._site.closed}")
        return self._site.mesh

    def _refusal(self, mesh: Mesh, tenant: str, cents: int) -> refusals.Refusal | None:
        """Why such spend is not taken now, if it is not."""
        taken, counted = self._site.taken, mesh.node.ledger
        if taken is None:
            return refusals.Refusal(409, "no_policy", "the GridNetwork has no budgetPolicy")
        if isinstance(taken, policy.Invalid):
            return refusals.Refusal(409, "invalid_policy", f"the budgetPolicy is invalid: {taken}")
        if tenant not in taken.caps:
            return refusals.Refusal(404, "unknown_tenant", "the budgetPolicy has no such tenant")
        if not mesh.joined:
            said = "peers may know more of this site's spend than it does itself; none has answered yet"
            return refusals.unavailable("not_joined", said)
        own = counted.slot(tenant, mesh.name)
        tenants, origins = counted.sizes()
        if own is None and counted.total(tenant) == 0 and tenants >= ledger.TENANT_CAP:
            said = f"{ledger.TENANT_CAP} tenants have spent in this epoch, which is as many as may"
            return refusals.Refusal(409, "tenant_cap", said)
        if own is None and origins >= ledger.ORIGIN_CAP and not _has_spent(mesh):
            said = f"{ledger.ORIGIN_CAP} sites have spent in this epoch, which is as many as may"
            return refusals.Refusal(409, "origin_cap", said)
        if (own.cents if own else 0) + cents > LARGEST:
            return refusals.Refusal(409, "amount_cap", f"this site's spend of the tenant would pass {LARGEST} cents")
        return None


def _has_spent(mesh: Mesh) -> bool:
    """Whether this site has spent anything in the present epoch."""
    return any(record.origin == mesh.name for record in mesh.node.ledger.records())


def _order(body: dict[str, Any]) -> _Order:
    """Raises Refusal."""
    name = bodies.text(body, "requestId", REQUEST_ID_CHARACTERS)
    tenant = bodies.text(body, "tenantId", limits.TENANT_CHARACTERS)
    if not tenant.strip() or any(unicodedata.category(one) == "Cc" for one in tenant):
        raise refusals.malformed("tenantId must hold a character that is no space, and no control characters")
    cents = body.get("cents")
    if isinstance(cents, bool) or not isinstance(cents, int) or not 1 <= cents <= ledger.LARGEST_SPEND:
        raise refusals.malformed(f"cents must be a whole number from 1 to {ledger.LARGEST_SPEND}")
    return name, tenant, cents
