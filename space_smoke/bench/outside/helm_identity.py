"""Under which name a Helm child writes: our own user, with the fence of its tenure in the user's extra fields.

Helm's patches cannot carry a test of the fence. The API server can compare it all the same where kind/admission is applied:
a kubeconfig may name extra fields of the user (`as-user-extra`), they come with every request that the child sends, and the
policy compares them with the fence on the object in the step that changes it.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import yaml

from space_smoke import errors
from space_smoke.bench import kube
from space_smoke.model import fence as fences

POLICY = "space-smoke-fence"
_BINDING = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{POLICY}"
_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_FILES = ("client-certificate", "client-key", "tokenFile", "certificate-authority")


def guarded(cluster: kube.Kube) -> bool:
    """Whether the API server compares fences by the policy of kind/admission."""
    status, answer = cluster.send("GET", _BINDING)
    if status not in (200, 403, 404):  # who may not look has it not for us
        raise errors.ApiError(
            f"the admission policy could not be looked up: {answer.get('message', '')}", status=status
        )
    return status == 200


def write(cluster: kube.Kube, domain: str, fence: int, path: pathlib.Path) -> pathlib.Path:
    """A kubeconfig at `path` that opens the same cluster as the same user, with the fence. Raises BenchError, ApiError."""
    source = cluster.kubeconfig or pathlib.Path(
        os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or pathlib.Path.home() / ".kube/config"
    )
    config: dict[str, Any] = yaml.safe_load(source.read_text())
    name = cluster.context or config.get("current-context")
    chosen = next((one["context"] for one in config.get("contexts") or () if one["name"] == name), None)
    if chosen is None:
        raise errors.BenchError(f"{source} has no context {name!r}", next_step="name the file with --kubeconfig")
    user = next(one["user"] for one in config["users"] if one["name"] == chosen["user"])
    place = next(one["cluster"] for one in config["clusters"] if one["name"] == chosen["cluster"])
    for entry in (user, place):  # relative names are relative to the file they stand in
        entry |= {key: str(source.parent.resolve() / entry[key]) for key in _FILES if entry.get(key)}
    user |= _as(cluster, domain, fence)
    config["current-context"] = name
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
    return path


def _as(cluster: kube.Kube, domain: str, fence: int) -> dict[str, Any]:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    status, answer = cluster.send("POST", _REVIEW, body=body)
    if status >= 300:
        raise errors.ApiError(f"our own user could not be read: {answer.get('message', '')}", status=status)
    info = answer["status"]["userInfo"]
    extra = {**(info.get("extra") or {}), fences.key(domain): [str(fence)]}
    return {"as": info["username"], "as-groups": info.get("groups") or [], "as-user-extra": extra}
