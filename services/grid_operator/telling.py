"""Statuses of the three resources, each written when it changes and never otherwise."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from common import kube
from grid_operator import cluster, conditions, keys, metrics, mutations, routing, seen, status
from grid_operator.mesh import Mesh
from swim import members

UNKNOWN_EPOCH = 0  # no policy has it, so that no numbers are shown

_PHASES = {
    members.ALIVE: "Active",
    members.SUSPECT: "Unreachable",
    members.DEAD: "Unreachable",
    members.LEFT: "Left",
}


class Teller:
    """Writes by server-side apply. Raises kube.KubeError."""

    def __init__(
        self, client: kube.Client, watched: seen.Seen, meter: metrics.Metrics, active: frozenset[str] = frozenset()
    ) -> None:
        self._client, self._seen, self._meter = client, watched, meter
        self._keeps = mutations.STALE_STATUS_KEPT in active
        self._counts = mutations.STATUS_COUNTS_LOOKS in active
        self._looks = 0

    async def network(
        self, resource: kube.Object, mesh: Mesh | None, closed: str, trouble: str | None, taker: status.Taker,
        current: bool,
    ) -> None:  # fmt: skip
        """The GridNetwork's; without `current` totals no numbers are in it."""
        spec = resource.get("spec") or {}
        grid_id = str(spec.get("gridId") or resource["metadata"]["name"])
        if mesh is None:
            view = conditions.Mesh(seeds=len(spec.get("seeds") or ()), closed=closed)
            known = status.Known(grid_id, "", view, trouble=trouble, epoch=UNKNOWN_EPOCH)
        else:
            ledger = mesh.node.ledger
            known = status.Known(
                grid_id,
                keys.public_text(mesh.public_key),
                mesh.view(),
                [offer.entry() for offer in routing.ordered(mesh.offered(), spec)],
                trouble,
                ledger.epoch if current else UNKNOWN_EPOCH,
                ledger.totals(),
            )
        wanted = status.of_network(resource, known, datetime.datetime.now(datetime.UTC), taker)
        wanted = {name: value for name, value in wanted.items() if value != ""}  # a key that is not known yet
        if self._keeps:
            wanted = {**(resource.get("status") or {}), **wanted}
        if self._counts:
            self._looks += 1
            wanted["conditions"][0]["message"] += f" (look {self._looks})"
        await self._write("gridnetworks", "GridNetwork", resource, wanted)

    async def sites(self, resources: Iterable[kube.Object], mesh: Mesh | None) -> None:
        for resource in resources:
            phase, address = _member(mesh, str((resource.get("spec") or {}).get("siteName")))
            wanted = {"phase": phase, "observedGeneration": int(resource["metadata"].get("generation", 0))}
            await self._write("gridsites", "GridSite", resource, {**wanted, **address})

    async def providers(self, resources: Iterable[kube.Object], told: frozenset[str]) -> None:
        for resource in resources:
            phase = "Available" if resource["metadata"]["name"] in told else "Pending"
            wanted = {"phase": phase, "observedGeneration": int(resource["metadata"].get("generation", 0))}
            await self._write("inferenceproviders", "InferenceProvider", resource, wanted)

    async def _write(self, plural: str, kind: str, resource: kube.Object, wanted: Mapping[str, Any]) -> None:
        if resource.get("status") == wanted:
            return
        written = await cluster.apply_status(self._client, plural, kind, str(resource["metadata"]["name"]), wanted)
        self._meter.wrote(kind)
        watched = {"gridnetworks": self._seen.networks, "gridsites": self._seen.sites}.get(plural, self._seen.providers)
        watched.put(written)


def _member(mesh: Mesh | None, name: str) -> tuple[str, dict[str, str]]:
    """(phase, address if it has one) of a site by its name."""
    if mesh is None:
        return "Pending", {}
    member = mesh.node.members.me if name == mesh.name else mesh.node.members.get(name)
    if member is None or member.state not in _PHASES:
        return "Pending", {}
    return _PHASES[member.state], {"address": "{}:{}".format(*member.address)}
