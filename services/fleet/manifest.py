"""The pod that a sandbox is, and the settings that shape it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from common import kube, mutations, settings

PORT = 8090
LABEL = "space-smoke.dev/sandbox"
GRACE_S = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """How sandbox pods are made. `start_timeout_s` bounds the time from creation to the first answer;
    `parallel_starts` is how many pods one process starts at once, the others wait in order; `mutations` and
    `otlp_endpoint` are handed on to the server inside."""

    namespace: str
    image: str
    node_selector: Mapping[str, str]
    start_timeout_s: float
    parallel_starts: int = 2
    mutations: frozenset[str] = frozenset()
    otlp_endpoint: str = ""


def read(reader: settings.Reader, active: frozenset[str], otlp_endpoint: str = "") -> Settings:
    selector = reader.labels("SPACE_SANDBOX_NODE_SELECTOR")
    return Settings(
        namespace=kube.read_namespace(reader),
        image=reader.text("SPACE_SANDBOX_IMAGE", required=True),
        node_selector={} if mutations.SANDBOX_IGNORES_NODE_SELECTOR in active else selector,
        start_timeout_s=reader.number("SPACE_SANDBOX_START_TIMEOUT_S", 30, 1, 600),
        parallel_starts=reader.integer("SPACE_SANDBOX_PARALLEL_STARTS", 2, 1, 1000),
        mutations=active & mutations.OF_SANDBOXES,
        otlp_endpoint=otlp_endpoint,
    )


def name(sandbox: str) -> str:
    """The pod's name follows from the sandbox's id, so that making it again finds the one that is there."""
    return f"sandbox-{sandbox}"


def pod(sandbox: str, settings: Settings, owner: kube.Object | None = None) -> kube.Object:
    """The pod of one sandbox: no token, no rights, nothing writable but its workspace."""
    made: kube.Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name(sandbox),
            "labels": {"app.kubernetes.io/name": "sandbox", LABEL: sandbox},
        },
        "spec": {
            "restartPolicy": "Never",  # a restarted server would have lost the state that a sandbox is
            "terminationGracePeriodSeconds": GRACE_S,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "nodeSelector": dict(settings.node_selector),
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "runAsGroup": 10001,
                "fsGroup": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "sandbox",
                    "image": settings.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["python3", "-m", "sandbox", "--port", str(PORT)],
                    "workingDir": "/workspace",
                    "ports": [{"name": "http", "containerPort": PORT}],
                    "resources": {
                        "requests": {"cpu": "5m", "memory": "24Mi"},
                        "limits": {"memory": "128Mi"},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [
                        {"name": "workspace", "mountPath": "/workspace"},
                        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a volume of the pod's own
                    ],
                }
            ],
            "volumes": [
                {"name": "workspace", "emptyDir": {"sizeLimit": "64Mi"}},
                {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
            ],
        },
    }
    if owner is not None:
        made["metadata"]["ownerReferences"] = [owner]
    named = {"SPACE_OTLP_ENDPOINT": settings.otlp_endpoint} if settings.otlp_endpoint else {}
    if settings.mutations:
        named |= {"SPACE_PROFILE": "kind", "SPACE_MUTATION": ",".join(sorted(settings.mutations))}
    if named:
        made["spec"]["containers"][0]["env"] = [{"name": key, "value": value} for key, value in named.items()]
    return made
