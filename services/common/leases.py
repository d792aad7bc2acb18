"""A Kubernetes Lease as a lock with one holder: taken, renewed and given back, each by one guarded write.

Every write names the resourceVersion it was made from, so of two that write at once one is refused. A holder is
believed for as long as its Lease says, counted on the reader's own clock from when the reader saw it last change: clocks
of other machines are never compared (as in client-go's leader election).
"""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from common import kube

DURATION_LIMIT_S = 300.0
_GROUP, _PLURAL = "apis/coordination.k8s.io/v1", "leases"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A state of the Lease, and when this process saw it first."""

    version: str
    at: float


class Lease:
    """One Lease, for one candidate. `identity` must not be used by another process, nor again by this one's successor."""

    def __init__(
        self,
        client: kube.Client,
        name: str,
        identity: str,
        duration_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._name, self._identity, self._duration_s = client, name, identity, duration_s
        self._clock = clock
        self._seen: _Seen | None = None
        self.holder = ""  # as last read
        self.valid_until = float("-inf")  # on `clock`; before this nobody else can have taken it over

    async def hold(self, timeout_s: float) -> bool:
        """Take or renew the Lease if that is possible now; whether this candidate holds it. Raises kube.KubeError.

        After an error nobody knows whether the write happened: `valid_until` stays where it was, and the next call finds
        out.
        """
        asked = self._clock()
        try:
            found = await self._client.call("GET", self._path(), timeout_s=timeout_s)
        except kube.KubeError as error:
            if error.status != 404:
                raise
            return await self._write("POST", self._path(collection=True), self._document({}, 0), asked, timeout_s)
        spec = found.get("spec", {})
        self.holder = str(spec.get("holderIdentity") or "")
        mine = self.holder == self._identity
        if not mine:
            self.valid_until = float("-inf")
            if not self._expired(found):
                return False
        changed = self._document(found, int(spec.get("leaseTransitions") or 0) + (not mine))
        if mine:
            changed["spec"]["acquireTime"] = spec.get("acquireTime", changed["spec"]["acquireTime"])
        return await self._write("PUT", self._path(), changed, asked, timeout_s)

    async def give_back(self, timeout_s: float) -> None:
        """Let another take the Lease at once, if it is this candidate's. Raises kube.KubeError."""
        self.valid_until = float("-inf")
        found = await self._client.call("GET", self._path(), timeout_s=timeout_s)
        if found.get("spec", {}).get("holderIdentity") == self._identity:
            found["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
            await self._client.call("PUT", self._path(), found, timeout_s)
            self.holder = ""

    def _expired(self, found: kube.Object) -> bool:
        """Whether nobody holds it, or its holder has not renewed it for as long as it said it would."""
        spec, version = found.get("spec", {}), str(found["metadata"]["resourceVersion"])
        if self._seen is None or self._seen.version != version:
            self._seen = _Seen(version, self._clock())
        if not spec.get("holderIdentity"):
            return True
        # Never less than our own duration, nor more than anybody's may be: what a Lease says may be nonsense.
        lasts_s = min(max(float(spec.get("leaseDurationSeconds") or 0), self._duration_s), DURATION_LIMIT_S)
        return self._clock() - self._seen.at > lasts_s

    async def _write(self, method: str, path: str, document: kube.Object, asked: float, timeout_s: float) -> bool:
        try:
            await self._client.call(method, path, document, timeout_s)
        except kube.KubeError as error:
            if error.status != 409:
                raise
            return False  # somebody else wrote first; the next call sees what
        self.holder = self._identity
        # Others count from when they see the write, which is after `asked`.
        self.valid_until = asked + self._duration_s
        return True

    def _document(self, found: kube.Object, transitions: int) -> kube.Object:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # for people only
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._duration_s),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }
        metadata = found.get("metadata", {"name": self._name})
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

    def _path(self, *, collection: bool = False) -> str:
        return self._client.path(_GROUP, _PLURAL, "" if collection else self._name)
