"""What the leader clears away now and then: operations that finished long ago, and pods of sandboxes that are no more.

Both may be done again, and by two at once, without harm: a leader that has not yet seen that it leads no longer breaks
nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Never

from common import database, kube
from fleet import claims, manifest, records
from space_cluster_controller import metrics

EVERY_S = 60.0
OPERATIONS = 100  # removed by one statement; results may be large, and a statement has little time
PODS = 100  # asked for at once
UNKNOWN_FOR_S = 600.0  # how long a pod may be there without a record of its sandbox

_log = logging.getLogger(__name__)


class Upkeep:
    """Removes operations `keep_s` seconds after they finished, and orphaned pods."""

    def __init__(
        self,
        queue: claims.Claims,
        table: records.Records,
        pods: kube.Pods,
        keep_s: float,
        meter: metrics.Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._claims, self._records, self._pods = queue, table, pods
        self._keep_s, self._metrics, self._clock = keep_s, meter, clock
        self._unknown_since: dict[str, float] = {}  # by the pod's uid, on `clock`

    async def run(self) -> Never:
        """Clear away every `EVERY_S` seconds until cancelled; what could not be done is left to the next time."""
        while True:
            await asyncio.sleep(EVERY_S)
            for clear in (self.prune, self.sweep):
                try:
                    await clear()
                except (database.Unavailable, kube.KubeError) as error:
                    _log.warning("not cleared away yet", extra={"facts": {"fault": str(error)}})
                except Exception:
                    _log.exception("clearing away failed")

    async def prune(self) -> None:
        """Remove all operations that finished longer ago than they are kept. Raises Unavailable."""
        removed = OPERATIONS
        while removed == OPERATIONS:
            removed = await self._claims.prune(self._keep_s, OPERATIONS)
            self._metrics.pruned(removed)

    async def sweep(self) -> None:
        """Delete the pods of deleted sandboxes, and those without a record for `UNKNOWN_FOR_S`, counted from when this
        leader saw it first: a record is written before its pod is made. Raises Unavailable, KubeError."""
        now, unknown_since = self._clock(), dict[str, float]()
        async for listed in self._pods.labelled(manifest.LABEL, PODS):
            found = [(_sandbox(pod), pod["metadata"]) for pod in listed if "deletionTimestamp" not in pod["metadata"]]
            ours = [(sandbox, metadata) for sandbox, metadata in found if records.ID.fullmatch(sandbox)]
            states = await self._records.states([sandbox for sandbox, _ in ours])
            for sandbox, metadata in ours:
                since = now if sandbox in states else self._unknown_since.get(metadata["uid"], now)
                if sandbox not in states:
                    unknown_since[metadata["uid"]] = since
                if states.get(sandbox) == records.DELETED or now - since >= UNKNOWN_FOR_S:
                    await self._delete(sandbox, metadata["name"], "deleted" if sandbox in states else "unknown")
        self._unknown_since = unknown_since

    async def _delete(self, sandbox: str, name: str, reason: str) -> None:
        await self._pods.delete(name, manifest.GRACE_S)
        self._metrics.orphaned(reason)
        _log.info("orphaned pod deleted", extra={"facts": {"sandbox": sandbox, "pod": name, "reason": reason}})


def _sandbox(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"]["labels"][manifest.LABEL])
