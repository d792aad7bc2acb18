"""A Kubernetes API server for cluster-scoped resources and Secrets, as small as the operator's calls need.

It lists and watches by resource version, gives out generations, and applies a status as a server does: what a manager said
before and does not say now goes away, what others said stays, and nothing is written when nothing changes.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from grid_operator import cluster
from tests import threaded

Object = dict[str, Any]
SECRETS = "/api/v1/namespaces/space/secrets"
NETWORKS, SITES, PROVIDERS = (cluster.collection(one) for one in ("gridnetworks", "gridsites", "inferenceproviders"))


class ApiServer(threaded.Threaded):
    """Objects by path; `applied` counts the status writes of each that changed something, `asked` all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, Object] = {}
        self.applied: dict[str, int] = {}
        self.asked: dict[str, int] = {}
        self._owned: dict[tuple[str, str], set[str]] = {}
        self._version = 1
        self._ending = False
        self._events: list[tuple[int, str, str, Object]] = []  # version, kind, path, object
        self._news = asyncio.Condition()

    def put(self, collection: str, name: str, **content: Any) -> None:
        """Make the object, or replace all of it but its status, as an update does."""
        self._run(self._put(f"{collection}/{name}", content))

    def delete(self, collection: str, name: str) -> None:
        self._run(self._delete(f"{collection}/{name}"))

    def status(self, collection: str, name: str) -> Object:
        return self.objects[f"{collection}/{name}"].get("status") or {}

    def version(self, collection: str, name: str) -> str:
        return str(self.objects[f"{collection}/{name}"]["metadata"]["resourceVersion"])

    def history(self) -> list[tuple[str, Object]]:
        """(path, object) of every version that there was, in order."""
        return [(path, found) for _, _, path, found in list(self._events)]

    async def _start(self) -> int:
        self._server = await asyncio.start_server(threaded.closing(self._serve), "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _end(self) -> None:
        self._server.close()
        async with self._news:
            self._ending = True
            self._news.notify_all()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, body = await threaded.request(reader)
        url = urlsplit(target)
        path, query = unquote(url.path), {name: values[0] for name, values in parse_qs(url.query).items()}
        named = query.get("fieldSelector", "").partition("=")[2]
        if "watch" in query:
            await self._watch(writer, path, named, int(query.get("resourceVersion", 0)))
        elif method == "PATCH":
            threaded.respond(
                writer, *await self._apply(path.removesuffix("/status"), query["fieldManager"], json.loads(body))
            )
        elif path in self.objects:
            threaded.respond(writer, 200, threaded.as_json(self.objects[path]))
        elif path in (NETWORKS, SITES, PROVIDERS):
            items = [found for at, found in self.objects.items() if _selected(at, path, named)]
            threaded.respond(
                writer, 200, threaded.as_json({"items": items, "metadata": {"resourceVersion": str(self._version)}})
            )
        else:
            threaded.respond(writer, 404, threaded.as_json({"message": "not found"}))

    async def _watch(self, writer: asyncio.StreamWriter, collection: str, named: str, since: int) -> None:
        """From `since`, or from what is there when it is 0."""
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = since or self._version
        if not since:
            for path, found in self.objects.items():
                if _selected(path, collection, named):
                    _chunk(writer, "ADDED", found)
        while not self._ending:
            for version, kind, path, found in list(self._events):
                if version > sent and _selected(path, collection, named):
                    _chunk(writer, kind, found)
            sent = self._version
            await writer.drain()
            async with self._news:
                while self._version == sent and not self._ending:
                    await self._news.wait()

    async def _apply(self, path: str, manager: str, document: Object) -> tuple[int, bytes]:
        self.asked[path] = self.asked.get(path, 0) + 1
        found = self.objects.get(path)
        if found is None:
            return 404, threaded.as_json({"message": "not found"})
        dropped = self._owned.get((path, manager), set()) - document["status"].keys()
        kept = {name: value for name, value in (found.get("status") or {}).items() if name not in dropped}
        self._owned[path, manager] = set(document["status"])
        status = {**kept, **document["status"]}
        if status != found.get("status"):
            self.applied[path] = self.applied.get(path, 0) + 1
            await self._keep("MODIFIED", path, {**found, "status": status})
        return 200, threaded.as_json(self.objects[path])

    async def _put(self, path: str, content: Object) -> None:
        found = self.objects.get(path)
        generation = found["metadata"]["generation"] + 1 if found else 1
        made = {**content, "metadata": {"name": path.rpartition("/")[2], "generation": generation}}
        if found and "status" in found:
            made["status"] = found["status"]
        await self._keep("MODIFIED" if found else "ADDED", path, made)

    async def _delete(self, path: str) -> None:
        await self._keep("DELETED", path, self.objects[path])
        del self.objects[path]

    async def _keep(self, kind: str, path: str, found: Object) -> None:
        async with self._news:
            self._version += 1
            metadata = {**found["metadata"], "resourceVersion": str(self._version)}
            self.objects[path] = {**found, "metadata": metadata}
            self._events.append((self._version, kind, path, self.objects[path]))
            self._news.notify_all()


def _selected(path: str, collection: str, named: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == collection and (not named or name == named)


def _chunk(writer: asyncio.StreamWriter, kind: str, found: Object) -> None:
    data = threaded.as_json({"type": kind, "object": found}) + b"\n"
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
