"""What the operator watches: its GridNetwork, the sites and providers that belong to it, and the Secrets that it names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from common import kube
from grid_operator import cluster, plans, watching


class Seen:
    """Runs the watches. `changed` is called after each change."""

    def __init__(self, client: kube.Client, network: str, changed: Callable[[], None]) -> None:
        self._client, self._name, self._changed = client, network, changed
        self.networks = self._watched("gridnetworks", network)
        self.sites = self._watched("gridsites")
        self.providers = self._watched("inferenceproviders")
        self._secrets: dict[str, watching.Watched] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def complete(self) -> bool:
        """Whether everything was looked at once, Secrets aside."""
        return self.networks.complete and self.sites.complete and self.providers.complete

    @property
    def network(self) -> kube.Object | None:
        return self.networks.objects.get(self._name)

    def of_network(self, watched: watching.Watched) -> list[kube.Object]:
        """The GridSites or InferenceProviders that belong to the network, sorted by name."""
        found = [one for one in watched.objects.values() if _network_of(one) == self._name]
        return sorted(found, key=lambda one: str(one["metadata"]["name"]))

    def secret(self, name: str) -> kube.Object | None:
        """A Secret that is watched; None when it is not there. Raises plans.NotReady before the first look."""
        watched = self._secrets.get(name)
        if watched is None or not watched.complete:
            raise plans.NotReady(name)
        return watched.objects.get(name)

    def start(self) -> None:
        for name, watched in {"network": self.networks, "sites": self.sites, "providers": self.providers}.items():
            self._run(name, watched)

    def watch_secrets(self, names: Iterable[str]) -> None:
        """These and no others from now on."""
        wanted = set(names)
        for name in self._secrets.keys() - wanted:
            del self._secrets[name]
            self._tasks.pop(f"secret {name}").cancel()
        for name in wanted - self._secrets.keys():
            path = self._client.path("api/v1", "secrets")
            self._secrets[name] = watching.Watched(self._client, path, self._changed, name=name, lists=False)
            self._run(f"secret {name}", self._secrets[name])

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _watched(self, plural: str, name: str = "") -> watching.Watched:
        return watching.Watched(self._client, cluster.collection(plural), self._changed, name=name)

    def _run(self, name: str, watched: watching.Watched) -> None:
        self._tasks[name] = asyncio.create_task(watched.run(), name=f"watch {name}")


def _network_of(resource: kube.Object) -> object:
    """The network that it says it belongs to; None for one that says nothing, which a stale CRD lets in."""
    return ((resource.get("spec") or {}).get("gridNetworkRef") or {}).get("name")
