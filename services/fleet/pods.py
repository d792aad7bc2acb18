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

from common import kube, wire
from fleet import manifest

PORT = manifest.PORT
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


class Owner:
    """The Deployment that owns the pods made here, so that uninstalling it removes them too."""

    def __init__(self, client: kube.Client, deployment: str) -> None:
        self._client, self._deployment = client, deployment
        self._reference: kube.Object | None = None

    async def reference(self) -> kube.Object:
        """Its owner reference, asked for once. Raises kube.KubeError."""
        if self._reference is None:
            found = await self._client.call("GET", self._client.path("apis/apps/v1", "deployments", self._deployment))
            uid = found["metadata"]["uid"]
            self._reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": self._deployment, "uid": uid}
        return self._reference


class PodRuntime:
    """Runs each sandbox as one pod of the own namespace."""

    def __init__(
        self,
        pods: kube.Pods,
        settings: manifest.Settings,
        own_pod: str,
        *,
        owner: Owner | None = None,
        adopts: bool = False,
    ) -> None:
        """`adopts`: a start goes on with the pod that an earlier, interrupted start of the same sandbox left, and
        leaves its own behind when it is interrupted; without it only the request that made a pod may have it."""
        self._pods, self._settings, self._own_pod = pods, settings, own_pod
        self._owner, self._adopts = owner, adopts
        self._image_id = ""
        # Starting a pod keeps a processor busy for half a second. All of a burst at once would not be ready sooner, and
        # meanwhile would starve the limiter store on a small node.
        self._starts = asyncio.Semaphore(settings.parallel_starts)

    async def start(self, sandbox: str) -> str:
        async with self._starts:
            owner = await self._owner.reference() if self._owner else None
            return await self._start(manifest.name(sandbox), manifest.pod(sandbox, self._settings, owner))

    async def stop(self, sandbox: str) -> None:
        await self._pods.delete(manifest.name(sandbox), manifest.GRACE_S)

    async def image_id(self) -> str:
        if not self._image_id:
            with contextlib.suppress(kube.KubeError, LookupError):
                pod = await self._pods.get(self._own_pod)
                self._image_id = str(pod["status"]["containerStatuses"][0]["imageID"])
        return self._image_id

    async def _start(self, name: str, document: kube.Object) -> str:
        try:
            return await self._started(name, await self._made(name, document))
        except BaseException as error:
            # Whatever went wrong, also the request's own end: a sandbox nobody was told of must not stay.
            if not self._adopts or isinstance(error, StartFailed):
                with contextlib.suppress(kube.KubeError):
                    await asyncio.shield(self._pods.delete(name, 0))
            raise

    async def _made(self, name: str, document: kube.Object) -> kube.Object:
        try:
            return await self._pods.create(document)
        except kube.KubeError as error:
            if error.status != 409 or not self._adopts:
                raise
        pod = await self._pods.get(name)
        if "deletionTimestamp" not in pod["metadata"]:
            return pod
        await self._gone(name, pod["metadata"]["resourceVersion"])
        return await self._pods.create(document)

    async def _gone(self, name: str, version: str) -> None:
        """Wait until a pod that is being deleted is gone; raises KubeError."""
        seconds = self._settings.start_timeout_s
        changes = self._pods.watch(name, version, seconds)
        try:
            async with asyncio.timeout(seconds), contextlib.aclosing(changes):
                async for kind, _ in changes:
                    if kind == "DELETED":
                        return
        except TimeoutError:
            pass
        raise kube.KubeError(f"pod {name} was deleted and is still there after {seconds:g} s")

    async def _started(self, name: str, pod: kube.Object) -> str:
        seen = _Seen(pod)
        seen.update(pod)
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
