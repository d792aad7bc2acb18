"""A small API in memory with the manners of the real one, for tests of loads: sandboxes with states, files, and outages."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast
from urllib.parse import parse_qs, urlsplit

from space_smoke.bench import http, kube
from space_smoke.loads import traffic
from space_smoke.model import history, scenario

_STATES = {"pause": "paused", "connect": "running"}


@dataclass(frozen=True)
class Asked:
    """One request, as a door was told of it."""

    service: str
    method: str
    path: str
    pod: str | None
    body: Any
    headers: Mapping[str, str]
    content: bytes | None


class Answers(Protocol):
    def answer(self, asked: Asked) -> tuple[int, bytes]: ...


@dataclass
class Api:
    """`down` says by the number of a request whether it is answered 503, whatever it asks for; `asked` is all that came."""

    down: Callable[[int], bool] = lambda _number: False
    states: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> tuple[int, bytes]:
        with self.turn:
            self.asked.append((asked.method, asked.path, asked.pod))
            if self.down(len(self.asked)):
                return 503, _json({"error": {"code": "records_unavailable", "message": "try again"}})
            parts = urlsplit(asked.path)
            words = parts.path.removeprefix("/v1/sandboxes").strip("/").split("/")
            return self._route(asked.method, words, parts.query, asked.content)

    def _route(self, method: str, words: list[str], query: str, content: bytes | None) -> tuple[int, bytes]:
        match method, words:
            case "POST", [""]:
                made = f"sb-{len(self.states)}"
                self.states[made] = "running"
                return 201, self._record(made)
            case "GET", [""]:
                return 200, _json(
                    {"sandboxes": [{"id": one} for one, state in self.states.items() if state != "deleted"]}
                )
            case "DELETE", [sandbox]:
                self.states[sandbox] = "deleted"
                return 204, b""
            case "GET", [sandbox]:
                return (200, self._record(sandbox)) if sandbox in self.states else (404, b"{}")
            case "POST", [sandbox, ("pause" | "connect") as do]:
                self.states[sandbox] = _STATES[do]
                return 200, self._record(sandbox)
            case "PUT", [_, "files"]:
                self.files[parse_qs(query)["path"][0]] = content or b""
                return 200, b"{}"
            case "GET", [_, "files"]:
                return 200, self.files.get(parse_qs(query)["path"][0], b"")
        return 200, b"{}"

    def _record(self, sandbox: str) -> bytes:
        return _json({"id": sandbox, "state": self.states[sandbox]})


A = TypeVar("A", bound=Answers)


@dataclass
class Door(Generic[A]):
    """What loads know of http.Door."""

    api: A
    service: str = "space-api"
    cluster: Any = None

    def clock(self) -> float:
        return time.monotonic()

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
    ) -> http.Answer:
        sent_s = self.clock()
        try:
            status, said = self.api.answer(Asked(self.service, method, path, pod, body, headers or {}, content))
        except TimeoutError as error:
            return http.Answer(sent_s, None, self.clock(), None, error=repr(error))
        answered_s = self.clock()
        said = b"" if leave and leave(status) else said
        return http.Answer(sent_s, answered_s, self.clock(), status, {"x-space-pod": pod or "space-api-a"}, said)


class Run:
    """A load over the double: `events` grow as it is driven."""

    pods: Sequence[str] = ("space-api-a", "space-api-b")
    began_wall_s = 0.0

    def __init__(self, api: Api | None = None, cluster: object = None) -> None:
        self.api = api or Api()
        self._open(Door(self.api, cluster=cast(kube.Kube, cluster)))

    def _open(self, door: Any) -> None:
        self.stop, self._door = threading.Event(), door
        self.events: list[history.Event] = []

    def load(self, kind: str, name: str = "load", **arguments: Any) -> traffic.Traffic:
        return traffic.Traffic(
            scenario.Load(name, kind, arguments),
            cast(http.Door, self._door),
            self.emit,
            list(self.pods),
            self.began_wall_s,
            7,
            self.stop,
            namespace="space",
            past=lambda: tuple(self.events),
        )

    def emit(self, kind: str, /, **data: Any) -> history.Event:
        history.KINDS[kind]
        self.events.append(history.Event(len(self.events), 0.0, kind, data))
        return self.events[-1]

    def requests(self, load: str = "load") -> Iterator[Mapping[str, Any]]:
        return (event.data for event in history.requests(self.events, load))


def _json(thing: object) -> bytes:
    return json.dumps(thing).encode()
