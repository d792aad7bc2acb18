"""HTTP to the services under test, through the API server's proxy: by Service, or to one pod of a Deployment.

The proxy works on every cluster with nothing but a kubeconfig: no port-forward that dies with its pod, no route on the
host. It adds a few milliseconds, the same for every request; what a limiter costs is told by the service itself
(Server-Timing). One attempt per call: a load reports what happened and never tries again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import urllib3

from space_smoke.bench import kube

_BODY_BYTES = 4_194_304


@dataclass(frozen=True, slots=True)
class Answer:
    """Times are of the caller's clock: `answered_s` when the status line was in, `ended_s` when the body was. `status`
    is None when no answer came, and `error` says why."""

    sent_s: float
    answered_s: float | None
    ended_s: float
    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str | None = None

    @property
    def unreached(self) -> bool:
        """Whether the API server answered in place of the pod, by a Status of its own: it reached none. (A pod's answer
        passes through its proxy as it is: apimachinery, pkg/util/proxy.)"""
        if self.status is None or self.status < 500 or "x-space-pod" in self.headers:
            return False
        said = self.parsed()
        return isinstance(said, dict) and said.get("kind") == "Status" and said.get("apiVersion") == "v1"

    def parsed(self) -> Any:
        """The body as JSON, or None."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Door:
    """One service of the bench: where its Service and its pods are found."""

    cluster: kube.Kube
    namespace: str
    service: str
    port: int
    clock: Callable[[], float]

    def ask(
        self,
        method: str,
        path: str,
        *,
        pod: str | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
        content: bytes | None = None,
        leave: Callable[[int], bool] | None = None,
    ) -> Answer:
        """One request, never repeated: `body` as JSON, or `content` as it is. Never raises for what the network or the
        service does. `leave` is asked once the status is in, and may take its time: where it says yes the connection is
        closed, and the body not read."""
        kind, name = ("pods", pod) if pod else ("services", self.service)
        url = f"/api/v1/namespaces/{quote(self.namespace)}/{kind}/{quote(name)}:{self.port}/proxy{path}"
        payload = content if body is None else json.dumps(body).encode()
        form = "application/json" if content is None else "application/octet-stream"
        more = {"Content-Type": form} if payload is not None else {}
        sent_s = self.clock()
        answered_s: float | None = None
        status: int | None = None
        seen: Mapping[str, str] = {}
        try:
            response = self.cluster.open(
                method, url, body=payload, headers={**more, **(headers or {})}, timeout_s=timeout_s
            )
            answered_s = self.clock()
            status = response.status
            seen = {key.lower(): value for key, value in response.headers.items()}
            if leave is not None and leave(status):
                response.close()
                response.release_conn()  # a closed one: the pool opens it again when it is needed
                return Answer(sent_s, answered_s, self.clock(), status, seen)
            data = response.read(_BODY_BYTES)
            response.drain_conn()
            response.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return Answer(sent_s, answered_s, self.clock(), status, seen, b"", f"{type(error).__name__}: {error}"[:300])
        return Answer(sent_s, answered_s, self.clock(), status, seen, data)
