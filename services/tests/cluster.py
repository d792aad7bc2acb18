"""A Kubernetes API server and the sandboxes of its pods, as small as the services' calls need, served from one thread.

Pods run as soon as they are made, each on a loopback address of its own; what their servers were asked is counted, so a
test can say that something was done once.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import random
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from fleet import manifest
from tests import threaded

Object = dict[str, Any]


@dataclass
class Guest:
    """The server inside one pod; clear `open` to let commands wait for their answer."""

    address: str = ""
    commands: list[list[str]] = field(default_factory=list)
    frozen: bool = False
    thaws: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    open: threading.Event = field(default_factory=threading.Event)

    async def answer(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        url = urlsplit(target)
        if url.path == "/command":
            self.commands.append(json.loads(body)["command"])
            while not self.open.is_set():
                await asyncio.sleep(0.01)
            result = {"exit_code": 0, "stdout_b64": base64.b64encode(b"ran").decode(), "stderr_b64": ""}
            return 200, threaded.as_json(result)
        if url.path == "/freeze":
            self.frozen = True
        if url.path == "/thaw":
            self.frozen, self.thaws = False, self.thaws + 1
        if url.path == "/files":
            path = parse_qs(url.query)["path"][0]
            if method == "PUT":
                self.files[path] = body
                return 200, threaded.as_json({"path": path, "size": len(body)})
            if path not in self.files:
                return 404, threaded.as_json({"error": {"code": "file_not_found", "message": "there is no such file"}})
            return 200, self.files[path]
        return 200, b"{}"


class Cluster(threaded.Threaded):
    """Objects by path; `made` counts the successful creations of each pod; clear `answering` for a silent API server."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, Object] = {"/apis/apps/v1/namespaces/space/deployments/own": _named("own", uid="u-1")}
        self.made: dict[str, int] = {}
        self.guests: dict[str, Guest] = {}
        self.answering = threading.Event()
        self.answering.set()
        self.refuse_pods = 0  # a status with which pods are refused
        self._version = 0
        self._servers: dict[str, asyncio.Server] = {}

    def add(self, sandbox: str) -> Guest:
        """A pod that somebody made earlier."""
        self._run(self._create({"metadata": {"name": manifest.name(sandbox), "labels": {manifest.LABEL: sandbox}}}))
        return self.guests[sandbox]

    def pods(self) -> set[str]:
        return {path.rpartition("/")[2] for path in self.objects if "/pods/" in path}

    def lease(self, name: str = "space-cluster-controller") -> Object:
        found: Object = self.objects[f"/apis/coordination.k8s.io/v1/namespaces/space/leases/{name}"]["spec"]
        return found

    async def _start(self) -> int:
        server = await asyncio.start_server(threaded.closing(self._serve), "127.0.0.1", 0)
        self._servers["api"] = server
        return int(server.sockets[0].getsockname()[1])

    async def _end(self) -> None:
        for guest in self.guests.values():
            guest.open.set()
        self.answering.set()
        for server in self._servers.values():
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, body = await threaded.request(reader)
        while not self.answering.is_set():
            await asyncio.sleep(0.01)
        if "watch=true" in target:
            await self._watch(target, reader, writer)
            return
        if "labelSelector=" in target:
            threaded.respond(writer, 200, threaded.as_json(self._list(urlsplit(target))))
            return
        status, document = await self._answer(method, unquote(urlsplit(target).path), json.loads(body or b"{}"))
        threaded.respond(writer, status, threaded.as_json(document))

    async def _answer(self, method: str, path: str, document: Object) -> tuple[int, Object]:
        found = self.objects.get(path)
        if method == "POST":
            name = document["metadata"]["name"]
            if path.endswith("/pods") and self.refuse_pods:
                return self.refuse_pods, {"message": "refused"}
            if f"{path}/{name}" in self.objects:
                return 409, {"message": "already exists"}
            if path.endswith("/pods"):
                return 201, await self._create(document)
            return 201, self._put(f"{path}/{name}", document)
        if found is None:
            return 404, {"message": "not found"}
        if method == "DELETE":
            self._servers.pop(path.rpartition("/")[2]).close()
            return 200, self.objects.pop(path)
        if method == "PUT":
            if document["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
                return 409, {"message": "the object has been modified"}
            return 200, self._put(path, document)
        return 200, found

    async def _create(self, pod: Object) -> Object:
        name, guest = pod["metadata"]["name"], Guest()
        guest.open.set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            method, target, body = await threaded.request(reader)
            threaded.respond(writer, *await guest.answer(method, target, body))

        host, self._servers[name] = await _listen(serve)
        guest.address = f"{host}:{manifest.PORT}"
        self.guests[name.removeprefix("sandbox-")] = guest
        self.made[name] = self.made.get(name, 0) + 1
        pending = {**pod, "status": {"phase": "Pending"}}
        running = {**pod, "status": {"phase": "Running", "podIP": host}}
        made = self._put(f"/api/v1/namespaces/space/pods/{name}", running)
        return {**pending, "metadata": made["metadata"]}

    def _list(self, url: SplitResult) -> Object:
        """Pods that have the label, page by page; a page's `continue` is the name after which the next one goes on."""
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        names = [path for path, found in self.objects.items() if path.startswith(f"{url.path}/")]
        found = [
            self.objects[path]
            for path in sorted(names)
            if query["labelSelector"] in self.objects[path]["metadata"].get("labels", {})
            and path > query.get("continue", "")
        ]
        page, more = found[: int(query["limit"])], len(found) > int(query["limit"])
        last = f"{url.path}/{page[-1]['metadata']['name']}" if more else ""
        return {"items": page, "metadata": {"continue": last}}

    async def _watch(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = parse_qs(urlsplit(target).query)["fieldSelector"][0].partition("=")[2]
        pod = self.objects.get(f"/api/v1/namespaces/space/pods/{name}")
        data = threaded.as_json({"type": "MODIFIED", "object": pod}) + b"\n" if pod else b""
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()
        await reader.read()  # a watch stays open until its reader goes
        writer.close()

    def _put(self, path: str, document: Object) -> Object:
        self._version += 1
        metadata = {"uid": path, **document["metadata"], "resourceVersion": str(self._version)}
        self.objects[path] = {**document, "metadata": metadata}
        return self.objects[path]


async def _listen(serve: Callable[..., Awaitable[None]]) -> tuple[str, asyncio.Server]:
    """A server on the sandboxes' port of some loopback address; other tests run at the same time and do the same."""
    while True:
        host = ".".join(str(part) for part in (127, *(random.randint(2, 250) for _ in range(3))))
        with contextlib.suppress(OSError):
            return host, await asyncio.start_server(threaded.closing(serve), host, manifest.PORT)


def _named(name: str, **metadata: str) -> Object:
    return {"metadata": {"name": name, **metadata}}
