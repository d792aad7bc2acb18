"""The Kubernetes API as raw objects: the official client finds and carries the credentials, this sends the requests.

Plain dictionaries instead of the client's models, because a model drops fields it does not know, and a harness must
see every field. Retries are off: a write is sent once, and its caller decides what an unanswered one means.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from kubernetes import client, config

from space_smoke import errors
from space_smoke.model import objects

Json = dict[str, Any]

_PLURALS = {
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "ReplicaSet": "replicasets",
    "Lease": "leases",
    "Namespace": "namespaces",
    "Node": "nodes",
    "Pod": "pods",
    "Service": "services",
    "EndpointSlice": "endpointslices",
    "Event": "events",
    "Secret": "secrets",
    "ConfigMap": "configmaps",
    "PersistentVolume": "persistentvolumes",
    "CustomResourceDefinition": "customresourcedefinitions",
    "GridNetwork": "gridnetworks",
    "GridSite": "gridsites",
    "InferenceProvider": "inferenceproviders",
}
_CONNECT_S = 5.0
_CLIENT: Any = config.new_client_from_config  # the client ships no annotations for it


class Kube:
    """One cluster by kubeconfig file and context. Safe to use from several threads."""

    _user = ""  # as whom, where it is not whoever the kubeconfig names

    def __init__(self, kubeconfig: Path | None, context: str | None = None) -> None:
        """Raises BenchError when there is no such file or context."""
        try:
            api = _CLIENT(config_file=str(kubeconfig) if kubeconfig else None, context=context)
        except (config.ConfigException, OSError, ValueError) as error:
            raise errors.BenchError(
                f"the kubeconfig {kubeconfig or '(default)'} with context {context or '(current)'} cannot be used: {error}",
                next_step="space_smoke up, or name another one with --context",
            ) from error
        self.kubeconfig = kubeconfig
        self.context = context
        self.configuration: client.Configuration = api.configuration
        self.host = str(api.configuration.host).rstrip("/")
        self._pool = _pool(api.configuration)

    def headers(self) -> dict[str, str]:
        """Authorisation for one request; a token may be refreshed between two of them."""
        # The client calls it BearerToken since version 37, "authorization" before; and it makes a password of nothing.
        given = self.configuration.get_api_key_with_prefix("BearerToken", "authorization")
        if not given and self.configuration.username:
            given = self.configuration.get_basic_auth_token()
        user = {"Impersonate-User": self._user} if self._user else {}
        return user | ({"Authorization": str(given)} if given else {})

    def as_account(self, namespace: str, name: str) -> Kube:
        """The same cluster, which judges each request by the rights of that service account: the API server adds its groups. No
        token is made. Needs the right to impersonate."""
        other = copy.copy(self)
        other._user = f"system:serviceaccount:{namespace}:{name}"
        return other

    def open(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
    ) -> urllib3.BaseHTTPResponse:
        """One request whose body is not read yet. Raises urllib3's errors: the caller knows what they mean."""
        return self._pool.request(
            method,
            self.host + path,
            body=body,
            headers={**self.headers(), **(headers or {})},
            timeout=urllib3.Timeout(connect=min(_CONNECT_S, timeout_s), read=timeout_s),
            retries=False,
            preload_content=False,
        )

    def send(
        self, method: str, path: str, *, body: Any = None, content: str = "application/json", timeout_s: float = 10.0
    ) -> tuple[int, Json]:
        """Status and parsed body of one request. Raises ApiError with status 0 when no answer came."""
        payload = None if body is None else json.dumps(body).encode()
        try:
            response = self.open(method, path, body=payload, headers={"Content-Type": content}, timeout_s=timeout_s)
            data = response.read()
            response.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise errors.ApiError(
                f"{method} {path.split('?')[0]} got no answer from {self.host}: {type(error).__name__}: {error}",
                status=0,
                next_step="space_smoke status; space_smoke up makes a bench that is gone",
            ) from error
        try:
            parsed = json.loads(data) if data else {}
        except ValueError:
            parsed = {"message": "the answer was not JSON"}
        return response.status, parsed if isinstance(parsed, dict) else {"message": "the answer was not an object"}

    def read(self, ref: objects.Ref) -> Json:
        """A consistent read. Raises ApiError (404 included)."""
        return self._good("GET", path_of(ref))

    def listed(self, api_version: str, kind: str, namespace: str = "", selector: str = "") -> list[Json]:
        """A consistent list; items carry apiVersion and kind, which the API server leaves out of lists."""
        query = "?" + urlencode({"labelSelector": selector}) if selector else ""
        answer = self._good("GET", collection(api_version, kind, namespace) + query)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer.get("items") or ()]

    def create(self, body: Mapping[str, Any], **query: str) -> Json:
        path = collection(body["apiVersion"], body["kind"], body["metadata"].get("namespace", ""))
        return self._good("POST", path + ("?" + urlencode(query) if query else ""), body)

    def apply(self, body: Mapping[str, Any]) -> Json:
        """Makes `body` what this harness says of an object: server-side apply, over whoever else said it. The object as it
        is then. Raises ApiError."""
        path = path_of(objects.ref_of(body)) + "?" + urlencode({"fieldManager": "space-smoke", "force": "true"})
        # JSON is YAML.
        return self._good("PATCH", path, body, content="application/apply-patch+yaml")

    def delete(self, ref: objects.Ref) -> None:
        self._good("DELETE", path_of(ref), accept=(404,))

    def watch(
        self, api_version: str, kind: str, namespace: str, notify: Callable[[], None], stop: threading.Event
    ) -> None:
        """Calls `notify` at every change until `stop` is set; meant for a thread of its own. A broken watch is opened
        again, and counts as a change, since one may have been missed."""
        path = collection(api_version, kind, namespace) + "?watch=1&timeoutSeconds=30"
        while not stop.is_set():
            notify()
            try:
                response = self.open("GET", path, timeout_s=35)
                if response.status != 200:
                    stop.wait(1)
                    continue
                for _ in self._lines(response):
                    if stop.is_set():
                        break
                    notify()
                response.close()
            except (urllib3.exceptions.HTTPError, OSError):
                stop.wait(0.5)

    @staticmethod
    def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        rest = b""
        for chunk in response.stream(amt=None, decode_content=True):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole

    def _good(
        self,
        method: str,
        path: str,
        body: Any = None,
        accept: tuple[int, ...] = (),
        content: str = "application/json",
    ) -> Json:
        status, answer = self.send(method, path, body=body, content=content)
        if status < 300 or status in accept:
            return answer
        raise errors.ApiError(
            f"{method} {path.split('?')[0]} was answered {status}: {answer.get('message', '')[:400]}", status=status
        )


def collection(api_version: str, kind: str, namespace: str = "") -> str:
    """The URL path of a kind's collection."""
    root = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
    where = f"/namespaces/{quote(namespace)}" if namespace else ""
    return f"{root}{where}/{_PLURALS[kind]}"


def path_of(ref: objects.Ref) -> str:
    return f"{collection(ref.api_version, ref.kind, ref.namespace)}/{quote(ref.name)}"


def _pool(settings: client.Configuration) -> urllib3.PoolManager:
    more: dict[str, Any] = {}
    if settings.assert_hostname is not None:
        more["assert_hostname"] = settings.assert_hostname
    if settings.tls_server_name:
        more["server_hostname"] = settings.tls_server_name
    return urllib3.PoolManager(
        num_pools=4,
        maxsize=256,  # a load keeps as many connections as it has requests under way
        cert_reqs="CERT_REQUIRED" if settings.verify_ssl else "CERT_NONE",
        ca_certs=settings.ssl_ca_cert,
        ca_cert_data=settings.ca_cert_data,
        cert_file=settings.cert_file,
        key_file=settings.key_file,
        **more,
    )
