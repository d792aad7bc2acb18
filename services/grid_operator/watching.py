"""What is in the cluster now: listed, then watched, and looked at afresh whenever a watch ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from urllib.parse import quote, urlencode

from common import kube

WATCH_S = 240.0  # the server ends a watch after this; one that hangs longer is given up
_SLACK_S = 10.0
_AGAIN_S = 1.0

_log = logging.getLogger(__name__)


class Watched:
    """The objects of one collection, or the one that is named, by name; `changed` is called after each change.

    `complete`: everything was seen at least once.
    """

    def __init__(
        self, client: kube.Client, path: str, changed: Callable[[], None], *, name: str = "", lists: bool = True
    ) -> None:
        """Without `lists` the account may get the named object and watch it, and may not list."""
        self._client, self._path, self._changed, self._name, self._lists = client, path, changed, name, lists
        self.objects: dict[str, kube.Object] = {}
        self.complete = False

    def put(self, found: kube.Object) -> None:
        """The object as the server answered a write of ours with, sooner than the watch tells."""
        self.objects[str(found["metadata"]["name"])] = found

    async def run(self) -> None:
        """Until cancelled. What the API server refuses is logged, and tried again after a second."""
        while True:
            try:
                version = await self._look()
                async with asyncio.timeout(WATCH_S + _SLACK_S):
                    await self._follow(version)
                continue
            except kube.KubeError as error:
                _log.warning("not watching", extra={"facts": {"fault": str(error)[:300]}})
            except TimeoutError:
                _log.warning("a watch did not end in time", extra={"facts": {"path": self._path}})
            except Exception:
                # A watch that ended for a reason nobody thought of would leave its objects as they were for ever.
                _log.exception("a watch failed", extra={"facts": {"path": self._path}})
            await asyncio.sleep(_AGAIN_S)  # nothing announces that the API server is back

    async def _look(self) -> str:
        """Take in what is there; the version to watch from, "" for whatever is there then."""
        if self._lists:
            found = await self._client.call("GET", f"{self._path}?{urlencode(self._selected())}")
            objects, version = found["items"], str(found["metadata"]["resourceVersion"])
        else:
            # An object's own version may be too old to watch from; without one a watch begins with what is there.
            objects, version = await self._get(), ""
        self.objects = {str(one["metadata"]["name"]): one for one in objects}
        self.complete = True
        self._changed()
        return version

    async def _get(self) -> list[kube.Object]:
        try:
            return [await self._client.call("GET", f"{self._path}/{quote(self._name, safe='')}")]
        except kube.KubeError as error:
            if error.status != 404:
                raise
            return []

    async def _follow(self, version: str) -> None:
        query = {**self._selected(), "timeoutSeconds": str(int(WATCH_S))}
        if version:
            query["resourceVersion"] = version
        async with contextlib.aclosing(self._client.watch(self._path, query)) as changes:
            async for kind, found in changes:
                name = str(found["metadata"]["name"])
                if kind == "DELETED":
                    self.objects.pop(name, None)
                else:
                    self.objects[name] = found
                self._changed()

    def _selected(self) -> dict[str, str]:
        return {"fieldSelector": f"metadata.name={self._name}"} if self._name else {}
