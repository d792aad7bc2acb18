"""The sites of the grid on a bench: each has a namespace, an operator and a GridNetwork, all named after it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from space_smoke import errors
from space_smoke.bench import http, kube, wait
from space_smoke.model import objects

API_VERSION = "grid.praxis-proxy.io/v1alpha1"
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
        return objects.Ref(API_VERSION, "GridNetwork", "", self.namespace)

    def door(self, of: http.Door) -> http.Door:
        """To the site's operator, in the cluster and by the clock of another door."""
        return dataclasses.replace(of, namespace=self.namespace, service=self.namespace, port=_PORT)


def pods(cluster: kube.Kube, site: Site) -> list[wait.Pod]:
    """The pods of a site's operator; `current` are those of the StatefulSet's newest revision. Raises BenchError for a
    site that is not there, ApiError."""
    try:
        workload = cluster.read(site.workload)
    except errors.ApiError as error:
        if error.status != 404:
            raise
        raise errors.BenchError(
            f"site {site.name} of the grid is not there: no {site.workload} in namespace {site.namespace}",
            next_step="space_smoke up --with grid",
        ) from error
    newest = objects.dig(workload, "status", "updateRevision")
    labels = sorted(workload["spec"]["selector"]["matchLabels"].items())
    selector = ",".join(f"{key}={value}" for key, value in labels)
    return [_pod(thing, newest) for thing in cluster.listed("v1", "Pod", site.namespace, selector)]


def _pod(thing: objects.Object, newest: object) -> wait.Pod:
    conditions = {one["type"]: one["status"] for one in objects.dig(thing, "status", "conditions") or ()}
    return wait.Pod(
        name=thing["metadata"]["name"],
        node=thing["spec"].get("nodeName", ""),
        address=str(objects.dig(thing, "status", "podIP") or ""),
        ready=conditions.get("Ready") == "True",
        terminating="deletionTimestamp" in thing["metadata"],
        current=objects.labels_of(thing).get("controller-revision-hash") == newest,
        thing=thing,
    )
