"""Sandbox pods: what is asked of Kubernetes, and what its answers mean. The API server here is a scripted one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from common import kube, wire
from fleet import manifest, pods
from tests import limiting

SETTINGS = manifest.Settings("space", "image:1", {"space-smoke.dev/group": "sandbox"}, 1.0)


def pod(phase: str = "Pending", **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "sandbox-s", "resourceVersion": "7"}, "status": {"phase": phase, **status}}


def waiting(reason: str) -> dict[str, Any]:
    return pod(containerStatuses=[{"state": {"waiting": {"reason": reason, "message": "because"}}}])


class Cluster:
    """Answers creates, watches and deletes; `script` is what a watch tells."""

    def __init__(self, script: list[dict[str, Any]], status: int = 201) -> None:
        self.script, self.status, self.asked = script, status, list[str]()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line = head.splitlines()[0].rpartition(" ")[0]
        self.asked.append(line)
        for name, value in (item.split(": ", 1) for item in head.splitlines()[1:] if ": " in item):
            if name.lower() == "content-length":
                await reader.readexactly(int(value))
        if "watch=true" in line:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for event in self.script:
                data = json.dumps(event).encode() + b"\n"
                writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await writer.drain()
            await reader.read()  # a watch stays open until its reader goes
        else:
            status = self.status if line.startswith("POST") else 200
            data = json.dumps({**pod(), "message": "said no"}).encode()
            writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(data), data))
        writer.close()


@asynccontextmanager
async def cluster(made: Cluster) -> AsyncIterator[pods.PodRuntime]:
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield pods.PodRuntime(kube.Pods(kube.Client(wire.Peer("127.0.0.1", port), "space", None)), SETTINGS, "api")


def start(made: Cluster) -> str:
    async def work() -> str:
        async with cluster(made) as runtime:
            return await runtime.start("s")

    return limiting.run(work())


@pytest.mark.parametrize(
    "reason", ["ImagePullBackOff", "ErrImagePull", "CrashLoopBackOff", "CreateContainerConfigError"]
)
def test_a_pod_that_cannot_start_fails_early_with_the_reason_and_is_deleted(reason: str) -> None:
    made = Cluster([{"type": "MODIFIED", "object": waiting(reason)}])
    with pytest.raises(pods.StartFailed, match=f"{reason}; because"):
        start(made)
    assert [line.split()[0] for line in made.asked] == ["POST", "GET", "DELETE"]


def test_a_pod_that_ends_or_is_deleted_fails_early() -> None:
    with pytest.raises(pods.StartFailed, match="ended: phase Failed"):
        start(Cluster([{"type": "MODIFIED", "object": pod("Failed")}]))
    with pytest.raises(pods.StartFailed, match="was deleted"):
        start(Cluster([{"type": "DELETED", "object": pod()}]))


def test_a_pod_that_stays_unscheduled_is_waited_for_and_then_told_why() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node fits"}
    with pytest.raises(pods.StartFailed, match=r"within 1 s: phase Pending; PodScheduled: Unschedulable no node fits"):
        start(Cluster([{"type": "MODIFIED", "object": pod(conditions=[condition])}]))


def test_a_create_that_kubernetes_refuses_says_what_it_said() -> None:
    with pytest.raises(kube.KubeError, match="HTTP 403: said no"):
        start(Cluster([], status=403))


def test_a_running_pod_has_started_once_its_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> tuple[str, str]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            writer.close()

        guest = await asyncio.start_server(answer, "127.0.0.1", 0)
        monkeypatch.setattr(pods, "PORT", guest.sockets[0].getsockname()[1])
        made = Cluster([{"type": "MODIFIED", "object": pod("Running", podIP="127.0.0.1")}])
        async with guest, cluster(made) as runtime:
            return await runtime.start("s"), f"127.0.0.1:{pods.PORT}"

    found, expected = limiting.run(work())
    assert found == expected


def spec() -> dict[str, Any]:
    found: dict[str, Any] = manifest.pod("s", SETTINGS)["spec"]
    return found


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("it lands on its node group", lambda: spec()["nodeSelector"] == {"space-smoke.dev/group": "sandbox"}),
        ("it has no token", lambda: spec()["automountServiceAccountToken"] is False),
        ("it is not root", lambda: spec()["securityContext"]["runAsNonRoot"] is True),
        ("it drops rights", lambda: spec()["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}),
        ("it is pulled once", lambda: spec()["containers"][0]["imagePullPolicy"] == "IfNotPresent"),
        ("it is labelled", lambda: manifest.pod("s", SETTINGS)["metadata"]["labels"][manifest.LABEL] == "s"),
    ],
)
def test_a_sandbox_pod_is_made_as_promised(claim: str, holds: Callable[[], bool]) -> None:
    assert holds(), claim
