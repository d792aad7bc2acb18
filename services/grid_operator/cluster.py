"""The grid's resources at the API server: where they are, and how a status is applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from common import kube
from grid_operator.model.kind import GROUP, VERSION

MANAGER = "grid-operator"


async def apply_status(
    client: kube.Client, plural: str, kind: str, name: str, status: Mapping[str, Any]
) -> kube.Object:
    """Make `status` all that the operator says of the object, as it is then. Raises kube.KubeError."""
    document = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": kind,
        "metadata": {"name": name},
        "status": status,
    }
    return await client.apply(f"{collection(plural)}/{quote(name, safe='')}/status", MANAGER, document)


def collection(plural: str) -> str:
    """The path of all resources of the group's kind."""
    return f"/apis/{GROUP}/{VERSION}/{plural}"
