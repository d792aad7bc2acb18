"""The keys of a bench's grid sites, in the Secret that the values of their GridNetworks name.

    Secret grid-keys    ring: seals what sites say to each other, the same for all    site: signs what this one spends

Sites believe only those records that are signed by a key which they were told before, so the public halves stand in
charts/bench-values/grid-site.yaml, and both halves are the same on every bench: the keys are made of public words, and
are for benches only. Called by engine.bringup.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519

from space_smoke.bench import kube

SECRET, RING, SITE = "grid-keys", "ring", "site"
_LABELS = {"app.kubernetes.io/part-of": "grid", "app.kubernetes.io/managed-by": "space-smoke"}


def secret(site: str, namespace: str) -> dict[str, Any]:
    """The Secret of one site, each entry 32 bytes in base64."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": namespace, "labels": dict(_LABELS)},
        "type": "Opaque",
        # Kubernetes wants data in base64, and the operator's keys are texts of base64 already.
        "data": {name: _text(_text(key).encode()) for name, key in ((RING, _bytes("ring")), (SITE, _seed(site)))},
    }


def public(site: str) -> str:
    """The public half of a site's key (Ed25519, RFC 8032), 32 bytes in base64."""
    return _text(ed25519.Ed25519PrivateKey.from_private_bytes(_seed(site)).public_key().public_bytes_raw())


def keep(access: kube.Kube, site: str, namespace: str) -> None:
    """Sees to it that the Secret is in the cluster and as it should be. Raises ApiError."""
    access.apply(secret(site, namespace))


def _seed(site: str) -> bytes:
    return _bytes(f"site {site}")


def _bytes(what: str) -> bytes:
    return hashlib.sha256(f"space-smoke, bench only: {what}".encode()).digest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
