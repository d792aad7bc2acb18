"""What an API server serves: the kinds of objects, and the path of each kind's collection. Read from the server, since a
chart may hold any kind and a list of ours would leave some out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from space_smoke import errors
from space_smoke.bench import kube


@dataclass(frozen=True, slots=True)
class Served:
    """A kind as the server names it: `plural` in paths, `verbs` in discovery's words (`list`, `create`, …)."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def everywhere(self) -> str:
        """The path of all objects of this kind, in whatever namespace."""
        return f"{_root(self.api_version)}/{self.plural}"

    def path(self, namespace: str) -> str:
        """Of the collection; the namespace is left out where the kind has none."""
        where = f"/namespaces/{quote(namespace)}" if self.namespaced else ""
        return f"{_root(self.api_version)}{where}/{self.plural}"


def all_kinds(cluster: kube.Kube) -> Iterator[Served]:
    """Every kind, each in the version its group prefers. Raises ApiError."""
    yield from kinds_of(cluster, "v1")
    for group in _get(cluster, "/apis")["groups"]:
        yield from kinds_of(cluster, group["preferredVersion"]["groupVersion"])


def kinds_of(cluster: kube.Kube, api_version: str) -> Iterator[Served]:
    """The kinds of one group and version, without subresources. Raises ApiError."""
    for one in _get(cluster, _root(api_version)).get("resources") or ():
        if "/" not in one["name"]:
            yield Served(api_version, one["kind"], one["name"], one["namespaced"], frozenset(one["verbs"]))


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _get(cluster: kube.Kube, path: str) -> kube.Json:
    status, answer = cluster.send("GET", path)
    if status >= 300:
        raise errors.ApiError(f"GET {path} was answered {status}: {answer.get('message', '')}", status=status)
    return answer
