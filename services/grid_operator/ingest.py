"""`POST /v1/spend`: spend is taken once for each request id, and written before it is answered.

No answer tells what was spent: whoever may read the GridNetwork sees it there, and nobody else does.
"""

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
_FULL = {
    ledger.TENANTS_FULL: f"{ledger.TENANT_CAP} tenants have spent in this epoch, which is as many as may",
    ledger.ORIGINS_FULL: f"{ledger.ORIGIN_CAP} sites have spent in this epoch, which is as many as may",
}
_Order = tuple[str, str, int]  # request id, tenant, cents


class Ingest:
    """The handlers of one site."""

    def __init__(self, site: reconcile.Reconciler) -> None:
        self._site, self._meter = site, site.meter

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/spend", self.spend, methods=["POST"]),
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
        except writer.Conflict:
            rule = f"requestId {name!a} was used for other spend; use a new one"
            raise refusals.Refusal(409, "request_id_reused", rule) from None
        except database.Unavailable:
            said = "the database does not answer; send the same request again, it counts once"
            raise refusals.unavailable("database_unavailable", said) from None
        told = {"requestId": name, "tenantId": tenant, "cents": cents, "epoch": asked.epoch}
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
            said = "the budgetPolicy is invalid; the GridNetwork's condition BudgetPolicyValid says why"
            return refusals.Refusal(409, "invalid_policy", said)
        if tenant not in taken.caps:
            return refusals.Refusal(404, "unknown_tenant", "the budgetPolicy has no such tenant")
        if not mesh.joined:
            said = "peers may know more of this site's spend than it does itself; none has answered yet"
            return refusals.unavailable("not_joined", said)
        if cap := counted.full(tenant, mesh.name):
            return refusals.Refusal(409, cap, _FULL[cap])
        own = counted.slot(tenant, mesh.name)
        if (own.cents if own else 0) + cents > LARGEST:
            return refusals.Refusal(409, "amount_cap", f"this site's spend of the tenant would pass {LARGEST} cents")
        return None


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
