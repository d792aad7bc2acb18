"""A way into the pod of a workload: a command run in it, or a connection to one of its ports, through the API server.

Both are WebSockets to the API server (subprotocol v4.channel.k8s.io: each frame begins with the byte of its channel). The
client library's own calls for them know no limit on the time that connecting takes, so the connection is made here.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

import websocket

from space_smoke import errors
from space_smoke.bench import kube, wait
from space_smoke.bench.outside import place
from space_smoke.model import objects

T = TypeVar("T")

REACH_S = 10.0
_CHANNELS = "v4.channel.k8s.io"
# What containerd says of a container that stopped a moment ago.
_NOT_BEGUN = ("failed to start exec", "failed to create exec", "cannot exec in a stopped container")
_OUT, _ERR, _STATUS = 1, 2, 3
_BROKEN = (websocket.WebSocketException, OSError)


@dataclass(frozen=True, slots=True)
class Pod:
    """A running pod. `target` is its workload as read at the same time."""

    namespace: str
    name: str
    uid: str
    container: str
    ready: bool
    restarts: int
    target: objects.Object


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ended in a pod."""

    code: int
    out: str
    err: str


class Deadline:
    """What is left of a time in seconds. Raises ApiError, as an answer that never came, once nothing is."""

    def __init__(self, timeout_s: float, saying: str) -> None:
        self._until = time.monotonic() + timeout_s
        self._saying = saying

    def left_s(self) -> float:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise errors.ApiError(f"{self._saying} did not answer in time", status=0)
        return left_s


class NotYet(Exception):
    """Nothing was done: what runs in the pod does not take connections at this moment."""


def reached(cluster: kube.Kube, ref: objects.Ref, deadline: Deadline, act: Callable[[Pod], T]) -> T:
    """What `act` returns for the one running pod of a workload. Waits for that pod, and as long as `act` says NotYet: a
    restart must not look like an absence. Everything else that `act` raises ends the wait.

    Raises Refusal(422) where the workload is not meant to run exactly one pod: each would hold a value of its own. Raises
    ApiError when it was not reached in time.
    """
    ended: list[tuple[T | None, Exception | None]] = []

    def look() -> wait.State:
        found = running(cluster, ref)
        if len(found) != 1:
            wanted = objects.dig(cluster.read(ref), "spec", "replicas")
            if wanted != 1:
                refusal = place.Refusal(422, f"{ref} has {wanted} replicas; this fault needs exactly one")
                ended.append((None, refusal))
            return wait.State(bool(ended), f"{len(found)} of its pods run")
        try:
            ended.append((act(found[0]), None))
        except NotYet as error:
            return wait.State(False, str(error))
        except Exception as error:  # `wait.until` would look again, and what was asked for may have been done
            ended.append((None, error))
        return wait.State(True, "")

    try:
        if not look().done:
            watching = [("v1", "Pod", ref.namespace)]
            wait.until(cluster, f"{ref} to be reached", look, watching=watching, timeout_s=deadline.left_s())
    except errors.WaitFailed as error:
        raise errors.ApiError(error.message, status=0) from error
    result, raised = ended[0]
    if raised is not None:
        raise raised
    return cast(T, result)


def running(cluster: kube.Kube, ref: objects.Ref) -> list[Pod]:
    """Pods of a workload whose first container runs, ready or not; terminating ones are left out."""
    target = cluster.read(ref)
    labels = sorted(target["spec"]["selector"]["matchLabels"].items())
    container = str(target["spec"]["template"]["spec"]["containers"][0]["name"])
    found = []
    for thing in cluster.listed("v1", "Pod", ref.namespace, ",".join(f"{key}={value}" for key, value in labels)):
        statuses = {s["name"]: s for s in objects.dig(thing, "status", "containerStatuses") or ()}
        status = statuses.get(container, {})
        if "deletionTimestamp" in thing["metadata"] or "running" not in (status.get("state") or {}):
            continue
        conditions = {c["type"]: c["status"] for c in objects.dig(thing, "status", "conditions") or ()}
        meta = thing["metadata"]
        ready, restarts = conditions.get("Ready") == "True", int(status.get("restartCount", 0))
        found.append(Pod(meta["namespace"], meta["name"], meta["uid"], container, ready, restarts, target))
    return found


class Stream:
    """A forwarded port with as much of a socket's manners as a client library needs. Each of its two channels, 0 for data
    and 1 for errors, begins with a frame that holds the port's number."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._begun: set[int] = set()
        self._ready = b""

    def settimeout(self, timeout_s: float | None) -> None:
        self._opened.settimeout(timeout_s)

    def sendall(self, data: bytes) -> None:
        try:
            self._opened.send_binary(b"\0" + data)
        except websocket.WebSocketException as error:
            raise OSError(str(error)) from error

    def recv(self, most: int) -> bytes:
        """Empty at the end, as a socket's. Raises TimeoutError, ConnectionRefusedError."""
        while not self._ready:
            try:
                opcode, frame = self._opened.recv_data_frame(True)
            except websocket.WebSocketTimeoutException as error:
                raise TimeoutError(str(error)) from error
            except websocket.WebSocketConnectionClosedException:
                return b""
            if opcode == websocket.ABNF.OPCODE_CLOSE:
                return b""
            if opcode != websocket.ABNF.OPCODE_BINARY or not frame.data:
                continue
            channel, data = frame.data[0], frame.data[1:]
            if channel not in self._begun:
                self._begun.add(channel)
            elif channel == 1:
                raise ConnectionRefusedError(data.decode(errors="replace"))
            else:
                self._ready += data
        given, self._ready = self._ready[:most], self._ready[most:]
        return given

    def shutdown(self, _how: int) -> None:
        """Nothing of a WebSocket can be closed in one direction only."""

    def close(self) -> None:
        self._opened.shutdown()


def run(cluster: kube.Kube, pod: Pod, argv: Sequence[str], deadline: Deadline) -> Ended:
    """A command in the pod's container, to its end. It is not ended when time is up: it must bound itself.

    Raises NotYet when it was not begun; ApiError when its end is not known, also when the pod's name has passed to another
    pod meanwhile.
    """
    query = [("container", pod.container), ("stdout", "1"), ("stderr", "1"), *(("command", word) for word in argv)]
    told = {_OUT: b"", _ERR: b"", _STATUS: b""}
    opened = _opened(cluster, pod, "exec", query, deadline)
    try:
        while True:
            opened.settimeout(deadline.left_s())
            opcode, frame = opened.recv_data_frame(True)
            if opcode == websocket.ABNF.OPCODE_CLOSE:
                break
            if opcode in (websocket.ABNF.OPCODE_BINARY, websocket.ABNF.OPCODE_TEXT) and frame.data:
                told[frame.data[0]] = told.get(frame.data[0], b"") + frame.data[1:]
    except websocket.WebSocketConnectionClosedException:
        pass  # some proxies close without saying so; the status channel tells whether the command had ended
    except _BROKEN as error:
        raise _unknown(pod, error) from error
    finally:
        opened.shutdown()  # `close` does nothing, and leaves the socket open, once the other side has closed
    _same(cluster, pod)
    return Ended(_code(pod, told[_STATUS]), told[_OUT].decode(errors="replace"), told[_ERR].decode(errors="replace"))


def dial(cluster: kube.Kube, pod: Pod, port: int, deadline: Deadline) -> Stream:
    """A connection to a port of the pod; that nobody listens there shows at the first read. Raises NotYet, ApiError."""
    opened = _opened(cluster, pod, "portforward", [("ports", str(port))], deadline)
    try:
        _same(cluster, pod)
    except errors.ApiError:
        opened.shutdown()
        raise
    return Stream(opened)


def _same(cluster: kube.Kube, pod: Pod) -> None:
    """The API server finds a pod by its name alone, and the pods of a StatefulSet inherit theirs."""
    now = cluster.read(objects.Ref("v1", "Pod", pod.namespace, pod.name))["metadata"]["uid"]
    if now != pod.uid:
        raise errors.ApiError(f"pod {pod.name} was replaced while it was being asked", status=0)


def _opened(cluster: kube.Kube, pod: Pod, what: str, query: list[tuple[str, str]], deadline: Deadline) -> Any:
    path = f"/api/v1/namespaces/{quote(pod.namespace)}/pods/{quote(pod.name)}/{what}?{urlencode(query)}"
    headers = [f"{name}: {value}" for name, value in cluster.headers().items()]
    opened: Any = websocket.WebSocket(sslopt=_tls(cluster), skip_utf8_validation=True)
    try:
        url = "ws" + (cluster.host + path).removeprefix("http")
        opened.connect(url, header=headers, subprotocols=[_CHANNELS], timeout=deadline.left_s())
    except websocket.WebSocketBadStatusException as error:
        body = (error.resp_body or b"").decode(errors="replace").strip()
        raise NotYet(f"pod {pod.name} could not be reached: {error.status_code} {body[:200]}") from error
    except _BROKEN as error:
        raise _unknown(pod, error) from error
    return opened


def _tls(cluster: kube.Kube) -> dict[str, Any]:
    """The kubeconfig's, in the words of websocket-client."""
    given = cluster.configuration
    found: dict[str, Any] = {"cert_reqs": ssl.CERT_REQUIRED if given.verify_ssl else ssl.CERT_NONE}
    if not given.verify_ssl:
        found["check_hostname"] = False
    elif given.assert_hostname is not None:
        found["check_hostname"] = bool(given.assert_hostname)
    names = {
        "ca_certs": given.ssl_ca_cert,
        "certfile": given.cert_file,
        "keyfile": given.key_file,
        "server_hostname": given.tls_server_name,
    }
    return {**found, **{name: value for name, value in names.items() if value}}


def _code(pod: Pod, status: bytes) -> int:
    """The exit code from the last frame of the status channel, a metav1.Status."""
    try:
        told = json.loads(status)
    except ValueError:
        raise errors.ApiError(f"how the command in pod {pod.name} ended was not told", status=0) from None
    if told.get("status") == "Success":
        return 0
    causes = {c.get("reason"): c.get("message") for c in objects.dig(told, "details", "causes") or ()}
    if any(words in str(told.get("message")) for words in _NOT_BEGUN):
        raise NotYet(f"no command could be begun in pod {pod.name}")
    if "ExitCode" not in causes:
        raise errors.ApiError(f"the command in pod {pod.name} did not end by itself: {told.get('message')}", status=0)
    return int(str(causes["ExitCode"]))


def _unknown(pod: Pod, error: Exception) -> errors.ApiError:
    said = str(error).splitlines()[0][:300] if str(error) else ""
    return errors.ApiError(f"pod {pod.name} could not be asked: {type(error).__name__}: {said}", status=0)
