"""The API server as the operator uses it: cluster-scoped resources listed, watched, and their status applied."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from common import kube, wire
from grid_operator.model.kind import GROUP, VERSION

MANAGER = "grid-operator"
_TIMEOUT_S = 5.0
_APPLY = "application/apply-patch+yaml"  # JSON is YAML


class Cluster(kube.Client):
    """The client of a service account, and server-side apply of a status (kubernetes.io, "Server-Side Apply")."""

    @classmethod
    def of(cls, client: kube.Client) -> Cluster:
        return cls(client._peer, client._namespace, client._token_file)

    async def apply_status(self, plural: str, kind: str, name: str, status: Mapping[str, Any]) -> kube.Object:
        """Make `status` all that this manager says of the object; what it said before and not now goes away there.

        The object as it is then. Raises kube.KubeError.
        """
        query = urlencode({"fieldManager": MANAGER, "force": "true"})
        path = f"{collection(plural)}/{quote(name, safe='')}/status?{query}"
        document = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": kind,
            "metadata": {"name": name},
            "status": status,
        }
        headers = {**self._headers(), "Content-Type": _APPLY}
        body = json.dumps(document, allow_nan=False).encode()
        received = bytearray()
        try:
            async with (
                asyncio.timeout(_TIMEOUT_S),
                wire.exchange(self._peer, "PATCH", path, headers=headers, body=body) as made,
            ):
                async for piece in made.body():
                    received += piece
            answer = wire.Answer(made.status, bytes(received)).json()
        except (wire.WireError, TimeoutError) as error:
            raise kube.KubeError(f"PATCH {path}: {error or 'no answer in time'}") from error
        if not isinstance(answer, dict) or made.status >= 300:
            reason = answer.get("message", "") if isinstance(answer, dict) else ""
            raise kube.KubeError(f"PATCH {path}: HTTP {made.status}: {reason}", made.status)
        return answer


def collection(plural: str) -> str:
    """The path of all resources of the group's kind."""
    return f"/apis/{GROUP}/{VERSION}/{plural}"
