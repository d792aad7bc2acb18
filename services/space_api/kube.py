"""The few calls to the Kubernetes API that sandboxes need: create, get, watch and delete a pod of the own namespace.

Written over `space_api.wire` instead of the `kubernetes` package, whose import alone takes longer than this service
needs to be ready, and three times its memory, in every pod. Nothing is retried here.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from space_api import wire

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CALL_TIMEOUT_S = 5.0

Object = dict[str, Any]


class KubeError(Exception):
    """The API server refused or could not be reached; `status` is its HTTP status, 0 when there was none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Pods:
    """Pods of one namespace."""

    def __init__(self, peer: wire.Peer, namespace: str, token_file: Path | None) -> None:
        self._peer, self._token_file = peer, token_file
        self._path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods"

    async def create(self, pod: Object) -> Object:
        return await self._call("POST", self._path, pod)

    async def get(self, name: str) -> Object:
        return await self._call("GET", f"{self._path}/{quote(name, safe='')}")

    async def delete(self, name: str, grace_s: int) -> None:
        """Ask for the pod's end; one that is gone already is fine."""
        try:
            await self._call("DELETE", f"{self._path}/{quote(name, safe='')}?gracePeriodSeconds={grace_s}")
        except KubeError as error:
            if error.status != 404:
                raise

    async def watch(self, name: str, version: str, timeout_s: float) -> AsyncGenerator[tuple[str, Object], None]:
        """The pod's changes after `version` as (ADDED|MODIFIED|DELETED, pod), until the server ends the watch."""
        query = {
            "watch": "true",
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, int(timeout_s))),
        }
        try:
            async with wire.exchange(
                self._peer, "GET", f"{self._path}?{urlencode(query)}", headers=self._headers()
            ) as made:
                if made.status != 200:
                    raise KubeError(f"watch of pod {name}: HTTP {made.status}", made.status)
                async for line in made.lines():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return  # mostly "too old resource version": the caller looks afresh
                    yield event["type"], event["object"]
        except (wire.WireError, ValueError, KeyError) as error:
            raise KubeError(f"watch of pod {name}: {error}") from error

    async def _call(self, method: str, path: str, document: Object | None = None) -> Object:
        try:
            answer = await wire.call(
                self._peer, method, path, timeout_s=_CALL_TIMEOUT_S, headers=self._headers(), document=document
            )
            body = answer.json()
        except (wire.WireError, TimeoutError) as error:
            raise KubeError(f"{method} {path}: {error or 'no answer in time'}") from error
        if not isinstance(body, dict) or answer.status >= 300:
            reason = body.get("message", "") if isinstance(body, dict) else ""
            raise KubeError(f"{method} {path}: HTTP {answer.status}: {reason}", answer.status)
        return body

    def _headers(self) -> Mapping[str, str]:
        if self._token_file is None:
            return {}
        # Read on each call: the kubelet replaces the token while the pod lives.
        return {"Authorization": f"Bearer {self._token_file.read_text().strip()}"}


def in_cluster(namespace: str, environment: Mapping[str, str] = os.environ) -> Pods:
    """Pods as the pod's own service account sees them; raises KubeError outside a cluster."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (_ACCOUNT / "ca.crt").exists():
        raise KubeError("no service account is mounted: run inside a cluster with automountServiceAccountToken on")
    tls = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    return Pods(wire.Peer(host, int(port), tls), namespace, _ACCOUNT / "token")
