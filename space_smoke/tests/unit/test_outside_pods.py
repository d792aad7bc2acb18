"""The way into a pod: which pod, for how long, and what counts as not begun, as ended and as unknown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import websocket

from space_smoke import errors
from space_smoke.bench.outside import place, pods
from space_smoke.model import objects

REF = objects.Ref("apps/v1", "StatefulSet", "space", "postgres")


class Cluster:
    """A StatefulSet and its pods; every watch tells of a change once."""

    def __init__(self, *listed: dict[str, Any], replicas: int = 1) -> None:
        self.listed_pods = list(listed)
        self.replicas = replicas
        self.host = "https://127.0.0.1:1"

    def read(self, ref: objects.Ref) -> dict[str, Any]:
        if ref.kind == "Pod":
            return next(pod for pod in self.listed_pods if pod["metadata"]["name"] == ref.name)
        template = {"spec": {"containers": [{"name": "main"}, {"name": "side"}]}}
        spec = {"replicas": self.replicas, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        return {"kind": ref.kind, "metadata": {"name": ref.name}, "spec": spec}

    def listed(self, _api_version: str, _kind: str, _namespace: str, selector: str) -> list[dict[str, Any]]:
        assert selector == "a=b"
        return self.listed_pods

    def watch(self, _a: str, _k: str, _n: str, notify: Callable[[], None], _stop: Any) -> None:
        notify()


def pod(name: str = "postgres-0", state: str = "running", uid: str = "u1", **meta: str) -> dict[str, Any]:
    statuses = [{"name": "main", "state": {state: {}}}, {"name": "side", "state": {"running": {}}}]
    return {
        "metadata": {"name": name, "namespace": "space", "uid": uid, **meta},
        "status": {"containerStatuses": statuses},
    }


def reached(cluster: Cluster, act: Callable[[pods.Pod], Any], timeout_s: float = 5) -> Any:
    return pods.reached(cluster, REF, pods.Deadline(timeout_s, "it"), act)  # type: ignore[arg-type]


def test_the_one_running_pod_is_taken_ready_or_not() -> None:
    leaving = pod("postgres-9", deletionTimestamp="now")
    found = reached(Cluster(leaving, pod(), pod("postgres-8", "waiting")), lambda one: one)
    assert (found.name, found.uid, found.container, found.ready) == ("postgres-0", "u1", "main", False)


@pytest.mark.parametrize("replicas", [0, 2])
def test_a_workload_of_none_or_several_pods_is_refused(replicas: int) -> None:
    with pytest.raises(place.Refusal, match=f"has {replicas} replicas") as refusal:
        reached(Cluster(replicas=replicas), lambda _one: None)
    assert refusal.value.status == 422


def test_a_server_that_does_not_take_connections_yet_is_asked_again() -> None:
    answers: list[str] = []

    def act(_one: pods.Pod) -> str:
        answers.append("asked")
        if len(answers) < 3:
            raise pods.NotYet("starting up")
        return "answer"

    assert reached(Cluster(pod()), act) == "answer"
    assert len(answers) == 3


def test_a_pod_that_never_runs_is_an_error_with_what_was_seen_last() -> None:
    with pytest.raises(errors.ApiError, match="0 of its pods run") as error:
        reached(Cluster(pod(state="waiting")), lambda _one: None, timeout_s=0.05)
    assert error.value.status == 0


def test_neither_of_two_running_pods_is_taken_for_the_one() -> None:
    with pytest.raises(errors.ApiError, match="2 of its pods run"):
        reached(Cluster(pod(), pod("postgres-1")), lambda one: one, timeout_s=0.05)


def test_what_may_have_been_done_is_never_asked_for_twice() -> None:
    asked: list[str] = []

    def act(_one: pods.Pod) -> None:
        asked.append("asked")
        raise errors.ApiError("no answer", status=0)

    with pytest.raises(errors.ApiError, match="no answer"):
        reached(Cluster(pod()), act)
    assert asked == ["asked"]


class Wire:
    """A WebSocket that gives these frames and then closes."""

    def __init__(self, *frames: bytes) -> None:
        self.frames = list(frames)
        self.sent = b""
        self.closed = False

    def settimeout(self, _timeout_s: float | None) -> None:
        pass

    def recv_data_frame(self, _control: bool) -> tuple[int, Any]:
        if not self.frames:
            raise websocket.WebSocketConnectionClosedException("closed")
        return websocket.ABNF.OPCODE_BINARY, websocket.ABNF.create_frame(self.frames.pop(0), 2)

    def send_binary(self, data: bytes) -> None:
        self.sent = data

    def shutdown(self) -> None:
        self.closed = True


def run(monkeypatch: pytest.MonkeyPatch, *frames: bytes, now: str = "u1") -> pods.Ended:
    monkeypatch.setattr(pods, "_opened", lambda *_a: Wire(*frames))
    asked = pods.Pod("space", "postgres-0", "u1", "main", True, 0, {})
    return pods.run(Cluster(pod(uid=now)), asked, ["true"], pods.Deadline(5, "it"))  # type: ignore[arg-type]


def test_a_forwarded_port_is_read_like_a_socket() -> None:
    wire = Wire(b"\x00\xeb\x18", b"\x01\xeb\x18", b"\x00+PO", b"\x00NG")
    stream = pods.Stream(wire)
    stream.sendall(b"PING")
    assert [stream.recv(2), stream.recv(9), stream.recv(9), stream.recv(9)] == [b"+P", b"O", b"NG", b""]
    stream.close()
    assert (wire.sent, wire.closed) == (b"\x00PING", True)


def test_a_port_where_nobody_listens_is_refused_and_silence_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = pods.Stream(Wire(b"\x00\xeb\x18", b"\x01\xeb\x18", b"\x01connection refused"))
    with pytest.raises(ConnectionRefusedError, match="connection refused"):
        refused.recv(9)
    wire = Wire()

    def late(_control: bool) -> Any:
        raise websocket.WebSocketTimeoutException("timed out")

    monkeypatch.setattr(wire, "recv_data_frame", late)
    with pytest.raises(TimeoutError):
        pods.Stream(wire).recv(9)


def status(**told: Any) -> bytes:
    return b"\x03" + json.dumps(told).encode()


def test_a_commands_output_and_exit_code_come_by_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    causes = {"causes": [{"reason": "ExitCode", "message": "3"}]}
    ended = run(monkeypatch, b"\x01one ", b"\x02oops", b"\x01two", status(status="Failure", details=causes))
    assert ended == pods.Ended(3, "one two", "oops")
    assert run(monkeypatch, status(status="Success")) == pods.Ended(0, "", "")


@pytest.mark.parametrize(
    ("frames", "error"),
    [
        ((b"\x01out",), errors.ApiError),
        ((b"\x01out", status(status="Failure", message="container was killed")), errors.ApiError),
        ((status(status="Failure", message="failed to start exec: container is stopped"),), pods.NotYet),
    ],
    ids=["connection lost", "killed meanwhile", "not begun"],
)
def test_a_command_without_an_exit_code_is_unknown_unless_it_was_not_begun(
    monkeypatch: pytest.MonkeyPatch, frames: tuple[bytes, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(monkeypatch, *frames)


def test_an_answer_from_the_pods_successor_of_the_same_name_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.ApiError, match="was replaced"):
        run(monkeypatch, status(status="Success"), now="u2")
