"""The sites of the grid on a bench: each has a namespace, an operator and a GridNetwork, all named after it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from space_smoke import errors
from space_smoke.bench import http, kube, wait
from space_smoke.model import kinds, objects

_PORT = 8080


@dataclass(frozen=True, slots=True)
class Site:
    """`name` is the site's among the members: a, b, c."""

    name: str

    @property
    def namespace(self) -> str:
        return f"grid-{self.name}"

    @property
    def pod(self) -> str:
        return f"{self.namespace}-0"

    @property
    def workload(self) -> objects.Ref:
        return objects.Ref("apps/v1", "StatefulSet", self.namespace, self.namespace)

    @property
    def network(self) -> objects.Ref:
        """Its own view of the network; cluster-scoped."""
        return objects.Ref(kinds.GRID_API, "GridNetwork", "", self.namespace)

    def door(self, of: http.Door) -> http.Door:
        """To the site's operator, in the cluster and by the clock of another door."""
        return dataclasses.replace(of, namespace=self.namespace, service=self.namespace, port=_PORT)


def pods(cluster: kube.Kube, site: Site) -> list[wait.Pod]:
    """The pods of a site's operator. Raises BenchError for a site that is not there, ApiError."""
    try:
        workload = cluster.read(site.workload)
    except errors.ApiError as error:
        if error.status != 404:
            raise
        raise errors.BenchError(
            f"site {site.name} of the grid is not there: no {site.workload} in namespace {site.namespace}",
            next_step="space_smoke up --with grid",
        ) from error
    return wait.pods_of(cluster, workload)
