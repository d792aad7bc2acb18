"""Sandboxes as pods: made, waited for by watching, and deleted.

A sandbox has started when its pod runs and the server inside has answered. A pod that cannot start fails early, with
the reason Kubernetes gives; one that may still start, such as an unschedulable one, is waited for until the timeout and
the reason is told then.

The pod has no probes. A kubelet looks at its probes once a second and reports each change to the API server, which made
every start 0.5 to 1 s longer and, at several starts a second, kept a node busy with nothing else; here the one who
waits knocks itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Never, Protocol

from space_api import config, kube, wire

PORT = 8090
LABEL = "space-smoke.dev/sandbox"
_GRACE_S = 1
_KNOCK_TIMEOUT_S = 1.0
_KNOCK_INTERVAL_S = 0.03
_TERMINAL_WAITS = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "CrashLoopBackOff",
    }
)


class StartFailed(Exception):
    """The sandbox did not start; the message says why."""


class Runtime(Protocol):
    """Where sandboxes live."""

    async def start(self, sandbox: str) -> str:
        """Make the sandbox and wait until it answers; returns its `host:port`. Raises StartFailed, kube.KubeError."""

    async def stop(self, sandbox: str) -> None:
        """End the sandbox; one that is gone already is fine. Raises kube.KubeError."""

    async def image_id(self) -> str:
        """The id of the image this API itself runs from, or "" when unknown."""


class PodRuntime:
    """Runs each sandbox as one pod of the API's namespace."""

    def __init__(self, pods: kube.Pods, settings: config.Sandbox, own_pod: str) -> None:
        self._pods, self._settings, self._own_pod = pods, settings, own_pod
        self._image_id = ""
        # Starting a pod keeps a processor busy for half a second. All of a burst at once would not be ready sooner, and
        # meanwhile would starve the limiter store on a small node.
        self._starts = asyncio.Semaphore(settings.parallel_starts)

    async def start(self, sandbox: str) -> str:
        async with self._starts:
            return await self._start(pod_name(sandbox), manifest(sandbox, self._settings))

    async def stop(self, sandbox: str) -> None:
        await self._pods.delete(pod_name(sandbox), _GRACE_S)

    async def image_id(self) -> str:
        if not self._image_id:
            with contextlib.suppress(kube.KubeError, LookupError):
                pod = await self._pods.get(self._own_pod)
                self._image_id = str(pod["status"]["containerStatuses"][0]["imageID"])
        return self._image_id

    async def _start(self, name: str, document: kube.Object) -> str:
        try:
            return await self._started(name, await self._pods.create(document))
        except BaseException:
            # Whatever went wrong, also the request's own end: a sandbox nobody was told of must not stay.
            with contextlib.suppress(kube.KubeError):
                await asyncio.shield(self._pods.delete(name, 0))
            raise

    async def _started(self, name: str, pod: kube.Object) -> str:
        seen = _Seen(pod)
        following = asyncio.create_task(self._follow(name, seen), name=f"follow-{name}")
        knocking = asyncio.create_task(_knock(seen), name=f"knock-{name}")
        try:
            async with asyncio.timeout(self._settings.start_timeout_s):
                done, _ = await asyncio.wait({following, knocking}, return_when=asyncio.FIRST_COMPLETED)
            if following in done:
                await following  # it ends only by raising
            return await knocking
        except TimeoutError:
            waited = f"{self._settings.start_timeout_s:g} s"
            raise StartFailed(f"pod {name} did not start within {waited}: {progress(seen.pod)}") from None
        finally:
            following.cancel()
            knocking.cancel()
            await asyncio.wait({following, knocking})

    async def _follow(self, name: str, seen: _Seen) -> Never:
        """Keep `seen` up to date until cancelled; raises StartFailed once the pod cannot start any more."""
        while True:
            version = seen.pod["metadata"]["resourceVersion"]
            changes = self._pods.watch(name, version, self._settings.start_timeout_s)
            async with contextlib.aclosing(changes):
                async for kind, pod in changes:
                    if kind == "DELETED":
                        raise StartFailed(f"pod {name} was deleted while it started")
                    seen.update(pod)
            # The server ended the watch: look afresh and watch from there.
            seen.update(await self._pods.get(name))


class _Seen:
    """The newest state of a pod, and its address as soon as it runs."""

    def __init__(self, pod: kube.Object) -> None:
        self.pod = pod
        self.address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def update(self, pod: kube.Object) -> None:
        self.pod = pod
        address = running_address(pod)
        if address and not self.address.done():
            self.address.set_result(address)


async def _knock(seen: _Seen) -> str:
    """Connect to the running pod until its server answers; returns the address."""
    address = await seen.address
    host, _, port = address.rpartition(":")
    while True:
        with contextlib.suppress(wire.WireError, TimeoutError):
            answer = await wire.call(wire.Peer(host, int(port)), "GET", "/healthz", timeout_s=_KNOCK_TIMEOUT_S)
            if answer.status == 200:
                return address
        await asyncio.sleep(_KNOCK_INTERVAL_S)  # nobody announces a listening socket


def pod_name(sandbox: str) -> str:
    return f"sandbox-{sandbox}"


def running_address(pod: Mapping[str, Any]) -> str:
    """`host:port` of a running pod, "" while it may still become one; raises StartFailed when it cannot."""
    status = pod.get("status", {})
    name = pod["metadata"]["name"]
    if status.get("phase") in ("Failed", "Succeeded"):
        raise StartFailed(f"pod {name} ended: {progress(pod)}")
    for container in status.get("containerStatuses", ()):
        if container.get("state", {}).get("waiting", {}).get("reason") in _TERMINAL_WAITS:
            raise StartFailed(f"pod {name} cannot start: {progress(pod)}")
    runs = status.get("phase") == "Running" and status.get("podIP")
    return f"{status['podIP']}:{PORT}" if runs else ""


def progress(pod: Mapping[str, Any]) -> str:
    """What Kubernetes says about a pod that is not ready, in one line."""
    status = pod.get("status", {})
    told = [f"phase {status.get('phase', 'unknown')}"]
    for state in (container.get("state", {}) for container in status.get("containerStatuses", ())):
        for facts in state.values():
            told += [str(facts[key]) for key in ("reason", "message", "exitCode") if facts.get(key)]
    for item in status.get("conditions", ()):
        if item.get("status") == "False" and item.get("reason"):
            told.append(f"{item['type']}: {item['reason']} {item.get('message', '')}".rstrip())
    return "; ".join(told)[:500]


def manifest(sandbox: str, settings: config.Sandbox) -> kube.Object:
    """The pod of one sandbox: no token, no rights, nothing writable but its workspace."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(sandbox),
            "labels": {"app.kubernetes.io/name": "sandbox", LABEL: sandbox},
        },
        "spec": {
            "restartPolicy": "Never",  # a restarted server would have lost the state that a sandbox is
            "terminationGracePeriodSeconds": _GRACE_S,
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
