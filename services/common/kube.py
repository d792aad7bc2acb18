"""The few calls to the Kubernetes API that services need: objects of the own namespace, read, written and watched.

Written over `common.wire` instead of the `kubernetes` package, whose import alone takes longer than these services
need to be ready, and three times their memory, in every pod. Nothing is retried here.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from common import identity, settings, wire

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CALL_TIMEOUT_S = 5.0
_APPLY = "application/apply-patch+yaml"  # JSON is YAML

Object = dict[str, Any]


class KubeError(Exception):
    """The API server refused or could not be reached; `status` is its HTTP status, 0 when there was none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """The API server as one service account sees it, from within one namespace."""

    def __init__(self, peer: wire.Peer, namespace: str, token_file: Path | None) -> None:
        self._peer, self._namespace, self._token_file = peer, quote(namespace, safe=""), token_file

    def path(self, group: str, plural: str, name: str = "") -> str:
        """The path of a collection, or of one object; `group` is like "api/v1" or "apis/apps/v1"."""
        collection = f"/{group}/namespaces/{self._namespace}/{plural}"
        return f"{collection}/{quote(name, safe='')}" if name else collection

    async def call(
        self,
        method: str,
        path: str,
        document: Object | None = None,
        timeout_s: float = _CALL_TIMEOUT_S,
        content_type: str = "application/json",
    ) -> Object:
        """One request and its JSON answer; raises KubeError for every other outcome. `content_type` is the document's."""
        headers = {**self._headers(), **({"Content-Type": content_type} if document is not None else {})}
        try:
            answer = await wire.call(self._peer, method, path, timeout_s=timeout_s, headers=headers, document=document)
            body = answer.json()
        except (wire.WireError, TimeoutError) as error:
            raise KubeError(f"{method} {path}: {error or 'no answer in time'}") from error
        if not isinstance(body, dict) or answer.status >= 300:
            reason = body.get("message", "") if isinstance(body, dict) else ""
            raise KubeError(f"{method} {path}: HTTP {answer.status}: {reason}", answer.status)
        return body

    async def apply(self, path: str, manager: str, document: Object) -> Object:
        """Make `document` all that `manager` says of the object at `path`; the object as it is then. Raises KubeError.

        What the manager said before and not now goes away (kubernetes.io, "Server-Side Apply").
        """
        target = f"{path}?{urlencode({'fieldManager': manager, 'force': 'true'})}"
        return await self.call("PATCH", target, document, content_type=_APPLY)

    async def watch(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[tuple[str, Object], None]:
        """Changes as (ADDED|MODIFIED|DELETED, object), until the server ends the watch. Raises KubeError."""
        try:
            target = f"{path}?{urlencode({'watch': 'true', **query})}"
            async with wire.exchange(self._peer, "GET", target, headers=self._headers()) as made:
                if made.status != 200:
                    raise KubeError(f"watch {target}: HTTP {made.status}", made.status)
                async for line in made.lines():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return  # mostly "too old resource version": the caller looks afresh
                    yield event["type"], event["object"]
        except (wire.WireError, ValueError, KeyError) as error:
            raise KubeError(f"watch {path}: {error}") from error

    def _headers(self) -> Mapping[str, str]:
        if self._token_file is None:
            return {}
        # Read on each call: the kubelet replaces the token while the pod lives.
        return {"Authorization": f"Bearer {self._token_file.read_text().strip()}"}


class Pods:
    """Pods of the client's namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, pod: Object) -> Object:
        return await self._client.call("POST", self._path(), pod)

    async def get(self, name: str) -> Object:
        return await self._client.call("GET", self._path(name))

    async def labelled(self, label: str, limit: int) -> AsyncGenerator[Sequence[Object], None]:
        """All pods with this label, whatever its value, up to `limit` at a time."""
        query = {"labelSelector": label, "limit": str(limit)}
        while True:
            found = await self._client.call("GET", f"{self._path()}?{urlencode(query)}")
            yield found["items"]
            if not (rest := found["metadata"].get("continue")):
                return
            query["continue"] = rest

    async def delete(self, name: str, grace_s: int) -> None:
        """Ask for the pod's end; one that is gone already is fine."""
        try:
            await self._client.call("DELETE", f"{self._path(name)}?gracePeriodSeconds={grace_s}")
        except KubeError as error:
            if error.status != 404:
                raise

    def watch(self, name: str, version: str, timeout_s: float) -> AsyncGenerator[tuple[str, Object], None]:
        """The pod's changes after `version`, for at most `timeout_s`."""
        query = {
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, int(timeout_s))),
        }
        return self._client.watch(self._path(), query)

    def _path(self, name: str = "") -> str:
        return self._client.path("api/v1", "pods", name)


def read_namespace(reader: settings.Reader) -> str:
    return reader.text("SPACE_NAMESPACE", identity.first_line(_ACCOUNT / "namespace", "default"))


def in_cluster(namespace: str, environment: Mapping[str, str] = os.environ) -> Client:
    """The API server as the pod's own service account sees it; raises KubeError outside a cluster."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (_ACCOUNT / "ca.crt").exists():
        raise KubeError("no service account is mounted: run inside a cluster with automountServiceAccountToken on")
    tls = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    return Client(wire.Peer(host, int(port), tls), namespace, _ACCOUNT / "token")
